import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { chooseProvider, openProvider } from '../../src/cli/chat/model.ts'
import {
  call,
  calls,
  say,
  startReferee,
  think,
  type RunningReferee,
  type Script,
  type Wire,
} from '../../src/testing/referee/index.ts'
import { commonPrefix } from '../../src/core/values.ts'
import { plimsoll, temporaryHome, type Ran } from './support/binary.ts'

let home: string
let remove: () => Promise<void>
let vendor: RunningReferee | undefined
beforeEach(async () => {
  ;({ path: home, remove } = await temporaryHome())
  writeFileSync(join(home, 'a.txt'), 'alpha\n')
})
afterEach(async () => {
  await vendor?.close()
  vendor = undefined
  await remove()
})

interface Case {
  readonly name: string
  readonly wire: Wire
  readonly args: readonly string[]
  readonly env: (url: string) => Readonly<Record<string, string>>
}

const CASES: readonly Case[] = [
  {
    name: 'anthropic',
    wire: 'anthropic-messages',
    args: ['--provider', 'anthropic'],
    env: (url) => ({ ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: url }),
  },
  {
    name: 'openai',
    wire: 'openai-chat',
    args: [],
    env: (url) => ({ OPENAI_API_KEY: 'key', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'gpt-4o' }),
  },
  {
    name: 'gemini',
    wire: 'gemini',
    args: ['--model', 'gemini-2.5-flash'],
    env: (url) => ({ GEMINI_API_KEY: 'key', GOOGLE_GEMINI_BASE_URL: url }),
  },
  {
    name: 'ollama',
    wire: 'openai-chat',
    args: [],
    env: (url) => ({ OLLAMA_HOST: url, OLLAMA_MODEL: 'qwen2.5:7b', OLLAMA_CONTEXT_LENGTH: '32000' }),
  },
]

async function chat(
  { wire, args, env }: Case,
  script: Script,
  prompts: readonly string[],
  window = 100_000,
): Promise<Ran> {
  vendor = await startReferee({ wire, window, script })
  const input = prompts.map((prompt) => `${prompt}\n`).join('')
  return plimsoll(home, ['chat', '--allow', 'run_shell,edit_file', ...args], { env: env(vendor.url), input })
}

describe.each(CASES)('chat with $name', (one) => {
  it('calls tools, in parallel too, and goes on with their results', async () => {
    const script: Script = ({ number }) =>
      number === 1
        ? calls([
            { name: 'read_file', input: { path: 'a.txt' } },
            { name: 'run_shell', input: { command: 'echo beta' } },
          ])
        : number === 2
          ? call('edit_file', { path: 'b.txt', old: '', new: 'gamma' }, 'Now I write.')
          : say(`done ${number}`)
    const { code, out, err } = await chat(one, script, ['first', 'second'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('done 3')
    expect(out).toContain('done 4')
    expect(vendor!.summary()).toMatchObject({ overflows: 0, invalid: 0 })
    const last = Buffer.from(vendor!.log.at(-1)!.raw).toString()
    for (const text of ['alpha', 'beta', 'Created b.txt', 'Now I write.', 'done 3', 'second'])
      expect(last).toContain(text)
  })

  it('stays valid and inside a small window over many turns', async () => {
    writeFileSync(
      join(home, 'long.txt'),
      Array.from({ length: 120 }, (_, i) => `line ${i} of a file that is read again and again`).join('\n'),
    )
    const script: Script = ({ number }) =>
      number % 2 === 1 ? call('read_file', { path: 'long.txt' }) : say(`read ${number}`)
    const { code, err } = await chat(
      { ...one, args: [...one.args, '--window', '9000'] },
      script,
      Array.from({ length: 12 }, (_, i) => `again ${i}`),
      9_000,
    )
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(vendor!.log).toHaveLength(24)
    expect(vendor!.summary()).toMatchObject({ overflows: 0, invalid: 0 })
  })

  it('learns the real window from a refusal, and answers all the same', async () => {
    writeFileSync(
      join(home, 'long.txt'),
      Array.from({ length: 300 }, (_, i) => `line ${i} of a file that is read again and again`).join('\n'),
    )
    const script: Script = ({ number }) =>
      number % 2 === 1 ? call('read_file', { path: 'long.txt' }) : say(`read ${number}`)
    const prompts = Array.from({ length: 6 }, (_, i) => `again ${i}`)
    const { code, out } = await chat({ ...one, args: [...one.args, '--window', '60000'] }, script, prompts, 12_000)
    expect(code).toBe(0)
    expect(out).toContain('The provider found the request too large; it is reduced and sent again.')
    expect(out).toContain('read 12')
    expect(vendor!.summary()).toMatchObject({ invalid: 0 })
  })
})

const ACCOUNT = 'State: half of long.txt is read. Next: read the rest of long.txt.'
const ASKED = 'is about to leave the context window'

describe.each(CASES.slice(0, 3))('a summary in band with $name', (one) => {
  const text = Array.from({ length: 120 }, (_, i) => `line ${i} of a file that is read again and again`).join('\n')
  const script: Script = ({ number, body }) =>
    JSON.stringify(body).includes(ASKED)
      ? say(ACCOUNT)
      : number % 2 === 1
        ? call('read_file', { path: 'long.txt' })
        : say(`read ${number}`)
  const prompts = Array.from({ length: 18 }, (_, i) => `again ${i}`)
  const small = (...args: string[]): Case => ({ ...one, args: [...one.args, '--window', '9000', ...args] })
  const historyOf = (body: string): string => body.slice(body.search(/"(?:messages|contents)":/))
  const bodies = (): string[] => vendor!.log.map(({ raw }) => Buffer.from(raw).toString())

  beforeEach(() => {
    writeFileSync(join(home, 'long.txt'), text)
    writeFileSync(join(home, 'in-band.yaml'), 'override: { summaries: { via: in-band } }\n')
  })

  it('is asked for at the model of the chat, behind what it has read, and used from then on', async () => {
    const { code, out, err } = await chat(small('--config', 'in-band.yaml'), script, prompts, 9_000)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const asked = bodies().findIndex((body) => body.includes(ASKED))
    expect(asked).toBeGreaterThan(0)
    const [before, own] = [historyOf(bodies()[asked - 1]!), historyOf(bodies()[asked]!)]
    expect(commonPrefix(before, own)).toBeGreaterThan(0.5 * before.length)
    expect(bodies()[asked + 1]).toContain(ACCOUNT)
    // The client never sees it.
    expect(out).not.toContain(ACCOUNT)
    expect(vendor!.summary()).toMatchObject({ overflows: 0, invalid: 0 })
  })

  it('is not asked for by a policy that writes its summaries without a model', async () => {
    expect(await chat(small(), script, prompts, 9_000)).toMatchObject({ code: 0 })
    expect(bodies().filter((body) => body.includes(ASKED))).toEqual([])
    expect(bodies().at(-1)).toContain('Condensed record')
  })
})

describe('chat and its provider', () => {
  it('gives thoughts of Gemini back where they were', async () => {
    const script: Script = ({ number }) =>
      number === 1 ? think('hm', call('read_file', { path: 'a.txt' })) : say('done')
    const { code, out } = await chat(CASES[2]!, script, ['go', 'on'])
    expect(code).toBe(0)
    expect(out).toContain('done')
    expect(vendor!.summary()).toMatchObject({ invalid: 0 })
  })

  it('says what the provider said, and what to do about it', async () => {
    vendor = await startReferee({ wire: 'anthropic-messages', apiKey: 'right' })
    const { code, err } = await plimsoll(home, ['chat', '-p', 'hello'], {
      env: { ANTHROPIC_API_KEY: 'wrong', ANTHROPIC_BASE_URL: vendor.url },
    })
    expect(code).toBe(1)
    expect(err).toContain('anthropic answers 401')
    expect(err).toContain('Check the key')
    const gone = await plimsoll(home, ['chat', '-p', 'hello'], {
      env: { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' },
    })
    expect(gone.code).toBe(1)
    expect(gone.err).toContain('plimsoll doctor does both')
  })

  it('tries a throttled request again', async () => {
    vendor = await startReferee({
      wire: 'anthropic-messages',
      faults: [{ on: 1, fault: { kind: 'throttle', retryAfterSeconds: 1 } }],
      script: [say('after all')],
    })
    const { code, out } = await plimsoll(home, ['chat', '-p', 'hello'], {
      env: { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: vendor.url },
    })
    expect(code).toBe(0)
    expect(out).toContain('after all')
    expect(out).toContain('anthropic answers 429; trying again in 1 s')
  })

  it('is chosen by what is set: a wish, an address, a key for the model, any key, Ollama, else the demo', () => {
    expect(chooseProvider({}, {})).toBe('demo')
    expect(chooseProvider({ provider: 'gemini' }, { OPENAI_API_KEY: 'k' })).toBe('gemini')
    expect(chooseProvider({ baseUrl: 'http://x' }, {})).toBe('compatible')
    expect(chooseProvider({ model: 'gemini-2.5-pro' }, { ANTHROPIC_API_KEY: 'k', GOOGLE_API_KEY: 'k' })).toBe('gemini')
    expect(chooseProvider({}, { OPENAI_API_KEY: 'k', GEMINI_API_KEY: 'k' })).toBe('openai')
    expect(chooseProvider({}, { OLLAMA_MODEL: 'm' })).toBe('ollama')
    expect(chooseProvider({}, { ANTHROPIC_API_KEY: '' })).toBe('demo')
    expect(() => openProvider({ provider: 'ollama' }, {})).toThrow('Add --model')
    expect(openProvider({ provider: 'ollama', model: 'm' }, {})).toMatchObject({
      baseUrl: 'http://127.0.0.1:11434/v1',
      window: 4096,
    })
    expect(openProvider({ provider: 'anthropic' }, { ANTHROPIC_AUTH_TOKEN: 't' }).headers).toMatchObject({
      authorization: 'Bearer t',
    })
  })
})
