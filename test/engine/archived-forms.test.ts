import { describe, expect, it } from 'vitest'
import { redactingDeps } from '../../src/engine/redaction/borders.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { testEngine } from '../support/engine.ts'

const says = ['. ', '.\n\n', '.', '. ']
const body = JSON.stringify({
  model: 'm',
  messages: [
    ...says.flatMap((content, i) => [
      { role: 'user', content: `Question ${i}` },
      { role: 'assistant', content },
    ]),
    { role: 'user', content: 'Go on.' },
  ],
})

describe('texts that differ in the white space around them', () => {
  it('are archived each with its own bytes, and each once, in any process', async () => {
    const sessions = memoryStore()
    for (let process = 0; process < 2; process++) {
      const session = testEngine({ sessions }).session()
      for (let turn = 0; turn < 2; turn++) await session.prepare({ format: 'openai-chat', body })
    }
    const fragments: string[] = []
    for await (const { record } of sessions.read('local', 'test'))
      if (record.type === 'item-seen' && record.role === 'assistant') fragments.push(record.fragment)
    expect(fragments).toEqual(['". "', '".\\n\\n"', '"."'])
  })
})

describe('one message in several forms', () => {
  const block = { type: 'text', text: 'continue' }
  const forms = ['continue', [block], [{ ...block, cache_control: { type: 'ephemeral' } }], 'continue']
  const request = JSON.stringify({
    model: 'm',
    max_tokens: 64,
    messages: forms.flatMap((content, i) => [
      { role: 'user', content },
      { role: 'assistant', content: `Step ${i}.` },
    ]),
  })
  const redact = (text: string): string => text.replaceAll('Step 2', '[redacted]')

  it.each([{}, { redact }])('keeps the bytes of each, once, and its text once', async (guard) => {
    const sessions = memoryStore()
    for (let process = 0; process < 2; process++) {
      const { deps } = testEngine({ sessions })
      const guarded = guard.redact !== undefined ? redactingDeps(deps, guard.redact) : deps
      const session = createSession(async () => guarded, { id: 'test' })
      for (let turn = 0; turn < 2; turn++) await session.prepare({ format: 'anthropic-messages', body: request })
    }
    const seen: { fragment: string; text: string }[] = []
    for await (const { record } of sessions.read('local', 'test'))
      if (record.type === 'item-seen' && record.role === 'user') seen.push(record)
    expect(seen.map(({ fragment }) => JSON.parse(fragment) as unknown)).toEqual(
      forms.slice(0, 3).map((form) => (typeof form === 'string' ? form : form[0])),
    )
    expect(seen.map(({ text }) => text)).toEqual(['continue', '', ''])
  })
})
