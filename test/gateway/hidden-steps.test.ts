import type { SdkWire as Wire } from '../support/sdk-wires.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI, type Content } from '@google/genai'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInput, ResponseInputItem } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { call, calls, createReferee, say, think, type Answer, type BrainTurn } from '../../src/testing/referee/index.ts'
import { stage, WAYS, type Stage } from '../sdks/ways.ts'

/** A result that cannot be shown whole: the model has to read it with the tools that the gateway gives it. */
const LOG = Array.from(
  { length: 4_000 },
  (_, i) => `line ${i + 1}: ${i === 2_345 ? 'FATAL pool exhausted' : 'ok'}`,
).join('\n')

/** One agent per wire: it knows `bash` and nothing of our tools, and says what it saw of each answer. */
interface Seen {
  readonly text: string
  readonly calls: readonly string[]
}
type Agent = (on: Stage, stream: boolean, turns: number) => Promise<Seen[]>

const anthropic: Agent = async ({ base, fetch }, stream, turns) => {
  const client = new Anthropic({ apiKey: 'k', baseURL: base, maxRetries: 0, ...(fetch && { fetch }) })
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Why does it fail?' }]
  const seen: Seen[] = []
  for (let turn = 0; turn < turns; turn++) {
    const request = {
      model: 'claude-opus-4-6',
      max_tokens: 512,
      tools: [{ name: 'bash', input_schema: { type: 'object' as const } }],
      messages,
    }
    const answer = stream ? await client.messages.stream(request).finalMessage() : await client.messages.create(request)
    const uses = answer.content.filter((block) => block.type === 'tool_use')
    expect(answer.stop_reason).toBe(uses.length > 0 ? 'tool_use' : 'end_turn')
    seen.push({
      text: answer.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('|'),
      calls: uses.map((use) => use.name),
    })
    messages.push({ role: 'assistant', content: answer.content })
    messages.push({
      role: 'user',
      content:
        uses.length > 0
          ? uses.map((use) => ({ type: 'tool_result' as const, tool_use_id: use.id, content: LOG }))
          : 'Go on.',
    })
  }
  return seen
}

const chat: Agent = async ({ base, fetch }, stream, turns) => {
  const client = new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch && { fetch }) })
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Why does it fail?' }]
  const seen: Seen[] = []
  for (let turn = 0; turn < turns; turn++) {
    const request = {
      model: 'gpt-4.1',
      tools: [{ type: 'function' as const, function: { name: 'bash', parameters: { type: 'object' } } }],
      messages,
    }
    const answer = stream
      ? await client.chat.completions
          .stream({ ...request, stream_options: { include_usage: true } })
          .finalChatCompletion()
      : await client.chat.completions.create(request)
    const { message, finish_reason } = answer.choices[0]!
    const uses = message.tool_calls ?? []
    expect(finish_reason).toBe(uses.length > 0 ? 'tool_calls' : 'stop')
    seen.push({
      text: message.content ?? '',
      calls: uses.map((use) => (use as { function: { name: string } }).function.name),
    })
    messages.push(message)
    for (const { id } of uses) messages.push({ role: 'tool', tool_call_id: id, content: LOG })
    if (uses.length === 0) messages.push({ role: 'user', content: 'Go on.' })
  }
  return seen
}

const responses: Agent = async ({ base, fetch }, stream, turns) => {
  const client = new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch && { fetch }) })
  const input: ResponseInput = [{ role: 'user', content: 'Why does it fail?' }]
  const seen: Seen[] = []
  for (let turn = 0; turn < turns; turn++) {
    const request = {
      model: 'gpt-5.2',
      store: false,
      include: ['reasoning.encrypted_content' as const],
      tools: [{ type: 'function' as const, name: 'bash', strict: false, parameters: { type: 'object' } }],
      input,
    }
    const answer = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request)
    const uses = answer.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    const texts = answer.output.flatMap((item) => (item.type === 'message' ? item.content : []))
    seen.push({
      text: texts.map((part) => ('text' in part ? part.text : '')).join('|'),
      calls: uses.map((use) => use.name),
    })
    for (const item of answer.output) {
      const { parsed_arguments: _parsed, ...plain } = item as typeof item & { parsed_arguments?: unknown }
      input.push(plain as ResponseInputItem)
    }
    for (const { call_id } of uses) input.push({ type: 'function_call_output', call_id, output: LOG })
    if (uses.length === 0) input.push({ role: 'user', content: 'Go on.' })
  }
  return seen
}

const gemini: Agent = async ({ base, fetch }, stream, turns) => {
  const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base, ...(fetch && { fetch }) } })
  const contents: Content[] = [{ role: 'user', parts: [{ text: 'Why does it fail?' }] }]
  const config = { tools: [{ functionDeclarations: [{ name: 'bash', parametersJsonSchema: { type: 'object' } }] }] }
  const seen: Seen[] = []
  for (let turn = 0; turn < turns; turn++) {
    const request = { model: 'gemini-2.5-pro', contents, config }
    const parts: NonNullable<Content['parts']> = []
    if (stream) {
      for await (const chunk of await client.models.generateContentStream(request)) {
        parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []).filter((part) => part.text !== ''))
      }
    } else parts.push(...((await client.models.generateContent(request)).candidates?.[0]?.content?.parts ?? []))
    const uses = parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]))
    seen.push({ text: parts.map((part) => part.text ?? '').join(''), calls: uses.map((use) => use.name ?? '') })
    contents.push({ role: 'model', parts })
    contents.push({
      role: 'user',
      parts:
        uses.length > 0
          ? uses.map(({ id = '', name = '' }) => ({ functionResponse: { id, name, response: { output: LOG } } }))
          : [{ text: 'Go on.' }],
    })
  }
  return seen
}

const AGENTS: readonly (readonly [Wire, Agent])[] = [
  ['anthropic-messages', anthropic],
  ['openai-chat', chat],
  ['openai-responses', responses],
  ['gemini', gemini],
]

/** Instructions as long as those of a coding agent: beside them one short tool is no price, and it is declared from the first request on. */
const HEAD = Array.from({ length: 1_200 }, (_, i) => `Rule ${i}: keep module ${i % 37} apart from ${i % 11}.`).join(
  '\n',
)

const bash = { name: 'bash', parameters: { type: 'object' } }
const user = { role: 'user', content: 'Go' }
const STREAMED: Readonly<Record<Wire, { readonly path: string; readonly body: object }>> = {
  'anthropic-messages': {
    path: '/v1/messages',
    body: {
      model: 'claude-opus-4-6',
      max_tokens: 100,
      stream: true,
      system: HEAD,
      tools: [{ name: 'bash', input_schema: { type: 'object' } }],
      messages: [user],
    },
  },
  'openai-chat': {
    path: '/v1/chat/completions',
    body: {
      model: 'gpt-4.1',
      stream: true,
      tools: [{ type: 'function', function: bash }],
      messages: [{ role: 'system', content: HEAD }, user],
    },
  },
  'openai-responses': {
    path: '/v1/responses',
    body: {
      model: 'gpt-5.2',
      stream: true,
      store: false,
      instructions: HEAD,
      tools: [{ type: 'function', strict: false, ...bash }],
      input: [user],
    },
  },
  gemini: {
    path: '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    body: {
      systemInstruction: { parts: [{ text: HEAD }] },
      contents: [{ role: 'user', parts: [{ text: 'Go' }] }],
      tools: [{ functionDeclarations: [{ name: 'bash', parametersJsonSchema: { type: 'object' } }] }],
    },
  },
}

const bodyOf = (turn: BrainTurn): string => JSON.stringify(turn.body)

/** bash → a log too long to show → grep it unseen → say what was found → go on. */
function investigate(turn: BrainTurn): Answer {
  const [handle] = handlesIn(bodyOf(turn))
  switch (turn.number) {
    case 1:
      return call('bash', { command: 'cat app.log' }, 'Reading the log.')
    case 2:
      return call('artifact_grep', { handle: handle!, pattern: 'FATAL' }, 'Looking closer. ')
    case 3:
      return call('artifact_read', { handle: handle!, start: 2_346, count: 1 })
    case 4:
      return say(bodyOf(turn).includes('2346') && bodyOf(turn).includes('FATAL pool exhausted') ? 'Found it.' : 'Lost.')
    default:
      return say(`Still here: ${turn.number}.`)
  }
}

const ours = { name: 'recall', input: { query: 'fail' } }
const theirs = { name: 'bash', input: { command: 'ls' } }

/** Answers in which calls of ours stand behind text, between texts, and beside calls of the client's own. */
const MIXED: readonly (readonly [string, readonly Answer[]])[] = [
  ['text, ours; text, theirs', [calls([ours], 'Searching. '), calls([theirs], 'Run.')]],
  ['text, ours; theirs', [calls([ours], 'Searching. '), calls([theirs])]],
  ['ours; text, theirs', [calls([ours]), calls([theirs], 'Run.')]],
  ['text, ours; text, theirs, ours', [calls([ours], 'Searching. '), calls([theirs, ours], 'Run.')]],
  ['text, ours; text, ours; theirs twice', [calls([ours], 'a '), calls([ours], 'b '), calls([theirs, theirs])]],
  ['text, ours; text, ours; text', [calls([ours], 'a '), calls([ours], 'b '), say('c')]],
]

/** What the upstream got once stays in every later request, in the same place. */
function expectGrowth({ referee }: Stage): void {
  const histories = referee.log.map(({ body }) => {
    const fields = body as Record<string, readonly unknown[] | undefined>
    return fields['messages'] ?? fields['contents'] ?? fields['input'] ?? []
  })
  for (const [i, history] of histories.entries()) {
    const before = histories[i - 1] ?? []
    expect(history.slice(0, before.length)).toEqual(before)
  }
}

describe.each(AGENTS)('hidden steps on %s', (wire, agent) => {
  describe.each(WAYS)('through the %s', (way) => {
    it.each([true, false])('answers our tools unseen (streamed: %s)', async (stream) => {
      const on = await stage(way, {
        referee: { wire, script: investigate, window: 32_000 },
        plimsoll: { window: 32_000 },
      })
      const seen = await agent(on, stream, 4)
      expect(seen.map(({ calls: names }) => names)).toEqual([['bash'], [], [], []])
      expect(seen[1]!.text.replace('|', '')).toBe('Looking closer. Found it.')
      expect(on.referee.summary()).toMatchObject({ answered: 6, invalid: 0, overflows: 0 })
      // The step is back in every later request, in the same place, byte for byte.
      const later = on.referee.log.slice(-2).map((exchange) => Buffer.from(exchange.raw).toString())
      for (const body of later) {
        expect(body).toContain('artifact_grep')
        expect(body).toContain('FATAL pool exhausted')
      }
      const last = on.referee.log.at(-1)!
      expect(last.prefix).toMatchObject({ broke: false })
      expectGrowth(on)
    })

    it('answers a call of ours beside the client’s own on the next request', async () => {
      const script = (turn: BrainTurn): Answer => {
        if (turn.number === 1) return call('bash', { command: 'cat app.log' })
        const [handle] = handlesIn(bodyOf(turn))
        if (turn.number === 2) {
          return calls(
            [
              { name: 'bash' },
              { name: 'artifact_grep', input: { handle: handle!, pattern: 'FATAL' } },
              { name: 'bash' },
            ],
            'All at once.',
          )
        }
        return say(bodyOf(turn).includes('FATAL pool exhausted') ? 'Found it.' : 'Lost.')
      }
      const on = await stage(way, { referee: { wire, script, window: 64_000 }, plimsoll: { window: 64_000 } })
      const seen = await agent(on, true, 4)
      expect(seen.map(({ calls: names }) => names)).toEqual([['bash'], ['bash', 'bash'], [], []])
      expect(seen[2]!.text).toBe('Found it.')
      expect(on.referee.summary()).toMatchObject({ answered: 4, invalid: 0 })
      expectGrowth(on)
    })

    it.each(MIXED)('puts text before and between our calls back as it was: %s', async (_name, answers) => {
      const script = (turn: BrainTurn): Answer => answers[turn.number - 1] ?? say(`Answer ${turn.number}.`)
      const on = await stage(way, { referee: { wire, script, window: 64_000 }, plimsoll: { window: 64_000 } })
      await agent(on, true, 3)
      expect(on.referee.summary()).toMatchObject({ invalid: 0, overflows: 0 })
      expectGrowth(on)
    })

    it('asks once more without our tools after four steps', async () => {
      const declared: (readonly string[])[] = []
      const script = (turn: BrainTurn): Answer => {
        if (turn.number === 1) return call('bash', { command: 'cat app.log' })
        if (turn.number > 6) return say('On.')
        declared.push(turn.tools)
        const isThere = turn.tools.includes('recall')
        return isThere ? call('recall', { query: 'fail' }, turn.number === 2 ? 'Hm. ' : undefined) : say('Enough.')
      }
      const on = await stage(way, { referee: { wire, script, window: 32_000 }, plimsoll: { window: 32_000 } })
      const seen = await agent(on, true, 3)
      expect(seen[1]).toEqual({ text: expect.stringMatching(/^Hm\. \|?Enough\.$/) as string, calls: [] })
      // Five answers for the second request: four that read and the one that the client gets.
      expect(on.referee.summary()).toMatchObject({ answered: 7, invalid: 0, overflows: 0 })
      expect(declared.map((names) => names.includes('recall'))).toEqual([true, true, true, true, false])
      expect(seen[2]!.text).toBe('On.')
    })
  })
})

describe.each(AGENTS)('hidden steps on %s through compactions', (wire, agent) => {
  it.each([true, false])(
    'stay valid when they are shortened and folded themselves (streamed: %s)',
    async (stream) => {
      const script = (turn: BrainTurn): Answer => {
        const [handle] = handlesIn(bodyOf(turn))
        const read =
          handle === undefined ? ours : { name: 'recall', input: { handle, start: turn.number * 50, count: 60 } }
        if (turn.number % 5 === 3) return calls([read], `Reading ${turn.number}. `)
        if (turn.number % 5 === 4) return calls([theirs, ours], 'Both. ')
        return call('bash', { step: turn.number }, `Step ${turn.number}.`)
      }
      const on = await stage('fetch', { referee: { wire, script, window: 24_000 }, plimsoll: { window: 24_000 } })
      await agent(on, stream, 40)
      expect(on.referee.summary()).toMatchObject({ invalid: 0, overflows: 0 })
      expect(on.events.filter(({ type }) => type === 'epoch-declared').length).toBeGreaterThan(0)
    },
    120_000,
  )
})

describe('hidden steps', () => {
  it.each(AGENTS.map(([wire]) => wire))('leave a stream of %s as it is when nothing is hidden in it', async (wire) => {
    const options = {
      wire,
      script: [calls([{ name: 'bash', input: { command: 'ls “höhe” 🚀' } }, { name: 'bash' }], 'Ich prüfe 🚢.')],
      chunkBytes: 7,
      keepAliveEvery: 2,
      clock: { now: () => 1_700_000_000_000 },
    }
    const { path, body } = STREAMED[wire]
    const init = {
      method: 'POST',
      headers: {
        'x-api-key': 'k',
        authorization: 'Bearer k',
        'x-goog-api-key': 'k',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify(body),
    }
    const on = await stage('fetch', { referee: options })
    const through = await on.call(path, init)
    const sent = Buffer.from(on.referee.log[0]!.raw).toString()
    expect(sent).toContain('"recall"')
    const direct = await createReferee(options).fetch(`http://referee.test${path}`, { ...init, body: sent })
    expect(await through.text()).toBe(await direct.text())
  })

  it('keep signed thinking where it was', async () => {
    const script = (turn: BrainTurn): Answer => think(`Thought ${turn.number}.`, investigate(turn))
    const on = await stage('fetch', {
      referee: { wire: 'openai-responses', script, window: 32_000 },
      plimsoll: { window: 32_000 },
    })
    const seen = await responses(on, true, 4)
    expect(seen[1]!.text).toBe('Looking closer. |Found it.')
    expect(on.referee.summary()).toMatchObject({ answered: 6, invalid: 0 })
  })

  it('find their place again when a client merges what it was streamed', async () => {
    const script = (turn: BrainTurn): Answer =>
      [calls([ours], 'a '), calls([ours], 'b '), calls([theirs], 'c')][turn.number - 1] ?? say('Done.')
    const on = await stage('fetch', { referee: { wire: 'gemini', script, window: 64_000 } })
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: on.base, fetch: on.fetch! } })
    const config = { tools: [{ functionDeclarations: [{ name: 'bash', parametersJsonSchema: { type: 'object' } }] }] }
    const contents: Content[] = [
      { role: 'user', parts: [{ text: `Why does it fail? ${'The log says no. '.repeat(2_500)}` }] },
    ]
    const parts: NonNullable<Content['parts']> = []
    for await (const chunk of await client.models.generateContentStream({ model: 'gemini-2.5-pro', contents, config }))
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
    const text = parts.map((part) => part.text ?? '').join('')
    const uses = parts.filter(({ functionCall }) => functionCall !== undefined)
    expect(text).toBe('a b c')
    contents.push({ role: 'model', parts: [{ text }, ...uses] })
    const { id = '', name = '' } = uses[0]!.functionCall!
    contents.push({ role: 'user', parts: [{ functionResponse: { id, name, response: { output: 'ok' } } }] })
    await client.models.generateContent({ model: 'gemini-2.5-pro', contents, config })
    expect(on.referee.summary()).toMatchObject({ answered: 4, invalid: 0 })
    expectGrowth(on)
  })

  it('are the same bytes after a restart', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-hidden-'))
    const store = `sqlite:${join(folder, 'p.db')}`
    const bodies = async (restartAfter: number | undefined): Promise<string[]> => {
      const own = restartAfter === undefined ? 'memory:' : store
      const on = await stage('fetch', {
        referee: { wire: 'anthropic-messages', script: investigate, window: 32_000 },
        plimsoll: { window: 32_000, store: own },
      })
      await anthropic(restartAfter === undefined ? on : await restarting(on, own, restartAfter), true, 4)
      return on.referee.log.map((exchange) => Buffer.from(exchange.raw).toString())
    }
    expect(await bodies(3)).toEqual(await bodies(undefined))
    rmSync(folder, { recursive: true, force: true })
  })
})

/** The same stage behind a Plimsoll that is thrown away and opened again after so many requests. */
async function restarting(on: Stage, store: string, after: number): Promise<Stage> {
  const { createPlimsoll } = await import('../../src/index.ts')
  const open = () =>
    createPlimsoll({ store, secret: Buffer.from('the same for both ways'), window: 32_000, fetch: on.referee.fetch })
  await on.plimsoll.close()
  let current = open()
  let count = 0
  return {
    ...on,
    fetch: async (input, init) => {
      if (count++ === after) {
        await current.close()
        current = open()
      }
      return current.fetch(input, init)
    },
  }
}
