import Anthropic, { APIError } from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import { call, calls, say, think, type Answer, type BrainTurn, type Script } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, WAYS, type Stage } from './ways.ts'

// Not one that the SDK warns about on every call.
const MODEL = 'claude-opus-4-6'
const TOOLS: Anthropic.Tool[] = [
  {
    name: 'read_log',
    description: 'Reads a log.',
    input_schema: { type: 'object', properties: { step: { type: 'integer' } } },
  },
]

const clientOf = ({ base, fetch }: Stage): Anthropic =>
  new Anthropic({ apiKey: 'sk-test', baseURL: base, maxRetries: 0, ...(fetch !== undefined && { fetch }) })

/** A tool loop until the model stops calling. */
async function loop(
  client: Anthropic,
  options: Partial<Anthropic.MessageStreamParams> = {},
): Promise<Anthropic.Message> {
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Find out why checkout is slow.' }]
  for (let step = 1; ; step++) {
    const answer = await client.messages
      .stream({ model: MODEL, max_tokens: 512, tools: TOOLS, messages, ...options })
      .finalMessage()
    messages.push({ role: 'assistant', content: answer.content })
    const uses = answer.content.filter((block) => block.type === 'tool_use')
    if (uses.length === 0) return answer
    messages.push({
      role: 'user',
      content: uses.map((use, i) => ({ type: 'tool_result', tool_use_id: use.id, content: toolOutput(step * 3 + i) })),
    })
  }
}

const longScript =
  (turns: number) =>
  ({ number }: BrainTurn): Answer => {
    if (number >= turns) return say('Done: the pool was halved.')
    const one = { name: 'read_log', input: { step: number } }
    return number % 5 === 0
      ? calls([one, one, one], 'Three at once.')
      : call('read_log', { step: number }, `Step ${number}.`)
  }

describe.each(WAYS)('@anthropic-ai/sdk through the %s', (way) => {
  it('runs a hundred turns in an 8k window without one refused request', async () => {
    const on = await stage(way, {
      referee: { wire: 'anthropic-messages', window: 8_000, script: longScript(100), chunkBytes: 900 },
      plimsoll: { window: 8_000 },
    })
    const answer = await loop(clientOf(on))
    expect(answer.content).toEqual([expect.objectContaining({ text: 'Done: the pool was halved.' })])
    expect(on.referee.summary()).toMatchObject({ answered: 100, overflows: 0, invalid: 0, faults: 0 })
    expect(on.events.filter((event) => event.type === 'epoch-declared').length).toBeGreaterThan(2)
  })

  it('keeps signed thinking valid through a long tool loop', async () => {
    const plain = longScript(24)
    const script: Script = (turn) => think(`Thinking about step ${turn.number}. `.repeat(6), plain(turn))
    const on = await stage(way, {
      referee: { wire: 'anthropic-messages', window: 8_000, script },
      plimsoll: { window: 8_000 },
    })
    await loop(clientOf(on), { thinking: { type: 'adaptive' }, max_tokens: 1_500 })
    expect(on.referee.summary()).toMatchObject({ answered: 24, overflows: 0, invalid: 0 })
  })

  it('recovers an overflow that nobody could foresee, and the client sees one good answer', async () => {
    const on = await stage(way, {
      referee: { wire: 'anthropic-messages', window: 6_000, script: longScript(30) },
    })
    const answer = await loop(clientOf(on))
    expect(answer.stop_reason).toBe('end_turn')
    expect(on.referee.summary()).toMatchObject({ answered: 30, overflows: 1, invalid: 0 })
    expect(on.events.find((event) => event.type === 'window-learned')).toMatchObject({ model: MODEL, window: 6_000 })
    expect(on.events.filter((event) => event.type === 'overflow-recovered')).toHaveLength(1)
  })

  it.each([
    { name: 'for all', plimsoll: { window: 1_000_000 } },
    { name: 'for the model', plimsoll: { models: { 'claude-opus-4-6': { window: 1_000_000 } } } },
  ])('recovers one under a window that the user set $name, which no lesson replaces', async ({ plimsoll }) => {
    const on = await stage(way, {
      referee: { wire: 'anthropic-messages', window: 6_000, script: longScript(30) },
      plimsoll,
    })
    const answer = await loop(clientOf(on))
    expect(answer.stop_reason).toBe('end_turn')
    expect(on.referee.summary()).toMatchObject({ answered: 30, overflows: 1, invalid: 0 })
    expect(on.events.filter((event) => event.type === 'window-learned')).toEqual([])
    expect(on.events.filter((event) => event.type === 'overflow-recovered')).toHaveLength(1)
  })

  it('hands errors of the provider on as the SDK knows them', async () => {
    const on = await stage(way, {
      referee: {
        wire: 'anthropic-messages',
        faults: [
          { on: 1, fault: { kind: 'throttle', retryAfterSeconds: 7 } },
          { on: 2, fault: { kind: 'overloaded' } },
        ],
      },
    })
    const ask = () =>
      clientOf(on).messages.create({ model: MODEL, max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] })
    const throttled = await ask().catch((error: unknown) => error as APIError)
    expect(throttled).toMatchObject({ status: 429, error: { error: { type: 'rate_limit_error' } } })
    expect((throttled as APIError).headers?.get('retry-after')).toBe('7')
    await expect(ask()).rejects.toMatchObject({ status: 529 })
    await expect(ask()).resolves.toMatchObject({ content: [{ text: 'Done.' }] })
  })

  it('counts tokens with the provider and passes pictures and documents on', async () => {
    const on = await stage(way, { referee: { wire: 'anthropic-messages' } })
    const client = clientOf(on)
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const messages: Anthropic.MessageParam[] = [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          { type: 'text', text: 'What is this?' },
        ],
      },
    ]
    const counted = await client.messages.countTokens({ model: MODEL, messages })
    expect(counted.input_tokens).toBeGreaterThan(0)
    await client.messages.create({ model: MODEL, max_tokens: 50, messages })
    expect(Buffer.from(on.referee.log[1]!.raw).toString()).toContain(png)
    expect(on.referee.summary()).toMatchObject({ answered: 1, invalid: 0 })
    expect((await client.models.list()).data).toHaveLength(1)
  })
})
