import OpenAI from 'openai'
import type { FunctionTool, ResponseInput, ResponseInputItem } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { call, calls, say, think, type Answer, type Script } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, WAYS, type Stage } from './ways.ts'

const MODEL = 'gpt-5.2'
const tools: FunctionTool[] = [{ type: 'function', name: 'read_log', strict: false, parameters: { type: 'object' } }]

const clientOf = ({ base, fetch }: Stage): OpenAI =>
  new OpenAI({ apiKey: 'sk-test', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch !== undefined && { fetch }) })

async function loop(client: OpenAI): Promise<string> {
  const input: ResponseInput = [{ role: 'user', content: 'Find out why checkout is slow.' }]
  for (let step = 1; ; step++) {
    const stream = client.responses.stream({
      model: MODEL,
      tools,
      store: false,
      include: ['reasoning.encrypted_content'],
      max_output_tokens: 512,
      input,
    })
    const response = await stream.finalResponse()
    const uses = response.output.filter((item) => item.type === 'function_call')
    for (const item of response.output) {
      const { parsed_arguments: _parsed, ...plain } = item as typeof item & { parsed_arguments?: unknown }
      input.push(plain as ResponseInputItem)
    }
    if (uses.length === 0) return response.output_text
    for (const [i, { call_id }] of uses.entries()) {
      input.push({ type: 'function_call_output', call_id, output: toolOutput(step * 3 + i) })
    }
  }
}

const longScript =
  (turns: number): Script =>
  ({ number }): Answer => {
    if (number >= turns) return say('Done.')
    const one = { name: 'read_log', input: { step: number } }
    const answer = number % 5 === 0 ? calls([one, one, one]) : call('read_log', { step: number })
    return number % 3 === 0 ? think('Let me see.', answer) : answer
  }

describe.each(WAYS)('openai responses through the %s', (way) => {
  it('runs a hundred turns with sealed reasoning in an 8k window without one refused request', async () => {
    const on = await stage(way, {
      referee: { wire: 'openai-responses', window: 8_000, script: longScript(100) },
      plimsoll: { window: 8_000 },
    })
    expect(await loop(clientOf(on))).toBe('Done.')
    expect(on.referee.summary()).toMatchObject({ answered: 100, overflows: 0, invalid: 0, faults: 0 })
  })

  it('recovers an overflow, streamed', async () => {
    const on = await stage(way, {
      referee: { wire: 'openai-responses', window: 6_000, script: longScript(30) },
      plimsoll: { window: 1_000_000 },
    })
    expect(await loop(clientOf(on))).toBe('Done.')
    expect(on.referee.summary()).toMatchObject({ answered: 30, overflows: 1, invalid: 0 })
  })

  it('knows the session of a chained request by the response that it continues', async () => {
    const on = await stage(way, {
      referee: { wire: 'openai-responses', script: [say('One.'), say('Two.'), say('Three.')] },
    })
    const client = clientOf(on)
    const first = await client.responses.create({ model: MODEL, input: 'Start.' })
    const second = await client.responses.create({ model: MODEL, input: 'Go on.', previous_response_id: first.id })
    await client.responses.create({ model: MODEL, input: 'And on.', previous_response_id: second.id })
    const sessions = new Set(
      on.events.filter((event) => event.type === 'request-prepared').map((event) => event.session),
    )
    expect(sessions.size).toBe(1)
  })
})
