import { describe, expect, it } from 'vitest'
import { call, createReferee, say, think, type Referee } from '../../src/testing/referee/index.ts'
import { post } from './ask.ts'

type Block = Record<string, unknown>
type Message = { role: string; content: string | Block[] }

const BINDING = 'claude-fable-5-1'
const tools = [{ name: 'bash', input_schema: { type: 'object' } }]
const DROP = { block_binding: { prefix_mismatch_behavior: 'drop_block' } }
const COMPACT_BETA = { 'anthropic-beta': 'compact-2026-01-12' }
const BETA = { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' }

const base = (model: string, extra: Block = {}) => ({
  model,
  max_tokens: 2_000,
  system: 'You are careful.',
  tools,
  thinking: { type: 'adaptive' },
  ...extra,
})

/** A conversation of two tool steps with thinking, as the model gave it. */
async function converse(referee: Referee, model: string): Promise<Message[]> {
  const messages: Message[] = [{ role: 'user', content: 'Go' }]
  for (let step = 0; step < 2; step += 1) {
    const { status, text } = await post(referee, { ...base(model), messages })
    expect(status).toBe(200)
    const { content } = JSON.parse(text) as { content: Block[] }
    messages.push({ role: 'assistant', content })
    const id = content.find((block) => block.type === 'tool_use')?.id
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] })
  }
  return messages
}

const make = (issuer?: string) =>
  createReferee({
    wire: 'anthropic-messages',
    script: ({ number }) => (number <= 2 ? think(`Thought ${number}.`, call('bash', { step: number })) : say('Done.')),
    ...(issuer !== undefined && { issuer }),
  })

const ruleOf = async (referee: Referee, body: object, headers: object = {}): Promise<string | undefined> =>
  (await post(referee, body, { headers })).headers['x-referee-rule']

/** Changes that a context manager might make to what stands before the thinking. */
const EDITS: readonly { name: string; edit: (body: { messages: Message[] } & Block) => Block }[] = [
  { name: 'the system text', edit: (body) => ({ ...body, system: 'You are bold.' }) },
  { name: 'the tools', edit: (body) => ({ ...body, tools: [...tools, { name: 'grep', input_schema: {} }] }) },
  {
    name: 'the first message',
    edit: (body) => ({ ...body, messages: [{ role: 'user', content: 'Stop' }, ...body.messages.slice(1)] }),
  },
]

describe('thinking bound to its prefix (from the documents; not verified against the vendor)', () => {
  it('is taken back while everything before it stays, also with moved cache marks', async () => {
    const referee = make()
    const messages = await converse(referee, BINDING)
    const marked = messages.map((message, index) =>
      index === 2
        ? {
            ...message,
            content: (message.content as Block[]).map((block) => ({ ...block, cache_control: { type: 'ephemeral' } })),
          }
        : message,
    )
    expect(await ruleOf(referee, { ...base(BINDING), messages: marked })).toBeUndefined()
  })

  it.each(EDITS)('is refused after an edit of $name', async ({ edit }) => {
    const referee = make()
    const messages = await converse(referee, BINDING)
    expect(await ruleOf(referee, edit({ ...base(BINDING), messages }))).toBe('thinking-bound')
    const { violations } = referee.log.at(-1) ?? {}
    expect(violations?.[0]).toMatchObject({ path: 'messages.1.content.0' })
  })

  it.each(EDITS)('may be edited before ($name) on models that do not bind', async ({ edit }) => {
    const referee = make()
    const messages = await converse(referee, 'claude-opus-4-8')
    expect(await ruleOf(referee, edit({ ...base('claude-opus-4-8'), messages }))).toBeUndefined()
  })

  it('is refused from the edit on only: blocks before it stay bound', async () => {
    const referee = make()
    const messages = await converse(referee, BINDING)
    const edited = messages.map((message, index) =>
      index === 2 ? { role: 'user', content: [{ ...(message.content[0] as Block), content: 'shortened' }] } : message,
    )
    expect(await ruleOf(referee, { ...base(BINDING), messages: edited })).toBe('thinking-bound')
    expect(referee.log.at(-1)?.violations[0]?.path).toBe('messages.3.content.0')
  })

  it('is dropped instead when the request asks for it with the beta header', async () => {
    const referee = make()
    const messages = await converse(referee, BINDING)
    const body = { ...base(BINDING, { system: 'You are bold.', thinking: { type: 'adaptive', ...DROP } }), messages }
    expect(await ruleOf(referee, body)).toBe('thinking-bound')
    const { status, text } = await post(referee, body, { headers: BETA })
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({
      input_transformations: [
        { type: 'thinking_dropped', reason: 'prefix_binding_mismatch', path: 'messages.1.content.0' },
        { type: 'thinking_dropped', path: 'messages.3.content.0' },
      ],
    })
    expect(referee.log.at(-1)?.droppedBlocks).toHaveLength(2)
  })

  it('may leave: an edit that removes the blocks behind it is taken', async () => {
    const referee = make()
    const messages = await converse(referee, BINDING)
    const stripped = messages.map((message) =>
      typeof message.content === 'string'
        ? message
        : { ...message, content: message.content.filter(({ type }) => type !== 'thinking') },
    )
    const body = { ...base(BINDING, { system: 'You are bold.', thinking: { type: 'disabled' } }), messages: stripped }
    expect(await ruleOf(referee, body)).toBeUndefined()
  })
})

describe('signed thinking', () => {
  it('is refused by another issuer and known to the same one after a restart', async () => {
    const messages = await converse(make('a'), 'claude-opus-4-8')
    const body = { ...base('claude-opus-4-8'), messages }
    expect(await ruleOf(make('b'), body)).toBe('thinking-signature')
    expect(await ruleOf(make('a'), body)).toBeUndefined()
  })

  it.each([
    ['changed text', (block: Block) => ({ ...block, thinking: `${String(block.thinking)} ` })],
    ['a cut signature', (block: Block) => ({ ...block, signature: String(block.signature).slice(0, -4) })],
    ['a blank in the signature', (block: Block) => ({ ...block, signature: ` ${String(block.signature)}` })],
  ])('is refused with %s', async (_name, change) => {
    const referee = make()
    const messages = await converse(referee, 'claude-opus-4-8')
    const changed = messages.map((message) =>
      typeof message.content === 'string'
        ? message
        : { ...message, content: message.content.map((block) => (block.type === 'thinking' ? change(block) : block)) },
    )
    expect(await ruleOf(referee, { ...base('claude-opus-4-8'), messages: changed })).toBe('thinking-signature')
  })

  it('may not leave the latest assistant message, but may leave an older one', async () => {
    const referee = make()
    const messages = await converse(referee, 'claude-opus-4-8')
    const without = (at: number) =>
      messages.map((message, index) =>
        index === at
          ? { ...message, content: (message.content as Block[]).filter(({ type }) => type !== 'thinking') }
          : message,
      )
    expect(await ruleOf(referee, { ...base('claude-opus-4-8'), messages: without(3) })).toBe('thinking-unmodified')
    expect(await ruleOf(referee, { ...base('claude-opus-4-8'), messages: without(1) })).toBeUndefined()
  })
})

const compacting = (extra: Block = {}) =>
  base(BINDING, {
    context_management: { edits: [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 400 } }] },
    ...extra,
  })

/** A conversation past the trigger, and the answer that compacts it. */
async function compact() {
  const referee = make()
  const messages: Message[] = [{ role: 'user', content: 'word '.repeat(2_000) }]
  const { text } = await post(referee, { ...compacting(), messages }, { headers: COMPACT_BETA })
  const { content } = JSON.parse(text) as { content: Block[] }
  const id = content.find(({ type }) => type === 'tool_use')?.id
  const result: Message = { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] }
  return { referee, before: messages, after: [{ role: 'assistant', content }, result] as Message[], content }
}

describe('the provider’s own compaction', () => {
  it('stands in place of what it replaced: bound thinking behind it stays valid, with the old messages or without', async () => {
    const { referee, before, after, content } = await compact()
    expect(content.map(({ type }) => type)).toEqual(['compaction', 'thinking', 'tool_use'])
    expect(await ruleOf(referee, { ...compacting(), messages: [...before, ...after] }, COMPACT_BETA)).toBeUndefined()
    expect(await ruleOf(referee, { ...compacting(), messages: after }, COMPACT_BETA)).toBeUndefined()
    const [first, kept, dropped] = referee.log.map(({ inputTokens }) => inputTokens)
    expect(kept).toBe(dropped)
    expect(kept).toBeLessThan((first ?? 0) / 2)
  })

  it('is refused when its text was changed', async () => {
    const { referee, after, content } = await compact()
    const forged = content.map((block) =>
      block.type === 'compaction' ? { ...block, content: 'Better summary.' } : block,
    )
    const messages = [{ role: 'assistant', content: forged }, ...after.slice(1)]
    expect(await ruleOf(referee, { ...compacting(), messages }, COMPACT_BETA)).toBe('compaction-unsealed')
  })

  it('cannot be replaced by a summary of one’s own in front of bound thinking', async () => {
    const { referee, after, content } = await compact()
    const own = [{ type: 'text', text: 'My summary.' }, ...content.filter(({ type }) => type !== 'compaction')]
    const messages = [{ role: 'user', content: 'Go on.' }, { role: 'assistant', content: own }, ...after.slice(1)]
    expect(await ruleOf(referee, { ...compacting(), messages }, COMPACT_BETA)).toBe('thinking-bound')
  })
})
