import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { RuleOptions, Violation } from '../../src/core/codec.ts'
import { checkAnthropicMessages } from '../../src/formats/anthropic-messages/rules.ts'
import { checkGemini } from '../../src/formats/gemini/rules.ts'
import { checkOpenAiChat } from '../../src/formats/openai-chat/rules.ts'
import { checkOpenAiResponses } from '../../src/formats/openai-responses/rules.ts'
import { createReferee, type Wire } from '../../src/testing/referee/index.ts'
import { sharedFolder } from '../support/shared-data.ts'

const folder = sharedFolder('transcripts/token-usage')

interface Recorded {
  readonly id: string
  readonly model: string
  readonly input_tokens: number
  readonly request: unknown
}

type Check = (body: unknown, options?: RuleOptions) => readonly Violation[]

const FILES: readonly [file: string, wire: Wire, check: Check, floor: number][] = [
  ['exact-anthropic.jsonl.gz', 'anthropic-messages', checkAnthropicMessages, 140],
  ['exact-openai-chat.jsonl.gz', 'openai-chat', checkOpenAiChat, 500],
  ['exact-openai-responses.jsonl.gz', 'openai-responses', checkOpenAiResponses, 100],
  ['exact-google.jsonl.gz', 'gemini', checkGemini, 125],
]

function load(file: string): Recorded[] {
  const lines = gunzipSync(readFileSync(join(folder, file)))
    .toString()
    .split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Recorded)
}

describe('requests that the vendors answered', () => {
  it.each(FILES)('%s breaks no rule', (file, wire, check, floor) => {
    const recorded = load(file)
    console.info(`${wire}: ${recorded.length} recorded requests`)
    expect(recorded.length).toBeGreaterThanOrEqual(floor)
    const broken = recorded.flatMap(({ id, model, request }) =>
      check(request, { model }).map(({ rule, path }) => ({ id, rule, path })),
    )
    expect(broken).toEqual([])
  })

  it.each(FILES)('%s is counted by the referee within reason', (file, wire) => {
    const referee = createReferee({ wire })
    const ratios = load(file)
      .filter(({ input_tokens: tokens }) => tokens >= 200)
      .map(({ request, input_tokens: tokens }) => referee.countTokens(request) / tokens)
      .sort((a, b) => a - b)
    const median = ratios[ratios.length >> 1] ?? 0
    console.info(`${wire}: hidden tokenizer / true tokens, median ${median.toFixed(2)} of ${ratios.length} requests`)
    expect(median).toBeGreaterThan(0.6)
    expect(median).toBeLessThan(1.8)
  })

  it('Codex sessions break no rule at any of their user turns', () => {
    const sessions = sharedFolder('transcripts/codex-rollout')
    let bodies = 0
    for (const file of readdirSync(sessions).filter((name) => name.includes('.jsonl'))) {
      for (const input of codexInputs(join(sessions, file))) {
        bodies += 1
        expect(checkOpenAiResponses({ model: 'codex', input, store: false })).toEqual([])
      }
    }
    console.info(`openai-responses: ${bodies} inputs of Codex sessions`)
    expect(bodies).toBeGreaterThanOrEqual(40)
  })
})

interface RolloutLine {
  readonly type: string
  readonly payload: { readonly type?: string; readonly replacement_history?: unknown[] }
}

/** The history at each message of the user: what was sent next began with it. */
function* codexInputs(path: string): Generator<unknown[]> {
  const bytes = readFileSync(path)
  let items: unknown[] = []
  for (const line of (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString().split('\n')) {
    if (line === '') continue
    const { type, payload } = JSON.parse(line) as RolloutLine
    if (type === 'response_item') items.push(payload)
    if (type === 'compacted') items = [...(payload.replacement_history ?? [])]
    if (type === 'event_msg' && payload.type === 'user_message') yield [...items]
  }
}
