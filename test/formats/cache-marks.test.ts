import { describe, expect, it } from 'vitest'
import { applyEdits, type Edit } from '../../src/core/edits.ts'
import type { WireName } from '../support/generators/index.ts'
import { CODECS } from '../support/wires.ts'

/** The body after a plan. */
function after(wire: WireName, body: unknown, plan: readonly Edit[]): unknown {
  const { decode, encode } = CODECS[wire]
  return JSON.parse(encode(applyEdits(decode(JSON.stringify(body)), plan)).text)
}

const drop = (id: string): Edit => ({ op: 'drop', id, reason: 'test' })
const replace = (id: string, text: string): Edit => ({ op: 'replace', id, text, reason: 'test' })
const insert = (before: string, role: 'user' | 'assistant' = 'user'): Edit => ({
  op: 'insert',
  id: 'new',
  role,
  text: 'note',
  before,
  reason: 'test',
})

const user = (...content: unknown[]): unknown => ({ role: 'user', content })

describe.each([
  {
    wire: 'anthropic-messages' as const,
    list: 'messages',
    type: 'text',
    mark: { cache_control: { type: 'ephemeral', ttl: '1h' } },
  },
  { wire: 'openai-chat' as const, list: 'messages', type: 'text', mark: { cache_control: { type: 'ephemeral' } } },
  {
    wire: 'openai-chat' as const,
    list: 'messages',
    type: 'text',
    mark: { prompt_cache_breakpoint: { mode: 'explicit' } },
  },
  {
    wire: 'openai-responses' as const,
    list: 'input',
    type: 'input_text',
    mark: { prompt_cache_breakpoint: { mode: 'explicit' } },
  },
])('marks of $wire', ({ wire, list, type, mark }) => {
  const text = (words: string, extra = {}): unknown => ({ type, text: words, ...extra })

  it('move to the nearest block before the dropped one', () => {
    const body = { [list]: [user(text('a'), text('b')), user(text('c', mark)), user(text('d'))] }
    expect(after(wire, body, [drop('m1.0')])).toEqual({ [list]: [user(text('a'), text('b', mark)), user(text('d'))] })
  })

  it('pass over blocks that cannot carry them', () => {
    const opaque = { type: 'hologram', beam: 1 }
    const body = { [list]: [user(text('a'), opaque), { role: 'user', content: 'plain' }, user(text('c', mark))] }
    expect(after(wire, body, [drop('m2.0')])).toEqual({
      [list]: [user(text('a', mark), opaque), { role: 'user', content: 'plain' }],
    })
  })

  it('go to a message of ours that takes the place of the dropped ones', () => {
    const body = { [list]: [user(text('a', mark)), user(text('b', mark)), user(text('c'))] }
    expect(after(wire, body, [drop('m1.0'), insert('m1.0')])).toEqual({
      [list]: [user(text('a', mark)), user(text('note', mark)), user(text('c'))],
    })
  })

  it('stay on a block whose text is replaced, and arrive on one', () => {
    const body = { [list]: [user(text('a')), user(text('b', mark)), user(text('c', mark))] }
    expect(after(wire, body, [replace('m0.0', 'A'), drop('m1.0'), replace('m2.0', 'C')])).toEqual({
      [list]: [user(text('A', mark)), user(text('C', mark))],
    })
  })

  it('go away when nothing before them stays', () => {
    const body = { [list]: [user(text('a', mark)), user(text('b'))] }
    expect(after(wire, body, [drop('m0.0')])).toEqual({ [list]: [user(text('b'))] })
  })
})

it('keeps a mark on a picture that becomes text', () => {
  const source = { type: 'url', url: 'https://example.test/a.png' }
  const mark = { cache_control: { type: 'ephemeral' } }
  const image = { role: 'user', content: [{ type: 'image', source, ...mark }] }
  expect(after('anthropic-messages', { messages: [image] }, [replace('m0.0', 'a picture')])).toEqual({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'a picture', ...mark }] }],
  })
})

it('puts no mark on an answer, which has no room for one on the Responses wire', () => {
  const mark = { prompt_cache_breakpoint: { mode: 'explicit' } }
  const input = [
    { role: 'assistant', content: [{ type: 'output_text', text: 'a', annotations: [] }] },
    { role: 'user', content: [{ type: 'input_text', text: 'b', ...mark }] },
  ]
  expect(after('openai-responses', { input }, [drop('m1.0')])).toEqual({ input: input.slice(0, 1) })
})
