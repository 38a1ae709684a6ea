import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { COMPACT_READER } from '../../src/engine/readers/reader-tools.ts'
import { createMeter } from '../../src/meter/index.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { call, say, type Answer, type BrainTurn, type Wire } from '../../src/testing/referee/index.ts'
import { stage, type Stage } from '../sdks/ways.ts'
import { PLAIN_WIRES, type Turn } from './plain-wires.ts'

/** Instructions as long as those of a coding agent: beside them one short tool is no price. */
const LONG = Array.from({ length: 1_200 }, (_, i) => `Rule ${i}: keep module ${i % 37} apart from ${i % 11}.`).join(
  '\n',
)

type Fields = Record<string, unknown>

/** How a request of each wire is written, and read again from what left. */
interface Dialect {
  readonly path: (stream: boolean) => string
  readonly body: (options: { stream: boolean; head?: string; tools?: readonly string[] }) => Fields
  readonly toolsIn: (body: Fields) => readonly string[]
  readonly choice: (choice: 'none' | 'bash') => Fields
  readonly schema: Fields
  /** Calls that the client sees in an answer. */
  readonly calls: (text: string) => readonly string[]
}

const open = { type: 'object', properties: { command: { type: 'string' } } }
const names = (list: unknown, of: (tool: Fields) => unknown): readonly string[] =>
  (Array.isArray(list) ? (list as Fields[]) : []).map((tool) => String(of(tool)))
const said = (text: string, pattern: RegExp): readonly string[] => [
  ...new Set([...text.matchAll(pattern)].map((match) => match[1]!)),
]

const DIALECTS: Readonly<Record<Wire, Dialect>> = {
  'anthropic-messages': {
    path: () => '/v1/messages',
    body: ({ stream, head = LONG, tools = ['bash'] }) => ({
      model: 'claude-opus-4-6',
      max_tokens: 200,
      stream,
      system: head,
      ...(tools.length > 0 && { tools: tools.map((name) => ({ name, input_schema: open })) }),
      messages: [{ role: 'user', content: 'Why does it fail?' }],
    }),
    toolsIn: (body) => names(body['tools'], (tool) => tool['name']),
    choice: (choice) => ({ tool_choice: choice === 'none' ? { type: 'none' } : { type: 'tool', name: choice } }),
    schema: { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    calls: (text) => said(text, /"type":"tool_use"[^}]*?"name":"(\w+)"/g),
  },
  'openai-chat': {
    path: () => '/v1/chat/completions',
    body: ({ stream, head = LONG, tools = ['bash'] }) => ({
      model: 'gpt-4.1',
      stream,
      ...(tools.length > 0 && {
        tools: tools.map((name) => ({ type: 'function', function: { name, parameters: open } })),
      }),
      messages: [
        { role: 'system', content: head },
        { role: 'user', content: 'Why does it fail?' },
      ],
    }),
    toolsIn: (body) => [
      ...names(body['tools'], (tool) => (tool['function'] as Fields)['name']),
      ...names(body['functions'], (tool) => tool['name']),
    ],
    choice: (choice) => ({
      tool_choice: choice === 'none' ? 'none' : { type: 'function', function: { name: choice } },
    }),
    schema: { response_format: { type: 'json_object' } },
    calls: (text) => said(text, /"function":\{"name":"(\w+)"/g),
  },
  'openai-responses': {
    path: () => '/v1/responses',
    body: ({ stream, head = LONG, tools = ['bash'] }) => ({
      model: 'gpt-5.2',
      stream,
      store: false,
      instructions: head,
      ...(tools.length > 0 && {
        tools: tools.map((name) => ({ type: 'function', name, parameters: open, strict: false })),
      }),
      input: [{ role: 'user', content: 'Why does it fail?' }],
    }),
    toolsIn: (body) => names(body['tools'], (tool) => tool['name']),
    choice: (choice) => ({ tool_choice: choice === 'none' ? 'none' : { type: 'function', name: choice } }),
    schema: { text: { format: { type: 'json_object' } } },
    calls: (text) => said(text, /"type":"function_call"[^}]*?"name":"(\w+)"/g),
  },
  gemini: {
    path: (stream) => `/v1beta/models/gemini-2.5-pro:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: ({ head = LONG, tools = ['bash'] }) => ({
      systemInstruction: { parts: [{ text: head }] },
      ...(tools.length > 0 && {
        tools: [{ functionDeclarations: tools.map((name) => ({ name, parametersJsonSchema: open })) }],
      }),
      contents: [{ role: 'user', parts: [{ text: 'Why does it fail?' }] }],
    }),
    toolsIn: (body) =>
      (Array.isArray(body['tools']) ? (body['tools'] as Fields[]) : []).flatMap((tool) =>
        names(tool['functionDeclarations'], ({ name }) => name),
      ),
    choice: (choice) => ({
      toolConfig: {
        functionCallingConfig: choice === 'none' ? { mode: 'NONE' } : { mode: 'ANY', allowedFunctionNames: [choice] },
      },
    }),
    schema: { generationConfig: { responseMimeType: 'application/json' } },
    calls: (text) => said(text, /"functionCall":\{[^}]*?"name":"(\w+)"/g),
  },
  'bedrock-converse': {
    path: (stream) => `/model/us.anthropic.claude-opus-4-6-v1/converse${stream ? '-stream' : ''}`,
    body: ({ head = LONG, tools = ['bash'] }) => ({
      inferenceConfig: { maxTokens: 200 },
      system: [{ text: head }],
      ...(tools.length > 0 && {
        toolConfig: { tools: tools.map((name) => ({ toolSpec: { name, inputSchema: { json: open } } })) },
      }),
      messages: [{ role: 'user', content: [{ text: 'Why does it fail?' }] }],
    }),
    toolsIn: (body) =>
      names((body['toolConfig'] as Fields | undefined)?.['tools'], (tool) => (tool['toolSpec'] as Fields)['name']),
    choice: (choice) => ({
      toolConfig: {
        tools: [{ toolSpec: { name: 'bash', inputSchema: { json: open } } }],
        toolChoice: { tool: { name: choice } },
      },
    }),
    schema: {
      outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: '{"type":"object"}' } } } },
    },
    calls: (text) => said(text, /"toolUse":\{[^}]*?"name":"(\w+)"/g),
  },
  'ollama-chat': {
    path: () => '/api/chat',
    body: ({ stream, head = LONG, tools = ['bash'] }) => ({
      model: 'qwen-local',
      stream,
      ...(tools.length > 0 && {
        tools: tools.map((name) => ({ type: 'function', function: { name, parameters: open } })),
      }),
      messages: [
        { role: 'system', content: head },
        { role: 'user', content: 'Why does it fail?' },
      ],
    }),
    toolsIn: (body) => names(body['tools'], (tool) => (tool['function'] as Fields)['name']),
    choice: () => ({}),
    schema: { format: 'json' },
    calls: (text) => said(text, /"function":\{[^{}]*(?:\{[^{}]*\}[^{}]*)?"name":"(\w+)"/g),
  },
}

/** Ollama leaves the choice to the model. */
const CHOOSING = (Object.keys(DIALECTS) as Wire[]).filter((wire) => wire !== 'ollama-chat')

interface Case {
  readonly name: string
  readonly wires?: readonly Wire[]
  readonly change: (body: Fields, dialect: Dialect) => Fields
  /** Ours are declared beside the client's. */
  readonly isDeclared: boolean
}

const without = (body: Fields, ...keys: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(body).filter(([key]) => !keys.includes(key)))

/** Every way in which a request leaves no room for tools of ours, and some in which it does. */
const CASES: readonly Case[] = [
  { name: 'tools that the client runs', change: (body) => body, isDeclared: true },
  { name: 'a structured answer with tools', change: (body, { schema }) => ({ ...body, ...schema }), isDeclared: true },
  { name: 'no tools', change: (body) => without(body, 'tools', 'toolConfig'), isDeclared: false },
  {
    name: 'a structured answer without tools',
    change: (body, { schema }) => ({ ...without(body, 'tools', 'toolConfig'), ...schema }),
    isDeclared: false,
  },
  {
    name: 'tool choice none',
    // Converse has no such choice.
    wires: CHOOSING.filter((wire) => wire !== 'bedrock-converse'),
    change: (body, { choice }) => ({ ...body, ...choice('none') }),
    isDeclared: false,
  },
  {
    name: 'a forced tool',
    wires: CHOOSING,
    change: (body, { choice }) => ({ ...body, ...choice('bash') }),
    isDeclared: false,
  },
  { name: 'several choices', wires: ['openai-chat'], change: (body) => ({ ...body, n: 2 }), isDeclared: false },
  {
    name: 'several candidates',
    wires: ['gemini'],
    change: (body) => ({ ...body, generationConfig: { candidateCount: 2 } }),
    isDeclared: false,
  },
  {
    name: 'functions of the old kind',
    wires: ['openai-chat'],
    change: (body) => ({ ...without(body, 'tools', 'toolConfig'), functions: [{ name: 'bash', parameters: open }] }),
    isDeclared: false,
  },
  {
    name: 'an answer in the background',
    wires: ['openai-responses'],
    change: (body) => ({ ...body, background: true, store: true }),
    isDeclared: false,
  },
  {
    name: 'cached content',
    wires: ['gemini'],
    change: (body) => ({ ...without(body, 'tools', 'systemInstruction'), cachedContent: 'cachedContents/1' }),
    isDeclared: false,
  },
  {
    name: 'a search that Google runs',
    wires: ['gemini'],
    change: (body) => ({ ...body, tools: [{ googleSearch: {} }] }),
    isDeclared: false,
  },
  {
    name: 'tools that Anthropic runs',
    wires: ['anthropic-messages'],
    change: (body) => ({ ...body, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
    isDeclared: false,
  },
]

const WIRES = Object.keys(DIALECTS) as Wire[]
const quiet = (): Answer => say('Ok.')

async function ask(
  { call: send }: Stage,
  { path }: Dialect,
  body: Fields,
  stream: boolean,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const answer = await send(path(stream), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': 'k',
      authorization: 'Bearer k',
      'x-goog-api-key': 'k',
      'anthropic-version': '2023-06-01',
      ...headers,
    },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  expect(answer.status, text).toBe(200)
  return text
}

const sentBy = ({ referee }: Stage): Fields[] =>
  referee.log.map(({ raw }) => JSON.parse(Buffer.from(raw).toString()) as Fields)

describe.each(WIRES)('tools of ours in requests of %s', (wire) => {
  const dialect = DIALECTS[wire]
  const cases = CASES.filter(({ wires }) => wires?.includes(wire) ?? true).flatMap((each) =>
    [true, false].map((stream) => ({ ...each, stream })),
  )

  it.each(cases)('$name (streamed: $stream): declared $isDeclared', async ({ change, isDeclared, stream }) => {
    const on = await stage('fetch', { referee: { wire, script: quiet, window: 200_000 } })
    const body = change(dialect.body({ stream }), dialect)
    await ask(on, dialect, body, stream)
    const [sent] = sentBy(on)
    expect(dialect.toolsIn(sent!)).toEqual([...dialect.toolsIn(body), ...(isDeclared ? ['recall'] : [])])
    // Nothing else of the request is ours.
    if (!isDeclared) expect(sent).toEqual(body)
    expect(on.referee.summary()).toMatchObject({ answered: 1, invalid: 0 })
  })

  // A list of its own and nothing to choose: what stands there stays, since it is part of the cached prefix.
  const excluding = cases.filter(
    ({ isDeclared, name }) => !isDeclared && name !== 'tool choice none' && name !== 'a forced tool',
  )
  it.each(excluding)(
    '$name (streamed: $stream), later in a session that has them: gone',
    async ({ change, stream }) => {
      const on = await stage('fetch', { referee: { wire, script: quiet, window: 200_000 } })
      await ask(on, dialect, dialect.body({ stream }), stream)
      const body = change(dialect.body({ stream }), dialect)
      await ask(on, dialect, body, stream)
      expect(sentBy(on)[1]).toEqual(body)
      expect(on.referee.summary()).toMatchObject({ answered: 2, invalid: 0 })
    },
  )

  it.each([true, false])('a tool of the client’s own with the name wins at once (streamed: %s)', async (stream) => {
    const script = (turn: BrainTurn): Answer => (turn.number === 1 ? call('recall', { command: 'x' }) : say('Ok.'))
    const on = await stage('fetch', { referee: { wire, script, window: 200_000 } })
    const body = dialect.body({ stream, tools: ['bash', 'recall'] })
    const text = await ask(on, dialect, body, stream)
    expect(sentBy(on)).toEqual([body])
    expect(dialect.calls(text)).toEqual(['recall'])
  })

  it.each([true, false])('a tool of the client’s own with the name wins later (streamed: %s)', async (stream) => {
    const script = (turn: BrainTurn): Answer => (turn.number === 2 ? call('recall', { command: 'x' }) : say('Ok.'))
    const on = await stage('fetch', { referee: { wire, script, window: 200_000 } })
    await ask(on, dialect, dialect.body({ stream }), stream)
    const body = dialect.body({ stream, tools: ['bash', 'recall'] })
    const text = await ask(on, dialect, body, stream)
    expect(dialect.toolsIn(sentBy(on)[0]!)).toEqual(['bash', 'recall'])
    expect(sentBy(on)[1]).toEqual(body)
    expect(dialect.calls(text)).toEqual(['recall'])
    expect(on.referee.summary()).toMatchObject({ answered: 2, invalid: 0 })
  })

  it('a call without tools on the same first message decides nothing for those that come with tools', async () => {
    const on = await stage('fetch', { referee: { wire, script: quiet, window: 200_000 } })
    await ask(on, dialect, dialect.body({ stream: false, head: 'Classify the request.', tools: [] }), false)
    await ask(on, dialect, dialect.body({ stream: false }), false)
    expect(sentBy(on).map((body) => dialect.toolsIn(body).includes('recall'))).toEqual([false, true])
  })

  it('short instructions wait until something was taken out', async () => {
    const on = await stage('fetch', { referee: { wire, script: quiet, window: 200_000 } })
    const body = dialect.body({ stream: false, head: 'You are an engineer.' })
    await ask(on, dialect, body, false)
    expect(sentBy(on)).toEqual([body])
  })

  const task = (lines: number): string =>
    Array.from({ length: lines }, (_, i) => `Requirement ${i}: part ${i % 37} of the service.`).join('\n')
  const large = Array.from({ length: 3_000 }, (_, i) => `line ${i} of the log, nothing here`).join('\n')
  it.each([
    // Long enough to be cached and too short for a tool from the start. Ollama's models have no price: nothing of theirs is billed as cached.
    {
      name: 'that the provider may have cached',
      lines: wire === 'anthropic-messages' ? 450 : wire === 'bedrock-converse' ? 520 : 300,
      isCached: wire !== 'ollama-chat',
    },
    { name: 'that is too short to be cached', lines: 2, isCached: false },
  ])(
    'in front of a prompt $name: a cut result brings them, unless they would break it',
    async ({ lines, isCached }) => {
      const options = { referee: { wire, script: quiet, window: 64_000 }, plimsoll: { window: 64_000 } }
      const on = await stage('fetch', options)
      const turns: Turn[] = [{ user: task(lines) }]
      for (const result of ['short', large, 'short again']) {
        await ask(on, dialect, PLAIN_WIRES[wire].request(turns) as Fields, false)
        turns.push({ id: `call_${turns.length}`, result })
      }
      await ask(on, dialect, PLAIN_WIRES[wire].request(turns) as Fields, false)
      const sent = sentBy(on)
      expect(sent.map((body) => handlesIn(JSON.stringify(body)).length)).toEqual([0, 0, 1, 1])
      const isDeclared = sent.map((body) => dialect.toolsIn(body).includes('recall'))
      expect(isDeclared).toEqual([false, false, !isCached, !isCached])
      // What a view says can be opened can be.
      expect(JSON.stringify(sent[2]).includes('recall')).toBe(!isCached)
      expect(on.referee.summary()).toMatchObject({ invalid: 0, overflows: 0 })
    },
  )

  it('an earlier request that is sent again leaves as it did before a compaction brought them', async () => {
    const options = { referee: { wire, script: quiet, window: 16_000 }, plimsoll: { window: 16_000 } }
    const on = await stage('fetch', options)
    const turns: Turn[] = [{ user: task(100) }]
    const requests: Fields[] = []
    const isDeclared = (body: Fields | undefined): boolean => dialect.toolsIn(body!).includes('recall')
    while (!isDeclared(sentBy(on).at(-1) ?? { tools: [] })) {
      requests.push(PLAIN_WIRES[wire].request(turns) as Fields)
      await ask(on, dialect, requests.at(-1)!, false, { 'x-plimsoll-session': 'one' })
      expect(requests.length).toBeLessThan(40)
      turns.push({ id: `call_${turns.length}`, result: large.slice(0, 6_000).replaceAll('log', `log ${turns.length}`) })
    }
    // The compaction covers nothing of it.
    await ask(on, dialect, requests[0]!, false, { 'x-plimsoll-session': 'one' })
    expect(sentBy(on).at(-1)).toEqual(sentBy(on)[0])
    await ask(on, dialect, requests.at(-1)!, false, { 'x-plimsoll-session': 'one' })
    expect(isDeclared(sentBy(on).at(-1))).toBe(true)
  })

  it('none where they are switched off', async () => {
    const on = await stage('fetch', { referee: { wire, script: quiet, window: 200_000 }, plimsoll: { tools: false } })
    const body = dialect.body({ stream: false })
    await ask(on, dialect, body, false)
    expect(sentBy(on)).toEqual([body])
  })
})

describe('the tool that comes first', () => {
  it.each(['claude-opus-4-6', 'gpt-5.2', 'gemini-2.5-pro', 'unknown'])('takes at most 200 tokens of %s', (model) => {
    const { high } = createMeter({ catalogue: bundledCatalogue() }).countText(model, JSON.stringify(COMPACT_READER))
    expect(high).toBeLessThanOrEqual(200)
  })
})
