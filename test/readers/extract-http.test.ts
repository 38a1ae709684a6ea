import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import type { SummarizerChoice } from '../../src/drivers/open-summarizer.ts'
import type { Summarizer } from '../../src/ports/summarizer.ts'
import { createPlimsoll, type Plimsoll } from '../../src/plimsoll.ts'
import {
  say,
  startReferee,
  type Answer,
  type BrainTurn,
  type RunningReferee,
  type StartRefereeOptions,
  type Wire,
} from '../../src/testing/referee/index.ts'

/** A provider behind a socket that refuses what the real one refuses, its window included. */
const WINDOW = 24_000
const CLOSERS: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of CLOSERS.splice(0)) await close()
})

/** The vendors' own clients as models that read. */
const MODELS: Readonly<Record<'openai-chat' | 'anthropic-messages', (url: string) => Summarizer>> = {
  'openai-chat': (url) => {
    const client = new OpenAI({ apiKey: 'k', baseURL: `${url}/v1`, maxRetries: 0 })
    return {
      name: 'openai',
      model: 'gpt-4.1',
      window: WINDOW,
      async summarise({ system, prompt, maxOutputTokens, signal }) {
        const { choices, usage } = await client.chat.completions.create(
          {
            model: 'gpt-4.1',
            max_completion_tokens: maxOutputTokens,
            messages: [
              { role: 'system', content: system },
              { role: 'user', content: prompt },
            ],
          },
          { signal },
        )
        const input = usage?.prompt_tokens ?? 0
        const output = usage?.completion_tokens ?? 0
        return {
          text: choices[0]?.message.content ?? '',
          stop: 'end',
          usage: { input, output, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
        }
      },
    }
  },
  'anthropic-messages': (url) => {
    const client = new Anthropic({ apiKey: 'k', baseURL: url, maxRetries: 0 })
    return {
      name: 'anthropic',
      model: 'claude-haiku-4-5',
      window: WINDOW,
      async summarise({ system, prompt, maxOutputTokens, signal }) {
        const answer = await client.messages.create(
          {
            model: 'claude-haiku-4-5',
            system,
            max_tokens: maxOutputTokens,
            messages: [{ role: 'user', content: prompt }],
          },
          { signal },
        )
        return {
          text: answer.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''),
          stop: 'end',
          usage: {
            input: answer.usage.input_tokens,
            output: answer.usage.output_tokens,
            cacheRead: 0,
            cacheWrite: 0,
            reasoning: 0,
          },
        }
      },
    }
  },
}

/** How a model behind HTTP is given: by the vendor's client, or as data for the driver that summaries use too. */
const WAYS: readonly {
  readonly way: string
  readonly wire: Wire
  readonly model: (url: string) => SummarizerChoice
}[] = [
  { way: 'the OpenAI client', wire: 'openai-chat', model: MODELS['openai-chat'] },
  { way: 'the Anthropic client', wire: 'anthropic-messages', model: MODELS['anthropic-messages'] },
  ...(
    [
      ['openai-chat', 'gpt-4.1', '/v1'],
      ['openai-responses', 'gpt-4.1', '/v1'],
      ['anthropic-messages', 'claude-haiku-4-5', ''],
      ['gemini', 'gemini-2.5-flash', ''],
    ] as const
  ).map(([wire, model, path]) => ({
    way: `the driver on ${wire}`,
    wire,
    model: (url: string) => ({ format: wire, model, baseUrl: `${url}${path}`, apiKey: 'k', window: WINDOW }),
  })),
]

interface Scene {
  readonly referee: RunningReferee
  readonly plimsoll: Plimsoll
  readonly events: PlimsollEvent[]
}

async function scene({ wire, model }: (typeof WAYS)[number], options: Partial<StartRefereeOptions>): Promise<Scene> {
  const referee = await startReferee({ wire, window: WINDOW, ...options })
  const events: PlimsollEvent[] = []
  const plimsoll = createPlimsoll({
    store: 'memory:',
    secret: new Uint8Array(32).fill(9),
    extraction: model(referee.url),
    onEvent: (event) => events.push(event),
  })
  CLOSERS.push(async () => {
    await plimsoll.close()
    await referee.close()
  })
  return { referee, plimsoll, events }
}

async function stored(plimsoll: Plimsoll, output: string): Promise<string> {
  return (await plimsoll.session({ id: 's' }).toolResult({ tool: 'curl', output, window: 16_000 })).artifact!
}

/** All text that a request carries. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(textOf).join('\n')
  return typeof value === 'object' && value !== null ? Object.values(value).map(textOf).join('\n') : ''
}

const wrapped = (turn: BrainTurn, answer: string): Answer => {
  const nonce = /<answer-(\w+)>/.exec(textOf(turn.body))?.[1] ?? ''
  return say(`<answer-${nonce}>${answer}</answer-${nonce}>`)
}

/** One line, over 700 kB: several windows of the model. */
const ROWS = JSON.stringify(
  Array.from({ length: 9_000 }, (_, id) => ({
    id,
    pod: `web-${id % 40}`,
    state: id === 4_321 || id === 8_765 ? `OOMKilled-${id}` : 'Running',
    note: `checked at ${id}`,
  })),
)

/** Finds what is asked for in its part, and puts the extracts of all parts together. */
const reader = (turn: BrainTurn): Answer => {
  const data = /<data-\w+>([^]*)<\/data-/.exec(textOf(turn.body))?.[1] ?? ''
  const found = [...new Set(data.match(/OOMKilled-\d+/g) ?? [])]
  return wrapped(turn, found.length === 0 ? 'NOTHING RELEVANT: pods that run' : found.join(', '))
}

describe.each(WAYS)('extraction over HTTP by $way', (way) => {
  it('reads one long line part by part, each within the window, and combines the answers', async () => {
    const { referee, plimsoll, events } = await scene(way, { script: reader })
    const handle = await stored(plimsoll, ROWS)
    const answer = await plimsoll.artifacts.extract(handle, { extract: 'every pod that was killed' })
    expect(answer.mode).toBe('full-chunked')
    expect(answer.text).toContain('OOMKilled-4321')
    expect(answer.text).toContain('OOMKilled-8765')
    expect(answer.calls).toBeGreaterThan(10)
    expect(referee.summary()).toMatchObject({ answered: answer.calls, invalid: 0, overflows: 0 })
    expect(answer.usage.input).toBeGreaterThan(ROWS.length / 6)
    expect(events.find(({ type }) => type === 'usage-recorded')).toMatchObject({
      purpose: 'extract',
      usage: answer.usage,
      costUsd: expect.any(Number) as number,
    })
  }, 60_000)

  it('lets the model search lines when there are too many parts, and is told apart from the data', async () => {
    const lines = Array.from({ length: 40_000 }, (_, i) => `${i} ${i === 31_313 ? 'panic: pool is empty' : 'ok'}`)
    const script = (turn: BrainTurn): Answer => {
      const seen = textOf(turn.body)
      if (seen.includes('31313 panic: pool is empty')) return wrapped(turn, '{"answer":"line 31314: pool is empty"}')
      return wrapped(turn, '{"grep":"panic","context":1}\n{"read":"lines","start":-2}')
    }
    const { referee, plimsoll } = await scene(way, { script })
    const handle = await stored(plimsoll, lines.join('\n'))
    const answer = await plimsoll.artifacts.extract(handle, { extract: 'why it failed' })
    expect(answer).toMatchObject({ mode: 'read-grep', calls: 2 })
    expect(answer.text).toContain('line 31314: pool is empty')
    expect(referee.summary()).toMatchObject({ answered: 2, invalid: 0, overflows: 0 })
  }, 60_000)

  it.each([
    {
      name: 'answers outside the wrapper',
      options: { script: () => say('It was pod 4321.') },
      reason: /inside the wrapper/,
    },
    {
      name: 'is down',
      options: { faults: [{ on: 'every' as const, fault: { kind: 'server-error' as const } }] },
      reason: /full-chunked: [^;]*5\d\d/,
    },
  ])(
    'gives both ends and the reason when the model $name',
    async ({ options, reason }) => {
      const { plimsoll } = await scene(way, options)
      const handle = await stored(plimsoll, ROWS)
      const answer = await plimsoll.artifacts.extract(handle, { extract: 'every pod that was killed' })
      expect(answer).toMatchObject({ mode: 'truncate', ok: false })
      expect(answer.text).toMatch(/^WARNING: nothing was extracted/)
      expect(answer.text).toMatch(reason)
      expect(answer.text).toContain('"id":0,')
      expect(answer.text).toContain('"id":8999,')
    },
    60_000,
  )
})
