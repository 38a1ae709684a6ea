import { describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { FINAL_REPORT_TOOL } from '../../src/engine/presets/ai-agent/policy.ts'
import { aiAgent } from '../../src/engine/presets/index.ts'
import { call, type FaultPlan } from '../../src/testing/referee/index.ts'
import { stage, WAYS, type Way } from '../sdks/ways.ts'
import { chars } from './session.ts'

/**
 * Rows of the design's own test table that are about whole sessions, as an agent sees them: a client that runs the model's tools and sends
 * everything again, through the gateway, to a provider that refuses what does not fit. Rows on single requests stand in
 * ai-agent-rows.test.ts.
 */

interface Row {
  readonly name: string
  readonly window: number
  readonly buffer: number
  readonly output: number
  /** Characters that the tool gives back, turn by turn; the last again for later ones. */
  readonly tool: readonly number[]
  /** Characters of each tool's description. @default 40 */
  readonly describing?: number
  readonly faults?: FaultPlan
  /** The client goes on after a report, as often. */
  readonly goesOn?: number
}

interface Message {
  readonly role: string
  readonly content?: string | null
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[]
  readonly tool_call_id?: string
}

interface Sent {
  readonly messages: readonly Message[]
  readonly tools: readonly { readonly function: { readonly name: string } }[]
}

const declaring = (length: number) =>
  ['bash', 'grep', FINAL_REPORT_TOOL].map((name) => ({
    type: 'function',
    function: { name, description: chars(length), parameters: { type: 'object', properties: {} } },
  }))

const MOST_TURNS = 12
const RETRIES = 2

async function live(row: Row, way: Way) {
  const { window, buffer, output, tool, describing = 40, goesOn = 0 } = row
  const policy = { ...aiAgent({ CONTEXT_DEBUG: 'true' }), buffer: { fraction: 0, min: buffer, max: buffer } }
  const staged = await stage(way, {
    referee: {
      wire: 'openai-chat',
      window,
      // The design's own approximation, so that its windows mean what they meant there.
      tokenizer: (text) => Math.ceil(text.length / 4),
      ...(row.faults !== undefined && { faults: row.faults }),
      script: ({ tools }) =>
        tools.includes('bash') ? call('bash', { q: 'x' }) : call(FINAL_REPORT_TOOL, { report: 'what there was' }),
    },
    plimsoll: { policy, window, tools: false },
  })
  const messages: Message[] = [{ role: 'user', content: 'Go.' }]
  const statuses: number[] = []
  const reports: string[] = []
  let ran = 0
  const send = async (): Promise<Response> => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'x-plimsoll-session': 's' },
      body: JSON.stringify({ model: 'gpt-4o', max_tokens: output, tools: declaring(describing), messages }),
    }
    for (let attempt = 0; ; attempt++) {
      const response = await staged.call('/v1/chat/completions', init)
      statuses.push(response.status)
      if (response.ok || attempt === RETRIES) return response
      await response.text()
    }
  }
  for (let turn = 0; turn < MOST_TURNS && reports.length <= goesOn; turn++) {
    const response = await send()
    if (!response.ok) break
    const { choices } = (await response.json()) as { choices: { message: Message }[] }
    const said = choices[0]!.message
    messages.push(said)
    for (const { id, function: asked } of said.tool_calls ?? []) {
      if (asked.name === FINAL_REPORT_TOOL) reports.push(id)
      const text = asked.name === FINAL_REPORT_TOOL ? 'Taken.' : chars(tool[Math.min(ran++, tool.length - 1)]!)
      messages.push({ role: 'tool', tool_call_id: id, content: text })
    }
  }
  const sent = staged.referee.log.map(({ raw }) => JSON.parse(Buffer.from(raw).toString()) as Sent)
  return { ...staged, sent, statuses, reports: reports.length, ran }
}

const toolsOf = ({ tools }: Sent): string[] => tools.map(({ function: { name } }) => name)
const verdicts = (events: readonly PlimsollEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'verdict-given' ? [`${event.verdict.kind} ${event.verdict.reason}`] : []))
const debugOf = (events: readonly PlimsollEvent[], topic: string): Record<string, number>[] =>
  events.flatMap((event) =>
    event.type === 'warning' && event.topic === `context-guard/${topic}`
      ? [JSON.parse(event.message) as Record<string, number>]
      : [],
  )

describe.each(WAYS)('ai-agent through the %s', (way) => {
  it.each<Row>([
    { name: 'limit', window: 320, buffer: 32, output: 32, tool: [3_200] },
    { name: 'trim log', window: 320, buffer: 32, output: 64, tool: [3_200] },
  ])('$name: the result is replaced, the turn is closed, and the report is a success', async (row) => {
    const { referee, sent, statuses, reports, ran, events } = await live(row, way)
    expect({ reports, ran, statuses }).toEqual({ reports: 1, ran: 1, statuses: [200, 200] })
    expect(toolsOf(sent[0]!)).toContain('bash')
    expect(toolsOf(sent[1]!)).toEqual([FINAL_REPORT_TOOL])
    const result = sent[1]!.messages.find(({ role }) => role === 'tool')!
    expect(result.content).toMatch(/art_[0-9a-z]{26}/)
    expect(result.content!.length).toBeLessThan(3_200)
    expect(verdicts(events).at(-1)).toBe('final context')
    expect(referee.summary()).toMatchObject({ overflows: 0, invalid: 0 })
  })

  it('schema only: closed before any tool ran', async () => {
    const row = { name: 'schema only', window: 200, buffer: 16, output: 32, tool: [100], describing: 200 }
    const { referee, sent, statuses, reports, ran } = await live(row, way)
    expect({ reports, ran, statuses }).toEqual({ reports: 1, ran: 0, statuses: [200] })
    expect(toolsOf(sent[0]!)).toEqual([FINAL_REPORT_TOOL])
    expect(sent[0]!.messages.some(({ role }) => role === 'tool')).toBe(false)
    expect(referee.summary()).toMatchObject({ overflows: 0, invalid: 0 })
  })

  it('reason precedence: retries and further turns do not change why it was closed', async () => {
    const faults: FaultPlan = (number) => (number === 2 || number === 3 ? { kind: 'server-error' } : undefined)
    const row = { name: '', window: 500, buffer: 50, output: 50, tool: [3_200], goesOn: 2, faults }
    const { referee, sent, statuses, reports, events } = await live(row, way)
    expect(statuses.filter((status) => status !== 200)).toHaveLength(2)
    expect(reports).toBe(3)
    // Two that failed, and three that were answered.
    expect(verdicts(events)).toEqual(Array.from({ length: 5 }, () => 'final context'))
    for (const body of sent.slice(1)) expect(toolsOf(body)).toEqual([FINAL_REPORT_TOOL])
    expect(referee.summary()).toMatchObject({ overflows: 0, invalid: 0 })
  })

  it('double count: what a tool gives back comes in once, also when its request is repeated', async () => {
    const faults: FaultPlan = (number) => (number === 2 ? { kind: 'server-error' } : undefined)
    const row = { name: '', window: 4_096, buffer: 32, output: 64, tool: [800], faults }
    const { events, statuses } = await live(row, way)
    expect(statuses.slice(0, 3)).toEqual([200, 500, 200])
    const counters = debugOf(events, 'init-counters')
    const fresh = counters.map(({ newCtxTokens, pendingCtxTokens }) => newCtxTokens! + pendingCtxTokens!)
    // The first request, the one that failed, its repetition, and the one behind it: each time 200 tokens and the frame of a call.
    for (const tokens of fresh.slice(1, 4)) {
      expect(tokens).toBeGreaterThanOrEqual(200)
      expect(tokens).toBeLessThan(200 + 100)
    }
    expect(fresh[2]).toBe(fresh[1])
  })
})
