import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import type { PlimsollOptions } from '../../src/plimsoll.ts'
import { call, say, startReferee, type Answer, type BrainTurn } from '../../src/testing/referee/index.ts'
import { stage, WAYS, type Stage, type Way } from '../sdks/ways.ts'

const ROWS = JSON.stringify(
  Array.from({ length: 6_000 }, (_, id) => ({ id, node: `node-${id % 5}`, ms: (id * 7_919) % 10_007 })),
)
const BASIC = ['recall']
const ALL = [...BASIC, 'artifact_query', 'artifact_run']

/** An agent that knows `bash` and nothing of our tools. */
async function talk({ base, fetch }: Stage, turns: number): Promise<string[]> {
  // By name: what begins alike is not the same session.
  const client = new Anthropic({
    apiKey: 'k',
    baseURL: base,
    maxRetries: 0,
    defaultHeaders: { 'x-plimsoll-session': 'readers' },
    ...(fetch && { fetch }),
  })
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Which node is slow?' }]
  const said: string[] = []
  for (let turn = 0; turn < turns; turn++) {
    const answer = await client.messages.create({
      model: 'claude-opus-4-6',
      max_tokens: 512,
      tools: [{ name: 'bash', input_schema: { type: 'object' } }],
      messages,
    })
    said.push(answer.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''))
    const uses = answer.content.filter((block) => block.type === 'tool_use')
    messages.push({ role: 'assistant', content: answer.content })
    messages.push({
      role: 'user',
      content:
        uses.length > 0
          ? uses.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: ROWS }))
          : 'Go on.',
    })
  }
  return said
}

const open = (way: Way, script: (turn: BrainTurn) => Answer, plimsoll: PlimsollOptions = {}): Promise<Stage> =>
  stage(way, {
    referee: { wire: 'anthropic-messages', script, window: plimsoll.window ?? 64_000 },
    plimsoll: { window: 64_000, ...plimsoll },
  })
const toolsIn = ({ referee }: Stage): string[][] =>
  referee.log.map(({ raw }) =>
    (JSON.parse(Buffer.from(raw).toString()) as { tools: { name: string }[] }).tools
      .map(({ name }) => name)
      .filter((name) => name !== 'bash'),
  )
const slowest = Object.entries(
  (JSON.parse(ROWS) as { node: string; ms: number }[]).reduce<Record<string, number>>(
    (sums, { node, ms }) => ({ ...sums, [node]: (sums[node] ?? 0) + ms }),
    {},
  ),
).sort(([, a], [, b]) => b - a)[0]!

describe.each(WAYS)('readers that the gateway gives a model, through the %s', (way) => {
  it('answer SQL and code over a result that was never shown whole', async () => {
    const body = (turn: BrainTurn): string => JSON.stringify(turn.body)
    const on = await open(way, (turn) => {
      const [handle] = handlesIn(body(turn))
      if (turn.number === 1) return call('bash', { command: 'top' })
      if (turn.number === 2)
        return call('artifact_query', {
          handle: handle!,
          sql: 'SELECT node, sum(ms) total FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 1',
        })
      if (turn.number === 3)
        return call('artifact_run', { handle: handle!, code: `data.filter((row) => row.node === 'node-0').length` })
      return say(body(turn).includes(String(slowest[1])) && body(turn).includes('1200') ? slowest[0] : 'lost')
    })
    expect((await talk(on, 2))[1]).toBe(slowest[0])
    expect(on.referee.summary()).toMatchObject({ answered: 4, invalid: 0, overflows: 0 })
    // Short instructions: nothing before something was taken out, then all that can be answered here.
    expect(toolsIn(on)).toEqual([[], ALL, ALL, ALL])
    // The view names only what the request declares.
    expect(Buffer.from(on.referee.log[1]!.raw).toString()).toContain(
      'artifact_run (your own JavaScript over all of it)',
    )
  }, 30_000)
})

describe('a question that a model answers', () => {
  it('is asked over HTTP in a hidden step, and its price is told apart', async () => {
    const reader = await startReferee({
      wire: 'openai-chat',
      window: 32_000,
      script: (turn) => {
        const text = JSON.stringify(turn.body)
        const nonce = /<answer-(\w+)>/.exec(text)![1]!
        const found = text.includes('node-3') ? 'node-3 is in it' : 'NOTHING RELEVANT: numbers'
        return say(`<answer-${nonce}>${found}</answer-${nonce}>`)
      },
    })
    const extraction = {
      format: 'openai-chat',
      model: 'gpt-4.1',
      baseUrl: `${reader.url}/v1`,
      apiKey: 'k',
      window: 32_000,
    }
    const on = await open(
      'fetch',
      (turn) => {
        const body = JSON.stringify(turn.body)
        if (turn.number === 1) return call('bash', { command: 'top' })
        if (turn.number === 2)
          return call('artifact_extract', { handle: handlesIn(body)[0]!, extract: 'whether node-3 is there' })
        return say(body.includes('node-3 is in it') ? 'yes' : 'lost')
      },
      { extraction },
    )
    try {
      expect((await talk(on, 2))[1]).toBe('yes')
      expect(on.referee.summary()).toMatchObject({ answered: 3, invalid: 0 })
      expect(reader.summary()).toMatchObject({ invalid: 0, overflows: 0 })
      expect(reader.log.length).toBeGreaterThan(1)
      const spent = on.events.filter((event) => event.type === 'usage-recorded' && event.purpose === 'extract')
      const turn = on.events.find((event) => event.type === 'usage-recorded' && event.purpose === 'turn')!
      expect(spent).toEqual([expect.objectContaining({ session: turn.session, tenant: turn.tenant })])
    } finally {
      await reader.close()
    }
  }, 30_000)
})

describe('which readers a session gets', () => {
  const quiet = (turn: BrainTurn): Answer => (turn.number === 1 ? call('bash', { command: 'top' }) : say('ok'))
  it.each([
    { name: 'no engines', options: { sql: false, sandbox: false }, tools: BASIC },
    { name: 'SQL only', options: { sandbox: false }, tools: [...BASIC, 'artifact_query'] },
    { name: 'a small window', options: { window: 16_000 }, tools: BASIC },
    { name: 'a model that reads', options: { extraction: () => 'x' }, tools: [...ALL, 'artifact_extract'] },
    { name: 'none', options: { tools: false }, tools: [] },
  ] satisfies { name: string; options: PlimsollOptions; tools: string[] }[])('$name', async ({ options, tools }) => {
    const on = await open('fetch', quiet, options)
    await talk(on, 2)
    expect(toolsIn(on)).toEqual([[], tools])
  })

  it('stays as it was decided, whatever is installed later', async () => {
    const store = memoryStore()
    const first = await open('fetch', quiet, { store, sandbox: false })
    await talk(first, 2)
    const second = await open('fetch', quiet, { store })
    await talk(second, 3)
    expect(toolsIn(first)).toEqual([[], [...BASIC, 'artifact_query']])
    // Declared once for this list of the client's tools, they stay, and what was sent before them leaves without them again: both are cached.
    expect(toolsIn(second)).toEqual([[], [...BASIC, 'artifact_query'], [...BASIC, 'artifact_query']])
  })
})
