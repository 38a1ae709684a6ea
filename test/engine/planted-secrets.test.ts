import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import type { Fetch } from '../../src/gateway/fetch.ts'

/** Made here, so that no scanner takes this file for a leak. `n` keeps the plants of one place apart from those of another. */
const letters = (n: number, length: number, alphabet = 'abcdefghijklmnopqrstuvwxyz'): string =>
  Array.from({ length }, (_, i) => alphabet[(n * 31 + i * i * 7 + i * 13 + (n % 17) * i) % alphabet.length]).join('')
const word = (n: number, length: number): string => letters(n, length, 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ')

/** What stands around a secret, and the secret itself. */
type Plant = (n: number) => { readonly text: string; readonly secret: string }
const plant =
  (make: (n: number) => string, put: (secret: string) => string): Plant =>
  (n) => {
    const secret = make(n)
    return { text: put(secret), secret }
  }

const PLANTS: readonly Plant[] = [
  plant(
    (n) => `ghp_${word(n, 36)}`,
    (s) => `remote:\n${s}\ndone`,
  ),
  plant(
    (n) => `AKIA${letters(n, 16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`,
    (s) => `id\t${s}\tend`,
  ),
  plant(
    (n) => `sk-proj-${word(n, 48)}`,
    (s) => `{"env":"A=1\\nOPENAI=${s}\\n"}`,
  ),
  plant(
    (n) => `xoxb-${letters(n, 24, '123456789')}`,
    (s) => JSON.stringify({ deep: JSON.stringify({ a: `x\n${s}` }) }),
  ),
  plant(
    (n) => letters(n, 14),
    (s) => `mysql://db?password=${s}&x=1`,
  ),
  plant(
    (n) => letters(n, 15),
    (s) => `DB_PASSWORD=${s}\nOTHER=1`,
  ),
  plant(
    (n) => letters(n, 12),
    (s) => `"password": "${s}",`,
  ),
  plant(
    (n) => letters(n, 13),
    (s) => `auth:\n  password: ${s}\n  port: 1`,
  ),
  plant(
    (n) => letters(n, 11),
    (s) => `$ curl -s -u admin:${s} https://intern.example/x`,
  ),
  plant(
    (n) => letters(n, 16),
    (s) => `curl --user "bob:${s}" https://intern.example`,
  ),
  plant(
    (n) => word(n, 30),
    (s) => `> Cookie: theme=dark; sid=${s}\n> Accept: */*`,
  ),
  plant(
    (n) => word(n, 32),
    (s) => `< set-cookie: session=${s}; Path=/; HttpOnly`,
  ),
  plant(
    (n) => letters(n, 10),
    (s) => `machine api.example login me password ${s}\n`,
  ),
  plant(
    (n) => letters(n, 17),
    (s) => `machine git.example\n  login you\n  password ${s}\n`,
  ),
  plant(
    (n) => word(n, 64),
    (s) => `-----BEGIN OPENSSH PRIVATE KEY-----\n${s}\n${s}\n-----END OPENSSH PRIVATE KEY-----`,
  ),
  plant(
    (n) => word(n, 60),
    (s) => `{"pem":"-----BEGIN PRIVATE KEY-----\\n${s}\\n-----END PRIVATE KEY-----\\n"}`,
  ),
  plant(
    (n) => word(n, 28),
    (s) => `Authorization: Bearer ${s}`,
  ),
  plant(
    (n) => letters(n, 18),
    (s) => `redis://cache:${s}@10.0.0.1/0`,
  ),
]

/** All of them for one place, with ordinary words around so that views have something to show. */
function plants(place: number): { readonly text: string; readonly secrets: readonly string[] } {
  const made = PLANTS.map((one, i) => one(place * 101 + i * 7 + 3))
  return {
    text: made.map(({ text }, i) => `Step ${i} of place ${place} went on.\n${text}`).join('\n'),
    secrets: made.map(({ secret }) => secret),
  }
}

const tools = { type: 'object', properties: { command: { type: 'string' } } }
const FILLER = (i: number): string =>
  Array.from({ length: 60 }, (_, n) => `log ${i} line ${n}: all went well here`).join('\n')

interface WireCase {
  readonly url: string
  /** A history with a plant in every field that can hold text, and `turns` of work behind it. */
  readonly body: (at: (field: number) => string, turns: number) => object
  /** The model's answers: first a call of ours with plants in its arguments, then words with plants. */
  readonly call: (name: string, args: object) => object
  readonly say: (text: string) => object
}

const WIRES: Readonly<Record<string, WireCase>> = {
  'anthropic-messages': {
    url: 'https://api.anthropic.com/v1/messages',
    body: (at, turns) => ({
      model: 'claude-sonnet-4-5',
      max_tokens: 100,
      system: at(0),
      tools: [{ name: 'bash', description: at(1), input_schema: tools }],
      messages: [
        { role: 'user', content: at(2) },
        ...Array.from({ length: turns }, (_, i) => [
          {
            role: 'assistant',
            content: [
              { type: 'text', text: i === 0 ? at(3) : `I go on with ${i}.` },
              { type: 'tool_use', id: `toolu_${i}`, name: 'bash', input: { command: i === 0 ? at(4) : `run ${i}` } },
            ],
          },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: `toolu_${i}`,
                content:
                  i === 0
                    ? at(5)
                    : i === 1
                      ? [{ type: 'text', text: at(6) }]
                      : i === 2
                        ? JSON.stringify({ out: at(7) })
                        : FILLER(i),
              },
            ],
          },
        ]).flat(),
      ],
    }),
    call: (name, input) => ({
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'tool_use', id: 'toolu_own', name, input }],
      stop_reason: 'tool_use',
      usage: { input_tokens: 100, output_tokens: 5 },
    }),
    say: (text) => ({
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 100, output_tokens: 5 },
    }),
  },
  'openai-chat': {
    url: 'https://api.openai.com/v1/chat/completions',
    body: (at, turns) => ({
      model: 'gpt-4o',
      tools: [{ type: 'function', function: { name: 'bash', description: at(1), parameters: tools } }],
      messages: [
        { role: 'system', content: at(0) },
        { role: 'user', content: [{ type: 'text', text: at(2) }] },
        ...Array.from({ length: turns }, (_, i) => [
          {
            role: 'assistant',
            content: i === 0 ? at(3) : null,
            tool_calls: [
              {
                id: `c${i}`,
                type: 'function',
                function: { name: 'bash', arguments: JSON.stringify({ command: i === 0 ? at(4) : `run ${i}` }) },
              },
            ],
          },
          {
            role: 'tool',
            tool_call_id: `c${i}`,
            content: i === 0 ? at(5) : i === 1 ? at(6) : i === 2 ? JSON.stringify({ out: at(7) }) : FILLER(i),
          },
        ]).flat(),
      ],
    }),
    call: (name, args) => ({
      id: 'x',
      object: 'chat.completion',
      model: 'gpt-4o',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'own', type: 'function', function: { name, arguments: JSON.stringify(args) } }],
          },
        },
      ],
      usage: { prompt_tokens: 100, completion_tokens: 5 },
    }),
    say: (content) => ({
      id: 'x',
      object: 'chat.completion',
      model: 'gpt-4o',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
      usage: { prompt_tokens: 100, completion_tokens: 5 },
    }),
  },
  'openai-responses': {
    url: 'https://api.openai.com/v1/responses',
    body: (at, turns) => ({
      model: 'gpt-4o',
      store: false,
      instructions: at(0),
      tools: [{ type: 'function', name: 'bash', description: at(1), parameters: tools }],
      input: [
        { role: 'user', content: [{ type: 'input_text', text: at(2) }] },
        { role: 'assistant', content: [{ type: 'output_text', text: at(3) }] },
        ...Array.from({ length: turns }, (_, i) => [
          {
            type: 'function_call',
            call_id: `c${i}`,
            name: 'bash',
            arguments: JSON.stringify({ command: i === 0 ? at(4) : `run ${i}` }),
          },
          {
            type: 'function_call_output',
            call_id: `c${i}`,
            output: i === 0 ? at(5) : i === 1 ? at(6) : i === 2 ? JSON.stringify({ out: at(7) }) : FILLER(i),
          },
        ]).flat(),
      ],
    }),
    call: (name, args) => ({
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'gpt-4o',
      output: [
        {
          type: 'function_call',
          id: 'fc_1',
          call_id: 'own',
          name,
          arguments: JSON.stringify(args),
          status: 'completed',
        },
      ],
      usage: { input_tokens: 100, output_tokens: 5, total_tokens: 105 },
    }),
    say: (text) => ({
      id: 'resp_2',
      object: 'response',
      status: 'completed',
      model: 'gpt-4o',
      output: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ],
      usage: { input_tokens: 100, output_tokens: 5, total_tokens: 105 },
    }),
  },
  gemini: {
    url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent',
    body: (at, turns) => ({
      systemInstruction: { parts: [{ text: at(0) }] },
      tools: [{ functionDeclarations: [{ name: 'bash', description: at(1) }] }],
      contents: [
        { role: 'user', parts: [{ text: at(2) }] },
        { role: 'model', parts: [{ text: at(3) }] },
        { role: 'user', parts: [{ text: 'go on' }] },
        ...Array.from({ length: turns }, (_, i) => [
          {
            role: 'model',
            parts: [{ functionCall: { name: 'bash', args: { command: i === 0 ? at(4) : `run ${i}` } } }],
          },
          {
            role: 'user',
            parts: [
              {
                functionResponse: {
                  name: 'bash',
                  response: {
                    output: i === 0 ? at(5) : i === 1 ? at(6) : i === 2 ? JSON.stringify({ out: at(7) }) : FILLER(i),
                  },
                },
              },
            ],
          },
        ]).flat(),
      ],
    }),
    call: (name, args) => ({
      candidates: [
        { index: 0, content: { role: 'model', parts: [{ functionCall: { name, args } }] }, finishReason: 'STOP' },
      ],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 5, totalTokenCount: 105 },
    }),
    say: (text) => ({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 5, totalTokenCount: 105 },
    }),
  },
  'ollama-chat': {
    url: 'http://localhost:11434/api/chat',
    body: (at, turns) => ({
      model: 'llama3.1',
      stream: false,
      tools: [{ type: 'function', function: { name: 'bash', description: at(1), parameters: tools } }],
      messages: [
        { role: 'system', content: at(0) },
        { role: 'user', content: at(2) },
        ...Array.from({ length: turns }, (_, i) => [
          {
            role: 'assistant',
            content: i === 0 ? at(3) : '',
            tool_calls: [{ function: { name: 'bash', arguments: { command: i === 0 ? at(4) : `run ${i}` } } }],
          },
          {
            role: 'tool',
            tool_name: 'bash',
            content: i === 0 ? at(5) : i === 1 ? at(6) : i === 2 ? JSON.stringify({ out: at(7) }) : FILLER(i),
          },
        ]).flat(),
      ],
    }),
    call: (name, args) => ({
      model: 'llama3.1',
      message: { role: 'assistant', content: '', tool_calls: [{ function: { name, arguments: args } }] },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 100,
      eval_count: 5,
    }),
    say: (content) => ({
      model: 'llama3.1',
      message: { role: 'assistant', content },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 100,
      eval_count: 5,
    }),
  },
}

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )

/** Runs a session with plants everywhere, and gives back the bytes of everything that was written. */
async function stored(wire: WireCase, redact: boolean): Promise<{ readonly bytes: string; readonly sent: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-planted-'))
  try {
    const sent: string[] = []
    let answers = 0
    const upstream: Fetch = async (_input, init) => {
      sent.push(Buffer.from(init!.body as Uint8Array).toString())
      const isOurs = answers++ === 1
      const answer = isOurs
        ? wire.call('recall', { query: plants(20).text })
        : wire.say(answers % 2 === 0 ? plants(21).text : plants(22).text)
      return new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } })
    }
    const plimsoll = createPlimsoll({
      store: `sqlite:${join(folder, 'p.db')}`,
      artifacts: `file:${join(folder, 'artifacts')}`,
      window: 24_000,
      redact,
      fetch: upstream,
    })
    for (const turns of [3, 5, 8, 40]) {
      const response = await plimsoll.fetch(wire.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'x-plimsoll-session': 's' },
        body: JSON.stringify(wire.body((field) => plants(field).text, turns)),
      })
      expect(response.status, await response.clone().text()).toBe(200)
      await response.text()
    }
    const session = plimsoll.session({ id: 'verbs' })
    await session.toolResult({ tool: 'bash', callId: 'v', output: plants(30).text.repeat(40) })
    await plimsoll.close()
    return {
      bytes: filesIn(folder)
        .map((file) => readFileSync(file, 'latin1'))
        .join('\n'),
      sent,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const places = [...Array.from({ length: 8 }, (_, i) => i), 20, 21, 22, 30]

describe('secrets planted in every field', () => {
  it.each(Object.keys(WIRES))('are in no byte that is stored, on %s', async (name) => {
    const { bytes, sent } = await stored(WIRES[name]!, true)
    const left = places.flatMap((place) =>
      plants(place).secrets.flatMap((secret, i) => (bytes.includes(secret) ? [`place ${place}, plant ${i}`] : [])),
    )
    expect(left).toEqual([])
    // What the client sends is the client's: the first request left as it came.
    expect(sent[0]).toContain(plants(2).secrets[0])
    expect(bytes).toContain('[redacted:')
  })

  it('would be found, if they were there', async () => {
    const { bytes } = await stored(WIRES['anthropic-messages']!, false)
    const found = (place: number): boolean => plants(place).secrets.every((secret) => bytes.includes(secret))
    // Instructions and tools stand outside the archive, and an answer is archived when the client sends it back.
    expect(places.filter((place) => !found(place))).toEqual([0, 1, 21, 22])
  })
})
