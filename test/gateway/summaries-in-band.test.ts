import { describe, expect, it } from 'vitest'
import type { Policy } from '../../src/core/policy.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { call, overlong, refuse, say, type Answer } from '../../src/testing/referee/index.ts'
import { plainBody } from '../pains/support/plain-bodies.ts'
import { stage, type Way } from '../sdks/ways.ts'
import { WIRES, type WireName } from '../support/generators/index.ts'
import { resultText } from '../support/anthropic-loop.ts'

const ACCOUNT = 'State: half of the files are read. Key information: value_3_1 is computed. Next: read the rest.'
const ASKED = 'is about to leave the context window'
const IN_BAND: Policy = { ...policyNamed('plimsoll'), name: 'in-band', summaries: { via: 'in-band', calls: 2 } }

const PATHS: Record<WireName, string> = {
  'anthropic-messages': '/v1/messages',
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  gemini: '/v1beta/models/gemini-2.5-pro:generateContent',
  'ollama-chat': '/api/chat',
  'bedrock-converse': '/model/us.anthropic.claude-sonnet-4-6/converse',
}
const HEADERS: Record<WireName, Record<string, string>> = {
  'anthropic-messages': { 'x-api-key': 'sk-test', 'anthropic-version': '2023-06-01' },
  'openai-chat': { authorization: 'Bearer sk-test' },
  'openai-responses': { authorization: 'Bearer sk-test' },
  gemini: { 'x-goog-api-key': 'sk-test' },
  'ollama-chat': {},
  'bedrock-converse': { authorization: 'Bearer sk-test' },
}
const PARAMETERS = { type: 'object', properties: { path: { type: 'string' } } }
const TOOLS: Record<WireName, object> = {
  'anthropic-messages': { tools: [{ name: 'read', description: 'Reads.', input_schema: PARAMETERS }] },
  'openai-chat': {
    tools: [{ type: 'function', function: { name: 'read', description: 'Reads.', parameters: PARAMETERS } }],
  },
  'openai-responses': {
    tools: [{ type: 'function', name: 'read', description: 'Reads.', parameters: PARAMETERS, strict: false }],
  },
  gemini: { tools: [{ functionDeclarations: [{ name: 'read', description: 'Reads.', parameters: PARAMETERS }] }] },
  'ollama-chat': {
    tools: [{ type: 'function', function: { name: 'read', description: 'Reads.', parameters: PARAMETERS } }],
  },
  'bedrock-converse': {
    toolConfig: { tools: [{ toolSpec: { name: 'read', description: 'Reads.', inputSchema: { json: PARAMETERS } } }] },
  },
}

/** A client that resends everything; on Anthropic it marks its last message, as clients do. */
function bodyOf(wire: WireName, steps: number, extra: object = {}): string {
  const body = plainBody(wire, [
    {
      user: 'Read all files and tell me what they compute.',
      steps: Array.from({ length: steps }, (_, n) => ({
        calls: [{ name: 'read', args: { path: `src/file-${n}.ts` }, result: resultText(n, 900) }],
      })),
    },
  ])
  const messages = body['messages'] as { content: object[] }[] | undefined
  if (wire === 'anthropic-messages' && steps > 0)
    Object.assign(messages!.at(-1)!.content.at(-1)!, { cache_control: { type: 'ephemeral' } })
  if (wire === 'bedrock-converse' && steps > 0) messages!.at(-1)!.content.push({ cachePoint: { type: 'default' } })
  return JSON.stringify({ ...body, ...TOOLS[wire], ...extra })
}

interface Run {
  readonly answer: Answer
  readonly extra?: object
  readonly way?: Way
  readonly policy?: Policy
}

async function run(wire: WireName, { answer, extra, way = 'fetch', policy = IN_BAND }: Run) {
  const {
    referee,
    events,
    call: send,
  } = await stage(way, {
    referee: {
      wire,
      window: 14_000,
      cache: { minimumTokens: 256, blockTokens: 1 },
      script: ({ body }) => (JSON.stringify(body).includes(ASKED) ? answer : say('ok')),
    },
    plimsoll: { policy, window: 14_000, tools: false },
  })
  const statuses: number[] = []
  for (let steps = 1; steps <= 56; steps++) {
    const response = await send(PATHS[wire], {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-plimsoll-session': 's', ...HEADERS[wire] },
      body: bodyOf(wire, steps, extra),
    })
    statuses.push(response.status)
    await response.text()
  }
  const asked = referee.log.filter(({ body }) => JSON.stringify(body).includes(ASKED))
  return { referee, events, statuses, asked }
}

describe.each(WIRES)('a summary in band on %s', (wire) => {
  it('is asked for behind the prefix that the provider has in its cache, and is what later requests begin with', async () => {
    const { referee, events, statuses, asked } = await run(wire, { answer: say(ACCOUNT) })
    expect(new Set(statuses)).toEqual(new Set([200]))
    const epochs = events.filter((event) => event.type === 'epoch-declared').length
    expect(epochs).toBeGreaterThan(0)
    expect(asked).toHaveLength(epochs)
    for (const exchange of asked) {
      expect(exchange.status).toBe(200)
      expect(exchange.violations).toEqual([])
      // Ollama keeps its cache to itself.
      if (wire !== 'ollama-chat') expect(exchange.cacheRead / exchange.inputTokens).toBeGreaterThan(0.75)
      expect(JSON.stringify(exchange.body)).toContain('"read"')
    }
    expect(JSON.stringify(referee.log.at(-1)!.body)).toContain(ACCOUNT)
    const spent = events.filter((event) => event.type === 'usage-recorded' && event.purpose === 'summary')
    expect(spent).toHaveLength(epochs)
  })

  it.each<[string, Answer]>([
    ['a tool call', call('read', { path: 'x' })],
    ['a refusal', refuse()],
    ['an answer without an end', overlong()],
    ['nothing', { parts: [], stop: 'end' }],
  ])('gives way to what code wrote when the answer is %s', async (_, answer) => {
    const { referee, events, statuses, asked } = await run(wire, { answer })
    expect(new Set(statuses)).toEqual(new Set([200]))
    const epochs = events.filter((event) => event.type === 'epoch-declared').length
    expect(epochs).toBeGreaterThan(0)
    expect(asked.length).toBeLessThanOrEqual(2 * epochs)
    expect(events.filter((event) => event.type === 'summary-rejected').length).toBeGreaterThan(0)
    expect(JSON.stringify(referee.log.at(-1)!.body)).toContain('Condensed record')
  })

  it('is not asked for where the request decides the form of its answer', async () => {
    const SHAPED: Record<WireName, object> = {
      'anthropic-messages': { tool_choice: { type: 'any' } },
      'openai-chat': { response_format: { type: 'json_object' } },
      'openai-responses': { text: { format: { type: 'json_object' } } },
      gemini: { generationConfig: { maxOutputTokens: 100, responseMimeType: 'application/json' } },
      'ollama-chat': { format: 'json' },
      'bedrock-converse': {
        toolConfig: { ...(TOOLS['bedrock-converse'] as { toolConfig: object }).toolConfig, toolChoice: { any: {} } },
      },
    }
    const { asked, events } = await run(wire, { answer: say(ACCOUNT), extra: SHAPED[wire] })
    expect(events.filter((event) => event.type === 'epoch-declared').length).toBeGreaterThan(0)
    expect(asked).toEqual([])
  })
})

describe('a summary in band through the proxy', () => {
  it('reads a stream as well', async () => {
    const { referee, statuses, asked } = await run('anthropic-messages', {
      answer: say(ACCOUNT),
      way: 'proxy',
      extra: { stream: true },
    })
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(asked.length).toBeGreaterThan(0)
    expect(JSON.stringify(referee.log.at(-1)!.body)).toContain(ACCOUNT)
  })
})

describe('a policy that does not ask for it', () => {
  it('never sends a request of its own with the client’s credentials', async () => {
    const { asked, events } = await run('anthropic-messages', { answer: say(ACCOUNT), policy: policyNamed('plimsoll') })
    expect(events.filter((event) => event.type === 'epoch-declared').length).toBeGreaterThan(0)
    expect(asked).toEqual([])
  })
})
