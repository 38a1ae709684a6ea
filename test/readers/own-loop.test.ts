import { describe, expect, it } from 'vitest'
import type { Fields } from '../../src/core/values.ts'
import { wireOf, WIRE_FORMATS, type WireFormat } from '../../src/formats/registry.ts'
import { createPlimsoll, type ReaderTools } from '../../src/index.ts'
import { call, createReferee, say, type Script } from '../../src/testing/referee/index.ts'
import { toolOutput } from '../sdks/ways.ts'

const STEPS = 24
const MODEL = 'gpt-4.1'
const WINDOW = 12_000
/** Stands in the middle of the first result, which no view of later requests shows. */
const NEEDLE = toolOutput(1, 60).split('\n')[30]!

const OWN = { name: 'read_log', description: 'Reads a log.', parameters: { type: 'object', properties: {} } }

/** What a request of each wire has beside its history. */
const ENVELOPES: Readonly<Record<WireFormat, { readonly rest: Fields; readonly user: Fields }>> = {
  'anthropic-messages': { rest: { model: MODEL, max_tokens: 400 }, user: { role: 'user', content: 'Why?' } },
  'openai-chat': { rest: { model: MODEL, max_tokens: 400 }, user: { role: 'user', content: 'Why?' } },
  'openai-responses': {
    rest: { model: MODEL, max_output_tokens: 400, store: false },
    user: { role: 'user', content: 'Why?' },
  },
  gemini: { rest: { generationConfig: { maxOutputTokens: 400 } }, user: { role: 'user', parts: [{ text: 'Why?' }] } },
  'bedrock-converse': {
    rest: { inferenceConfig: { maxTokens: 400 } },
    user: { role: 'user', content: [{ text: 'Why?' }] },
  },
  'ollama-chat': {
    rest: { model: MODEL, stream: false, options: { num_predict: 400, num_ctx: WINDOW } },
    user: { role: 'user', content: 'Why?' },
  },
}

/** An agent loop as its author would write it: own tools beside those of Plimsoll. */
async function loop(format: WireFormat) {
  const script: Script = ({ number }) =>
    number < STEPS
      ? call('read_log', { step: number })
      : number === STEPS
        ? call('recall', { query: /order=\d+/.exec(NEEDLE)![0] })
        : say('Done.')
  const referee = createReferee({ wire: format, window: WINDOW, script })
  const plimsoll = createPlimsoll({ store: 'memory:', window: WINDOW })
  const session = plimsoll.session({ id: 'run' })
  const tools: ReaderTools<WireFormat> = plimsoll.tools(session, format)
  const { steps, routes, declare } = wireOf(format)
  const { rest, user } = ENVELOPES[format]
  const declared = (tools: readonly object[]): Fields =>
    format === 'bedrock-converse' ? { toolConfig: { tools } } : { tools }
  const history: Fields[] = [user]
  const recalled: string[] = []
  for (let turns = 0; turns <= STEPS + 2; turns++) {
    const body = { ...rest, [steps.list]: history, ...declared([declare(OWN), ...tools.declarations]) }
    const turn = await session.prepare({ format, body, targets: [{ model: MODEL }] })
    const answered = await referee.fetch(`http://referee.test${routes.path(MODEL, false)}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: 'Bearer k',
        'x-api-key': 'k',
        'anthropic-version': '2023-06-01',
      },
      body: turn.text,
    })
    const response = (await answered.json()) as Fields
    expect(answered.status, JSON.stringify(response)).toBe(200)
    await session.record({ turn: turn.id, format, response })
    const parts = steps.partsOf(response)
    const ours = await tools.answer(response)
    recalled.push(...ours.map((result) => JSON.stringify(result)))
    const results: Fields[] = [...ours] as Fields[]
    for (const part of parts) {
      const own = steps.callOf(part, (name) => name === OWN.name)
      if (own === undefined) continue
      const output = toolOutput((own.input as { step: number }).step, 60)
      const shown = await session.toolResult({ tool: own.name, callId: own.id, output })
      results.push(steps.resultOf(own, shown.text))
    }
    history.push(...steps.continuation(parts, results))
    if (results.length === 0) break
  }
  await plimsoll.close()
  return { summary: referee.summary(), recalled }
}

describe('tools of ours in a loop of the user’s own', () => {
  it.each(WIRE_FORMATS)('find what was taken out of view, on %s', async (format) => {
    const { summary, recalled } = await loop(format)
    expect(summary).toMatchObject({ answered: STEPS + 1, overflows: 0, invalid: 0 })
    expect(recalled).toHaveLength(1)
    expect(recalled[0]).toContain(NEEDLE)
  })

  it('are the compact one in a small window and all that can be answered in a large one', () => {
    const plimsoll = createPlimsoll({ store: 'memory:' })
    const session = plimsoll.session({ id: 'run' })
    expect(plimsoll.tools(session, 'openai-chat', { window: 16_000 }).names).toEqual(['recall'])
    const { names, declarations } = plimsoll.tools(session, 'openai-chat', { window: 200_000 })
    expect(names).toEqual(['recall', 'artifact_query', 'artifact_run'])
    expect(declarations.map((one) => one.function.name)).toEqual(names)
  })

  it('answer a mistake of the model with words', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:' })
    const tools = plimsoll.tools(plimsoll.session({ id: 'run' }), 'openai-chat')
    expect(await tools.call('recall', { handle: 'art_none' })).toMatch(/art_none|handle/)
    expect(await tools.call('rm', {})).toMatch(/no tool rm/)
  })

  it('say which shapes there are', () => {
    const plimsoll = createPlimsoll({ store: 'memory:' })
    const session = plimsoll.session({ id: 'run' })
    // @ts-expect-error No such shape.
    expect(() => plimsoll.tools(session, 'soap')).toThrow(/openai-chat.*ai-sdk/)
  })
})
