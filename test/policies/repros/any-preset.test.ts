import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { createReferee, call as calls } from '../../../src/testing/referee/index.ts'
import { open, step, tool, words, type ChatMessage } from './chat.ts'

const run = promisify(execFile)
const SRC = join(import.meta.dirname, '../../../src')
const made: string[] = []
const folder = async (): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'presets-'))
  made.push(path)
  return path
}
afterAll(async () => {
  for (const path of made) await rm(path, { recursive: true, force: true })
})

const program = async (text: string, env: Record<string, string> = {}) => {
  const file = join(await folder(), 'program.mts')
  await writeFile(file, text)
  return run(process.execPath, ['--import', 'tsx', file], {
    cwd: join(SRC, '..'),
    env: { ...process.env, ...env },
    timeout: 50_000,
  })
}
const IMPORTS = `
import { createPlimsoll } from ${JSON.stringify(join(SRC, 'index.ts'))}
import { policyNamed } from ${JSON.stringify(join(SRC, 'engine/presets/index.ts'))}
const step = (n) => [
  { role: 'assistant', content: null, tool_calls: [{ id: 'k' + n, type: 'function', function: { name: 'shell', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: 'k' + n, content: ('line ' + n + ' of the output. ').repeat(400) },
]
const messages = [{ role: 'user', content: 'Assess example.com' }, ...Array.from({ length: 33 }, (_, n) => step(n)).flat()]
`

describe('b4: the deadline of a summarizer', () => {
  it('holds in a process that nothing else keeps alive', async () => {
    const { stdout } = await program(`${IMPORTS}
const plimsoll = createPlimsoll({
  store: 'memory:', artifacts: 'memory:',
  policy: { ...policyNamed('cyber-autoagent', {}), timeMs: 500 },
  summarizer: () => new Promise(() => {}),
})
const target = { model: 'claude-sonnet-4-5', window: 100_000 }
const turn = await plimsoll.session({ id: 'a' }).prepare({ format: 'openai-chat', body: { model: target.model, messages }, targets: [target] })
console.log('done', turn.epoch !== undefined)
await plimsoll.close()
`)
    expect(stdout).toBe('done true\n')
  })
})

describe('CONTEXT_DEBUG=true', () => {
  it('prints the topics of ai-agent from the library, and nothing without it', async () => {
    const text = `${IMPORTS}
const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', policy: 'ai-agent' })
await plimsoll.session({ id: 'a' }).prepare({ format: 'openai-chat', body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }], max_tokens: 16384 }, targets: [{ model: 'gpt-4o', provider: 'openai', window: 128_000 }] })
await plimsoll.close()
`
    const { stderr } = await program(text, { CONTEXT_DEBUG: 'true' })
    expect(stderr).toContain(
      'context-guard/evaluate-target {"provider":"openai","model":"gpt-4o","contextWindow":128000,"bufferTokens":8192,"maxOutputTokens":16384,"limit":103424}',
    )
    const topics = ['init-counters', 'loop-init', 'schema-estimate', 'evaluate', 'provider-eval', 'build-metrics']
    for (const topic of topics) expect(stderr).toContain(`context-guard/${topic} {`)
    expect((await program(text, { CONTEXT_DEBUG: '' })).stderr).not.toContain('context-guard/')
  })
})

describe('b1, b2: the log of Cyber-AutoAgent', () => {
  it('stands in the file that was asked for, line by line', async () => {
    const file = join(await folder(), 'logs', 'cyber_operations.log')
    const { messages, plimsoll } = open({ policy: 'cyber-autoagent', logFile: file })
    const history: ChatMessage[] = [
      { role: 'user', content: 'Assess example.com' },
      ...Array.from({ length: 30 }, (_, n) => step(`k${n}`, 'shell', { n }, words(9_000, n + 1))).flat(),
    ]
    await messages({ messages: history }, [{ model: 'claude-sonnet-4-5', window: 100_000 }])
    await plimsoll.close()
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    for (const line of lines) expect(line).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z (INFO|WARNING|ERROR) /)
    const said = lines.map((line) => line.replace(/^\S+ /, ''))
    expect(said[0]).toMatch(/^WARNING THRESHOLD EXCEEDED: context=\d+, threshold=65000$/)
    expect(said.some((line) => /^INFO Context reduced via \w+ manager: messages 61->\d+$/.test(line))).toBe(true)
    expect(said).toContain('INFO HOOK REGISTRATION: PromptBudgetHook')
  })
})

describe('k5: constants that fill a small window', () => {
  it('do not make Cyber-AutoAgent summarise with every request', async () => {
    let asked = 0
    const { plimsoll, events } = open({
      policy: 'cyber-autoagent',
      summarizer: async () => {
        asked++
        return 'The first steps, in short.'
      },
    })
    const session = plimsoll.session({ id: 'k' })
    const history: ChatMessage[] = [{ role: 'user', content: 'Task ALPHA' }]
    for (let n = 0; n < 20; n++) {
      history.push(...step(`k${n}`, 'kube', { n }, words(1_000, n + 1)))
      const turn = await session.prepare({
        format: 'openai-chat',
        body: { model: 'gpt-4o', messages: history, max_tokens: 500 },
        targets: [{ model: 'gpt-4o', window: 16_000 }],
      })
      const usage = {
        input: Math.round(JSON.stringify(turn.body).length / 2.7),
        output: 20,
        cacheRead: 0,
        cacheWrite: 0,
        reasoning: 0,
      }
      await session.record({ turn: turn.id, usage })
    }
    // 11,000 of constants are above 65 % of 16,000 before a word was said: what was measured decides.
    expect(events.filter(({ type }) => type === 'epoch-declared')).toEqual([])
    expect(asked).toBe(0)
  })
})

describe('s1: the status after an answer', () => {
  it('counts the answer, which the next request brings along', async () => {
    const { plimsoll } = open({ policy: 'adk-code' })
    const session = plimsoll.session({ id: 's' })
    const turn = await session.prepare({
      format: 'openai-chat',
      body: { model: 'gpt-4o', messages: [{ role: 'user', content: words(20_000) }] },
      targets: [{ model: 'gpt-4o', window: 20_000 }],
    })
    await session.record({
      turn: turn.id,
      usage: { input: 6_000, output: 5_000, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    })
    expect(await session.status()).toMatchObject({ used: 11_000, limit: 18_000, threshold: 14_000 })
  })
})

describe.each(['plimsoll', 'autosre', 'cyber-autoagent', 'contextguard', 'adk-code', 'ai-agent'])(
  'j3: %s behind fetch',
  (policy) => {
    it.each([32_000, 64_000])(
      'goes through 12 calls in a window of %i: nothing refused, nothing too large',
      async (window) => {
        const referee = createReferee({
          wire: 'anthropic-messages',
          window,
          script: ({ number }) => calls('read', { path: `f${number}` }),
          seed: 5,
        })
        const { plimsoll } = open({ policy, window, fetch: referee.fetch })
        const history: unknown[] = [{ role: 'user', content: 'Read everything.' }]
        const statuses: number[] = []
        for (let n = 0; n < 12; n++) {
          const response = await plimsoll.fetch('https://api.anthropic.com/v1/messages', {
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              'x-api-key': 'k',
              'anthropic-version': '2023-06-01',
              'x-plimsoll-session': 's',
            },
            body: JSON.stringify({
              model: 'claude-sonnet-4-5',
              max_tokens: 2_000,
              system: 'You read files.',
              tools: [
                {
                  name: 'read',
                  description: 'reads',
                  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
                },
              ],
              messages: history,
            }),
          })
          statuses.push(response.status)
          const answer = (await response.json()) as { content?: { type: string; id: string }[] }
          if (answer.content === undefined) break
          history.push(
            { role: 'assistant', content: answer.content },
            {
              role: 'user',
              content: answer.content.some(({ type }) => type === 'tool_use')
                ? answer.content
                    .filter(({ type }) => type === 'tool_use')
                    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: words(14_000, n + 1) }))
                : 'Go on.',
            },
          )
        }
        expect(statuses.filter((status) => status !== 200)).toEqual([])
        expect(referee.summary()).toMatchObject({ overflows: 0, invalid: 0 })
      },
    )
  },
)

describe('o3: a provider that names a smaller window', () => {
  it.each(['plimsoll', 'contextguard', 'ai-agent', 'cyber-autoagent', 'autosre', 'adk-code'])(
    '%s: recovered once, known from then on',
    async (policy) => {
      const limit = 12_000
      const sizes: number[] = []
      const upstream = async (_: unknown, init?: { body?: unknown }): Promise<Response> => {
        const body = String(init?.body)
        const tokens = Math.ceil(body.length / 2.7)
        sizes.push(tokens)
        const json = (value: unknown, status: number) =>
          new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json' } })
        if (tokens > limit)
          return json(
            {
              error: {
                message: `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens.`,
                type: 'invalid_request_error',
                param: 'messages',
                code: 'context_length_exceeded',
              },
            },
            400,
          )
        const usage = { prompt_tokens: tokens, completion_tokens: 5, total_tokens: tokens + 5 }
        const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }]
        return json({ id: 'x', object: 'chat.completion', created: 1, model: 'gpt-4o', choices, usage }, 200)
      }
      const { plimsoll } = open({ policy, fetch: upstream as typeof fetch })
      const ask = (steps: number) =>
        plimsoll.fetch('http://upstream.test/v1/chat/completions', {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'x-plimsoll-session': 's' },
          body: JSON.stringify({
            model: 'gpt-4o',
            tools: [tool('x')],
            max_tokens: 300,
            messages: [
              { role: 'user', content: 'task' },
              ...Array.from({ length: steps }, (_, n) => step(`k${n}`, 'x', { n }, words(3_000, n + 1))).flat(),
            ],
          }),
        })
      expect((await ask(20)).status).toBe(200)
      expect(sizes).toHaveLength(2)
      expect((await ask(21)).status).toBe(200)
      expect(sizes).toHaveLength(3)
      expect(sizes[2]).toBeLessThanOrEqual(limit)
    },
  )
})
