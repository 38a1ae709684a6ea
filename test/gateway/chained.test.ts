import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { createPlimsoll, type PlimsollOptions } from '../../src/index.ts'
import { call, say, type Script } from '../../src/testing/referee/index.ts'
import { words } from '../learning/words.ts'
import { stage, toolOutput, type Stage } from '../sdks/ways.ts'

const WINDOW = 16_000
const MODEL = 'gpt-4o'
const bash = {
  type: 'function' as const,
  name: 'bash',
  parameters: { type: 'object', properties: { cmd: { type: 'string' } } },
  strict: false,
}

/** Seven steps with a tool, then a word to the user, and so on. */
const script: Script = ({ number }) =>
  number % 8 === 0 ? say(`Part ${number} is done.`) : call('bash', { cmd: `x${number}` })

type Input = OpenAI.Responses.ResponseInput

async function converse(
  { base, fetch }: Stage,
  requests: number,
  more: { stream?: boolean; prompt_cache_key?: string } = {},
): Promise<OpenAI.Responses.Response[]> {
  const { stream = false, ...rest } = more
  const client = new OpenAI({
    apiKey: 'k',
    baseURL: `${base}/v1`,
    maxRetries: 0,
    ...(fetch !== undefined && { fetch }),
  })
  const answers: OpenAI.Responses.Response[] = []
  let input: Input = [{ role: 'user', content: 'TASK: find out why checkout is slow.' }]
  for (let i = 1; i <= requests; i++) {
    const last = answers.at(-1)
    const body = {
      model: MODEL,
      instructions: 'You look after a shop.',
      max_output_tokens: 1_000,
      tools: [bash],
      input,
      ...rest,
      ...(last !== undefined && { previous_response_id: last.id }),
    }
    const answer = stream
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create({ ...body, stream: false })
    answers.push(answer)
    const calls = answer.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    input =
      calls.length === 0
        ? [{ role: 'user', content: `Go on with part ${i}.` }]
        : calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: toolOutput(i, 30) }))
  }
  return answers
}

describe('a chained conversation that outgrows its window', () => {
  it.each([{}, { stream: true }, { prompt_cache_key: 'a shop' }])(
    'goes on with its history written out and compacted: %j',
    async (more) => {
      const on = await stage('fetch', {
        referee: { wire: 'openai-responses', window: WINDOW, script },
        plimsoll: { window: WINDOW },
      })
      const answers = await converse(on, 40, more)
      expect(answers).toHaveLength(40)
      expect(on.referee.summary()).toMatchObject({ answered: 40, overflows: 0, invalid: 0 })
      const prepared = on.events.filter((event) => event.type === 'request-prepared')
      expect(new Set(prepared.map(({ verdict }) => verdict))).toEqual(new Set(['proceed']))
      expect(new Set(prepared.map(({ session, agent }) => `${session} ${agent}`)).size).toBe(1)
      const bodies = on.referee.log.map(({ body }) => body as Record<string, unknown>)
      const whole = bodies.slice(1).filter((body) => body['previous_response_id'] === undefined)
      // Now and then, and with the task still in it; every other request names its predecessor.
      expect(whole.length).toBeGreaterThan(1)
      expect(whole.length).toBeLessThan(10)
      for (const body of whole) expect(JSON.stringify(body['input'])).toContain('TASK: find out why checkout is slow.')
      expect(on.events.filter(({ type }) => type === 'window-learned')).toEqual([])
    },
  )

  it('is recovered where the provider counts far more than it said', async () => {
    let times = 1
    const on = await stage('fetch', {
      referee: {
        wire: 'openai-responses',
        window: WINDOW,
        script,
        tokenizer: (text) => Math.round((text.length / 4) * times),
        usage: 'off',
      },
      plimsoll: { window: WINDOW },
    })
    times = 1.3
    expect(await converse(on, 30)).toHaveLength(30)
    expect(on.events.filter(({ type }) => type === 'window-learned')).toEqual([])
  })
})

/** A provider that holds conversations and counts a quarter of their characters. */
function holder(options: PlimsollOptions = {}): {
  plimsoll: ReturnType<typeof createPlimsoll>
  sent: Record<string, unknown>[]
} {
  const sent: Record<string, unknown>[] = []
  let held = 0
  const plimsoll = createPlimsoll({
    store: 'memory:',
    artifacts: 'memory:',
    tools: false,
    fetch: async (_, init) => {
      const text = Buffer.from(init?.body as Uint8Array).toString()
      sent.push(JSON.parse(text) as Record<string, unknown>)
      held += Math.round(text.length / 4)
      return Response.json({
        id: `resp_${sent.length}`,
        object: 'response',
        status: sent.at(-1)!['background'] === true ? 'in_progress' : 'completed',
        output: [
          ...(sent.at(-1)!['background'] === true ? [] : [{ type: 'reasoning', id: `rs_${sent.length}`, summary: [] }]),
          { type: 'message', role: 'assistant', id: 'm', content: [{ type: 'output_text', text: 'ok' }] },
        ],
        usage: { input_tokens: held, output_tokens: 10 },
      })
    },
    ...options,
  })
  return { plimsoll, sent }
}

const ask = (plimsoll: ReturnType<typeof createPlimsoll>, body: object): Promise<Response> =>
  plimsoll.fetch('https://llm.example.com/v1/responses', {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, max_output_tokens: 1_000, ...body }),
  })

describe('a conversation that only the provider can repeat', () => {
  it.each([
    ['it is named by its id', () => ({ conversation: 'conv_1' })],
    ['it is named by its id and by a cache key', () => ({ conversation: { id: 'conv_1' }, prompt_cache_key: 'k' })],
    [
      'its reasoning came without its seal',
      (last: number) => (last === 0 ? {} : { previous_response_id: `resp_${last}` }),
    ],
    [
      'its answers are made in the background',
      (last: number) => ({ background: true, ...(last > 0 && { previous_response_id: `resp_${last}` }) }),
    ],
    [
      'the same, under a cache key that others use',
      (last: number) => ({ prompt_cache_key: 'k', ...(last > 0 && { previous_response_id: `resp_${last}` }) }),
    ],
  ])('counts what the provider said, and gets a closing turn that fits: %s', async (_, name) => {
    const { plimsoll, sent } = holder({ models: { [MODEL]: { window: WINDOW } } })
    let verdict: string | null = null
    let load = 0
    for (let i = 0; i < 12 && verdict !== 'final'; i++) {
      const input = [{ role: 'user', content: `Part ${i}: ${words(i, 9_000)}` }]
      const answer = await ask(plimsoll, { ...name(i), tools: [bash], input })
      expect(answer.status, await answer.text()).toBe(200)
      verdict = answer.headers.get('x-plimsoll-verdict')
      const before = load
      load = Number(answer.headers.get('x-plimsoll-load'))
      expect(load).toBeGreaterThan(before)
    }
    expect(verdict).toBe('final')
    expect(load).toBeLessThanOrEqual(WINDOW - 1_000)
    expect(sent.at(-1)).toMatchObject({ tool_choice: 'none' })
    await plimsoll.close()
  })
})
