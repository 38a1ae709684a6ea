import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { call, chars, model, presetSession, result, textOf, user, type Content } from './session.ts'

/** Every variable of the designs from the process to what leaves: unset, set, and set to something that makes no sense. */

const set: string[] = []
afterEach(() => {
  for (const name of set.splice(0)) delete process.env[name]
})
function setVariable(name: string, value: string | undefined): void {
  if (value === undefined) return
  process.env[name] = value
  set.push(name)
}

const talk = (count: number, length = 40): Content[] =>
  Array.from({ length: count }, (_, n) => (n % 2 === 0 ? user : model)(`${n} ${chars(length)}`))
const cyber = (window = 2_000_000) => presetSession('cyber-autoagent', window)
const items = (count: number, length: number): string =>
  JSON.stringify(Array.from({ length: count }, (_, id) => ({ id, text: chars(length) })))
const isHandled = async (output: string): Promise<boolean> => {
  const { report } = await presetSession('autosre', 1_000_000).prepare([user('Go.'), call('c'), result('c', output)])
  return report.shortened.length > 0
}
/** Where the next reduction starts in a window of 100,000. */
const thresholdOf = async (cached: boolean): Promise<number> => {
  const preset = cyber(100_000)
  const session = preset.plimsoll.session({ id: 's' })
  const turn = await preset.prepare([user('Go.')])
  const usage = { input: 5_000, cacheRead: cached ? 4_000 : 0, cacheWrite: 0, output: 5, reasoning: 0 }
  await session.record({ turn: turn.id, usage })
  return (await session.status()).threshold
}
/** Characters that stand of a result of this length. */
const shownOf = async (length: number): Promise<number> => {
  const shown = await cyber()
    .plimsoll.session({ id: 's' })
    .toolResult({
      tool: 'nmap',
      output: 'y'.repeat(length),
      window: 200_000,
    })
  return [...shown.text.matchAll(/y+/g)].reduce((most, [run]) => Math.max(most, run.length), 0)
}
/** Characters that stay of an old result of 9,999 + 1. */
const compressedTo = async (): Promise<number> => {
  setVariable('CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD', '1000000')
  const history = [user('Go.'), call('c'), result('c', 'y'.repeat(10_000)), ...talk(81).slice(1)]
  const { contents } = await cyber().prepare([...history, user('Next.')])
  return Math.max(...contents.map((content) => (/y{100,}/.exec(textOf(content))?.[0] ?? '').length))
}
/** Messages from the start, and from the end, that stay as they were. */
const keptOf = async (): Promise<{ first: number; last: number }> => {
  const results = Array.from({ length: 55 }, (_, n) => [call(`c${n}`), result(`c${n}`, 'y'.repeat(10_000))]).flat()
  setVariable('CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD', '1000000')
  const history = [user('Go.'), ...results, model('Done.'), user('Next.')]
  const { contents } = await cyber().prepare(history)
  const same = (a: Content | undefined, b: Content | undefined): boolean => JSON.stringify(a) === JSON.stringify(b)
  let first = 0
  while (first < contents.length && same(contents[first], history[first])) first++
  let last = 0
  while (last < contents.length && same(contents.at(-1 - last), history.at(-1 - last))) last++
  return { first, last }
}
const verdictAfter = async (tokens: number): Promise<string> => {
  const preset = presetSession('autosre', 1_000_000)
  const more = { generationConfig: { maxOutputTokens: 1_000 } }
  await preset.usage(await preset.prepare([user('Go.')], more), tokens)
  return (await preset.prepare([user('Go.'), model('Ok.'), user('More.')], more)).verdict.kind
}
const topics = async (): Promise<number> => {
  const preset = presetSession('ai-agent', 100_000)
  await preset.prepare([user('Go.')])
  return preset.events.filter((event) => event.type === 'warning' && event.topic.startsWith('context-guard/')).length
}

interface Row {
  readonly name: string
  readonly effect: () => Promise<unknown>
  readonly unset: unknown
  readonly override: readonly [value: string, effect: unknown]
  readonly invalid: string
}

const ROWS: readonly Row[] = [
  {
    name: 'SRE_AGENT_TOKEN_BUDGET',
    effect: () => verdictAfter(6_000),
    unset: 'proceed',
    override: ['5000', 'final'],
    invalid: 'many',
  },
  {
    name: 'SRE_AGENT_LARGE_PAYLOAD_ENABLED',
    effect: () => isHandled(items(60, 20)),
    unset: true,
    override: ['false', false],
    invalid: 'maybe',
  },
  {
    name: 'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS',
    effect: () => isHandled(items(8, 2_000)),
    unset: false,
    override: ['5', true],
    invalid: 'five',
  },
  {
    name: 'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS',
    effect: () => isHandled(items(40, 2_000)),
    unset: false,
    override: ['50000', true],
    invalid: '-1',
  },
  {
    name: 'CYBER_CONTEXT_LIMIT',
    effect: async () => {
      const session = cyber().plimsoll.session({ id: 'x' })
      const targets = [{ model: 'nobody-knows' }]
      return (await session.prepare({ format: 'gemini', body: { contents: [user('Hi.')] }, targets })).limit.window
    },
    unset: 200_000,
    override: ['64000', 64_000],
    invalid: 'big',
  },
  {
    name: 'CYBER_PROMPT_TELEMETRY_THRESHOLD',
    effect: () => thresholdOf(false),
    unset: 65_000,
    override: ['0.5', 50_000],
    invalid: 'half',
  },
  {
    name: 'CYBER_PROMPT_CACHE_RELAX',
    effect: () => thresholdOf(true),
    unset: 75_000,
    override: ['0.2', 85_000],
    invalid: 'x',
  },
  {
    name: 'CYBER_PROMPT_CACHE_HINT',
    effect: () => thresholdOf(false),
    unset: 65_000,
    override: ['true', 75_000],
    invalid: 'yes',
  },
  {
    name: 'CYBER_TOOL_COMPRESS_TRUNCATE',
    effect: compressedTo,
    unset: 8_000,
    override: ['500', 500],
    invalid: 'short',
  },
  {
    name: 'CYBER_TOOL_MAX_RESULT_CHARS',
    effect: () => shownOf(20_000),
    unset: 10_000,
    override: ['700', 700],
    invalid: 'few',
  },
  {
    name: 'CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD',
    effect: () => shownOf(4_000),
    unset: 4_000,
    override: ['50', 50],
    invalid: 'x',
  },
  {
    name: 'CYBER_CONVERSATION_WINDOW',
    effect: async () => (await cyber().prepare(talk(61, 400))).contents.length <= 30,
    unset: false,
    override: ['30', true],
    invalid: 'wide',
  },
  {
    name: 'CYBER_CONVERSATION_PRESERVE_FIRST',
    effect: async () => (await keptOf()).first,
    unset: 1,
    override: ['3', 3],
    invalid: 'x',
  },
  {
    name: 'CYBER_CONVERSATION_PRESERVE_LAST',
    effect: async () => (await keptOf()).last >= 12,
    unset: false,
    override: ['auto', true],
    invalid: 'all',
  },
  { name: 'CONTEXT_DEBUG', effect: topics, unset: 0, override: ['true', 7], invalid: '1' },
]

describe('environment variables, end to end', () => {
  it('are all that the documents name', () => {
    const page = readFileSync(new URL('./coverage.md', import.meta.url), 'utf8')
    const named = page.match(/\b(?:SRE_AGENT_[A-Z_]+|CYBER_[A-Z_]+|CONTEXT_DEBUG)\b/g) ?? []
    expect(ROWS.map(({ name }) => name).sort()).toEqual([...new Set(named)].sort())
  })

  it.each(ROWS)('$name: its default', async ({ effect, unset }) => {
    expect(await effect()).toEqual(unset)
  })

  it.each(ROWS)('$name: set', async ({ name, effect, override: [value, expected] }) => {
    setVariable(name, value)
    expect(await effect()).toEqual(expected)
  })

  it.each(ROWS)('$name: nonsense is the default', async ({ name, effect, unset, invalid }) => {
    setVariable(name, invalid)
    expect(await effect()).toEqual(unset)
  })
})
