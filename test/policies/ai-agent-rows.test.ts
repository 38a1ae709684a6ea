import { describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import type { Policy } from '../../src/core/policy.ts'
import { FINAL_REPORT_TOOL } from '../../src/engine/presets/ai-agent/policy.ts'
import { aiAgent } from '../../src/engine/presets/index.ts'
import { call, chars, model, presetSession, result, user, type Content } from './session.ts'

/** The context-guard rows of the design's own test table, with their windows; rows on tool output stand in intake-rows.test.ts. */

const withBuffer = (buffer: number, env = {}): Policy => ({
  ...aiAgent(env),
  buffer: { fraction: 0, min: buffer, max: buffer },
})
const declaring = (names: readonly string[], length = 40) => ({
  tools: [
    {
      functionDeclarations: names.map((name) => ({
        name,
        description: chars(length),
        parameters: { type: 'object', properties: {} },
      })),
    },
  ],
})
const TOOLS = declaring(['bash', FINAL_REPORT_TOOL])
const toolOf = (size: number): Content[] => [user('Go.'), call('c'), result('c', chars(size))]
const declared = (sent: { readonly tools?: unknown }): string[] =>
  ((sent.tools ?? []) as { functionDeclarations: { name: string }[] }[]).flatMap((group) =>
    group.functionDeclarations.map(({ name }) => name),
  )

/** A history whose projection by the design is exactly so many tokens: characters / 4 and the framing of a message. */
async function projecting(tokens: number): Promise<Content[]> {
  for (let length = 4 * tokens - 60; ; length++) {
    const contents = [user(chars(length))]
    const { load } = await presetSession(withBuffer(0), 100_000).prepare(contents)
    if (load.count.tokens >= tokens) return contents
  }
}

describe('threshold', () => {
  it.each([
    { name: 'below', window: 746, projected: 686, limit: 706, verdict: 'proceed' },
    { name: 'equal', window: 726, projected: 686, limit: 686, verdict: 'proceed' },
    { name: 'above', window: 726, projected: 687, limit: 686, verdict: 'final' },
  ])('$name: $projected projected of $limit is $verdict', async ({ window, projected, limit, verdict }) => {
    const contents = await projecting(projected)
    const turn = await presetSession(withBuffer(8), window).prepare(contents, {
      generationConfig: { maxOutputTokens: 32 },
    })
    expect(turn.limit.tokens).toBe(limit)
    expect(turn.verdict.kind).toBe(verdict)
  })
})

describe('forced final', () => {
  interface Row {
    readonly name: string
    readonly window: number
    readonly buffer: number
    readonly output: number
    readonly contents: readonly Content[]
    readonly body?: object
    /** Results that became handles. */
    readonly stored: number
  }
  const rows: readonly Row[] = [
    { name: 'limit', window: 320, buffer: 32, output: 32, contents: toolOf(3_200), stored: 1 },
    { name: 'trim log', window: 320, buffer: 32, output: 64, contents: toolOf(3_200), stored: 1 },
    { name: 'forced final', window: 320, buffer: 32, output: 48, contents: toolOf(3_200), stored: 1 },
    {
      name: 'tokenizer drift',
      window: 360,
      buffer: 24,
      output: 64,
      contents: [user(chars(600)), model(chars(600)), user('Go.')],
      stored: 2,
    },
    {
      name: 'schema only',
      window: 200,
      buffer: 16,
      output: 32,
      contents: [user('Hi.')],
      body: declaring(['bash', 'grep', FINAL_REPORT_TOOL], 200),
      stored: 0,
    },
  ]

  it.each(rows)(
    '$name: fits, with the report as the only tool',
    async ({ window, buffer, output, contents, body, stored }) => {
      const turn = await presetSession(withBuffer(buffer), window).prepare(contents, {
        generationConfig: { maxOutputTokens: output },
        ...(body ?? TOOLS),
      })
      expect(turn.verdict).toMatchObject({ kind: 'final', reason: 'context' })
      expect(declared(turn.sent)).toEqual([FINAL_REPORT_TOOL])
      expect(turn.load.count.high).toBeLessThanOrEqual(window - buffer - output)
      expect(turn.text.match(/art_[0-9a-z]{26}/g) ?? []).toHaveLength(stored)
    },
  )

  // Deviation (1): the design sends both of these and hopes.
  it.each([
    { name: 'preflight', window: 80, buffer: 8, output: 16, contents: [user(chars(400))], code: 'fixed-overhead' },
    {
      name: 'limit default',
      window: 131_072,
      buffer: 16,
      output: 131_072,
      contents: [user('Go.')],
      code: 'limit-not-positive',
    },
  ])('$name: nothing that does not fit is sent ($code)', async ({ window, buffer, output, contents, code }) => {
    const preset = presetSession(withBuffer(buffer), window)
    await expect(
      preset.prepare(contents, { generationConfig: { maxOutputTokens: output }, ...TOOLS }),
    ).rejects.toMatchObject({ code })
  })

  it('reason precedence: closed for context stays so through retries and turns', async () => {
    const preset = presetSession(withBuffer(50), 500)
    const history: Content[] = toolOf(3_200)
    const body = { generationConfig: { maxOutputTokens: 50 }, ...TOOLS }
    for (let attempt = 0; attempt < 3; attempt++) {
      const { verdict } = await preset.prepare(history, body)
      expect(verdict).toMatchObject({ kind: 'final', reason: 'context' })
    }
    for (let turn = 0; turn < 2; turn++) {
      history.push(model('Partial report.'), user('Go on.'))
      expect((await preset.prepare(history, body)).verdict).toMatchObject({ kind: 'final', reason: 'context' })
    }
  })
})

describe('counters', () => {
  const debugOf = (events: readonly PlimsollEvent[], topic: string): Record<string, number>[] =>
    events.flatMap((event) =>
      event.type === 'warning' && event.topic === `context-guard/${topic}`
        ? [JSON.parse(event.message) as Record<string, number>]
        : [],
    )
  const debugging = withBuffer(32, { CONTEXT_DEBUG: 'true' })
  const body = { generationConfig: { maxOutputTokens: 64 }, ...TOOLS }

  it('retry: a failed call changes nothing', async () => {
    const preset = presetSession(debugging, 914)
    const history = [user(chars(400)), call('c'), result('c', chars(800))]
    const first = await preset.prepare(history, body)
    const session = preset.plimsoll.session({ id: 's' })
    await session.record({ turn: first.id, refused: true })
    const again = await preset.prepare(history, body)
    expect(again.load.count).toEqual(first.load.count)
    expect(again.verdict.kind).toBe('proceed')
  })

  it('history counters: the first request has nothing committed, and the seed pending', async () => {
    const preset = presetSession(debugging, 4_096)
    const { load } = await preset.prepare([user(chars(600)), model('Ok.'), user('Go.')], body)
    const [counters] = debugOf(preset.events, 'init-counters') as [
      { pendingCtxTokens: number; schemaCtxTokens: number },
    ]
    expect(counters).toMatchObject({ currentCtxTokens: 0, newCtxTokens: 0 })
    expect(counters.schemaCtxTokens).toBeGreaterThan(0)
    expect(counters.pendingCtxTokens + counters.schemaCtxTokens).toBe(load.count.tokens)
  })

  it('metrics: expected = committed + new, and what a response commits is its prompt and its answer', async () => {
    const preset = presetSession(debugging, 4_096)
    const history: Content[] = [user(chars(600))]
    const turn = await preset.prepare(history, body)
    const session = preset.plimsoll.session({ id: 's' })
    const usage = { input: 300, cacheRead: 0, cacheWrite: 0, output: 40, reasoning: 0 }
    await session.record({ turn: turn.id, usage })
    await preset.prepare([...history, model('Ok.'), user(chars(400))], body)
    const [, counters] = debugOf(preset.events, 'init-counters')
    const [, metrics] = debugOf(preset.events, 'build-metrics')
    expect(counters).toMatchObject({ currentCtxTokens: 340, pendingCtxTokens: 0 })
    expect(metrics!['expectedTokens']).toBe(340 + counters!['newCtxTokens']!)
    expect(metrics!['percent']).toBeGreaterThanOrEqual(0)
  })

  it('double count: a tool’s tokens come in once', async () => {
    const preset = presetSession(debugging, 4_096)
    const history: Content[] = [user(chars(400))]
    const first = await preset.prepare(history, body)
    await preset.usage(first, Math.ceil(first.load.count.tokens))
    const grown = [...history, call('c'), result('c', chars(800))]
    const second = await preset.prepare(grown, body)
    const growth = second.load.count.tokens - first.load.count.tokens
    expect(growth).toBeGreaterThanOrEqual(800 / 4)
    expect(growth).toBeLessThan(800 / 4 + 80)
    const third = await preset.prepare(grown, body)
    expect(third.load.count.tokens).toBe(second.load.count.tokens)
  })
})
