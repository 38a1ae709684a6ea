/**
 * What records keep that quotes do not measure: side constraints at four positions of a conversation, values that were replaced, and facts by kind
 * beside the summaries that Claude Code wrote of the same history, at the same size.
 */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { spokenIn } from '../../src/engine/epoch/record/said.ts'
import { createPlimsoll } from '../../src/index.ts'
import { readLines } from './shared.ts'

type Block = Record<string, unknown>
interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: Block[]
}

const MODEL = 'claude-sonnet-4-5'
const text = (words: string): Block => ({ type: 'text', text: words })

/** Work between two messages of a person: reads of files that fill the window. */
function work(from: number, steps: number): Message[] {
  return Array.from({ length: steps }, (_, n): Message[] => {
    const id = `toolu_${from + n}`
    const page = Array.from({ length: 60 }, (_line, line) => `export const berth${from + n}x${line} = ${line * 31}`)
    return [
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id, name: 'Read', input: { file_path: `src/${from + n}.ts` } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: page.join('\n') }] },
    ]
  }).flat()
}

const said = (words: string): Message[] => [{ role: 'user', content: [text(words)] }]
const answer = (words: string): Message[] => [{ role: 'assistant', content: [text(words)] }]

/** The record that a compaction now would leave, and the places of what it covers. */
async function recordOf(messages: readonly Message[], window: number): Promise<string> {
  const plimsoll = createPlimsoll({ store: 'memory:' })
  try {
    const body = { model: MODEL, max_tokens: 1_024, messages: [...messages] }
    const targets = [{ model: MODEL, window }]
    const request = { format: 'anthropic-messages', body, targets } as const
    const found = await plimsoll.session({ id: 'run' }).compact({ preview: true, request })
    return found.status === 'preview' ? found.record.join('\n') : ''
  } finally {
    await plimsoll.close()
  }
}

const THINGS = ['migrations', 'the public API', 'vendor', 'the billing service', 'src/legacy', 'package-lock.json']
const RULES: readonly ((thing: string, n: number) => string)[] = [
  (thing) => `Never touch ${thing}, whatever the tests say.`,
  (thing) => `Do not add new dependencies because of ${thing}.`,
  (thing) => `Changes to ${thing} must not break old clients.`,
  (thing, n) => `Keep every function in ${thing} below ${n} lines.`,
  (thing) => `You may only use the standard library in ${thing}.`,
  (thing) => `Please leave ${thing} as it is.`,
  (thing, n) => `At most ${n} files of ${thing} may change.`,
  (thing) => `Always run the linter before you commit ${thing}.`,
]

const PASTE = Array.from(
  { length: 160 },
  (_, n) => `Note ${n}: the pier at berth ${n} was looked at and found in order.`,
)
const POSITIONS: Readonly<Record<string, (rule: string) => Message[]>> = {
  'first message': (rule) => [...said(`Find out why the checkout is slow. ${rule}`), ...work(0, 30)],
  'later message': (rule) => [...said('Find out why it is slow.'), ...work(0, 12), ...said(rule), ...work(40, 20)],
  'inside a paste': (rule) => [
    ...said('Find out why it is slow.'),
    ...work(0, 12),
    ...said([...PASTE.slice(0, 80), rule, ...PASTE.slice(80)].join('\n')),
    ...work(40, 20),
  ],
  'instruction file': (rule) => [
    ...said('Find out why it is slow.'),
    ...answer('I will look.'),
    ...said(
      `# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\n${[...PASTE.slice(0, 40), rule].join('\n')}\n</INSTRUCTIONS>\nGo on.`,
    ),
    ...work(40, 30),
  ],
}

/** Of each position: the share of constraints that are in view word for word. */
export async function constraintsKept(window: number): Promise<ReadonlyMap<string, number>> {
  const shares = new Map<string, number>()
  for (const [position, place] of Object.entries(POSITIONS)) {
    const rules = RULES.flatMap((rule, i) => [0].map((by) => rule(THINGS[(i + by) % THINGS.length]!, 20 + i)))
    let kept = 0
    for (const rule of rules) {
      const messages = [...place(rule), ...said('Now the next part.'), ...work(200, 2)]
      const shown = `${await recordOf(messages, window)}\n${JSON.stringify([messages[0], messages.slice(-5)])}`
      if (shown.includes(rule)) kept++
    }
    shares.set(position, kept / rules.length)
  }
  return shares
}

/** What is said first, and what replaces it; the last say nothing that is replaced. */
const CHANGES: readonly (readonly [first: string, later: string, isReplaced: boolean])[] = [
  ['Stay under an $800 cap for the whole run.', 'Actually, make it $500.', true],
  ['The timeout is 30 seconds.', 'Set the timeout to 45 seconds instead.', true],
  ['Retry at most 5 times.', 'Lower that to 3 times.', true],
  ['Keep 20 % of the disk free.', 'Raise it to 35 %.', true],
  ['Call the module tides.ts.', 'Rename tides.ts to currents.ts.', true],
  ['We use jest for the tests.', 'Use vitest instead of jest.', true],
  ['Write it in python.', 'Use rust, not python.', true],
  ['The file may have 10 MB.', 'Make that 25 MB.', true],
  ['The cap is $800.', 'The invoice of March was 12 pages long.', false],
  ['The timeout is 30 seconds.', 'It took 45 minutes to find the bug.', false],
  ['We use jest for the tests.', 'The coverage is 81 % now.', false],
  ['Retry at most 5 times.', 'There are 3 files left.', false],
]

/** The share of replaced values that are marked, and how many are marked that nothing replaced. */
export async function replacedMarked(window: number): Promise<{ readonly marked: number; readonly falsely: number }> {
  let marked = 0
  let falsely = 0
  for (const [first, later, isReplaced] of CHANGES) {
    const asked = [...said('Fix the checkout.'), ...work(0, 10), ...said(first), ...work(20, 10), ...said(later)]
    const record = await recordOf([...asked, ...work(40, 12), ...said('Go on.'), ...work(60, 2)], window)
    const isMarked = record.includes('no longer holds')
    if (isMarked && isReplaced) marked++
    if (isMarked && !isReplaced) falsely++
  }
  return { marked: marked / CHANGES.filter(([, , isReplaced]) => isReplaced).length, falsely }
}

type Kind = 'paths' | 'commands' | 'error lines' | 'numbers' | 'user lines'
const KINDS: readonly Kind[] = ['paths', 'commands', 'error lines', 'numbers', 'user lines']
const ERROR = /\b(?:error|exception|failed|fatal|panic|undefined:)\b/i

/** The facts of a history, each once. */
function factsOf(messages: readonly Message[]): Readonly<Record<Kind, ReadonlySet<string>>> {
  const facts: Record<Kind, Set<string>> = {
    paths: new Set(),
    commands: new Set(),
    'error lines': new Set(),
    numbers: new Set(),
    'user lines': new Set(),
  }
  const linesOf = (words: string): string[] => words.split('\n').map((line) => line.trim())
  for (const { role, content } of messages) {
    for (const block of content) {
      const input = block['input'] as Block | undefined
      if (typeof input?.['file_path'] === 'string') facts.paths.add(basename(input['file_path']))
      if (typeof input?.['command'] === 'string') facts.commands.add(linesOf(input['command'])[0]!.slice(0, 40))
      if (block['type'] === 'tool_result') {
        const lines = linesOf(resultText(block['content']))
        for (const line of lines.filter((one) => one.length >= 20 && one.length < 160 && ERROR.test(one)).slice(-3))
          if (block['is_error'] === true) facts['error lines'].add(line)
      }
      if (typeof block['text'] !== 'string') continue
      const words = role === 'user' ? spokenIn(block['text']).words : block['text']
      for (const [number] of words.matchAll(/\b\d[\d.,]*\d\b/g)) facts.numbers.add(number)
      if (role === 'user') for (const line of linesOf(words)) if (line.length >= 20) facts['user lines'].add(line)
    }
  }
  return facts
}

const resultText = (content: unknown): string =>
  Array.isArray(content) ? content.map((part: Block) => String(part['text'] ?? '')).join('\n') : String(content ?? '')

interface Summarised {
  readonly messages: readonly Message[]
  readonly summary: string
}

/** Histories of recorded sessions up to each summary that Claude Code wrote, and that summary. */
function summariesIn(folder: string): Summarised[] {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const found: Summarised[] = []
      let messages: { role: Message['role']; content: Block[] }[] = []
      for (const { message, isSidechain, isCompactSummary } of readLines<Block>(join(folder, name))) {
        const { role, content } = (message ?? {}) as { role?: Message['role']; content?: string | Block[] }
        if (role === undefined || content === undefined || isSidechain === true) continue
        const blocks = typeof content === 'string' ? [text(content)] : content.filter(({ type }) => type !== 'thinking')
        if (isCompactSummary === true) {
          if (messages.length > 20)
            found.push({ messages, summary: blocks.map((block) => String(block['text'])).join('\n') })
          messages = []
        }
        const last = messages.at(-1)
        if (last?.role === role) last.content.push(...blocks)
        else if (blocks.length > 0) messages.push({ role, content: [...blocks] })
      }
      return found
    })
}

const STEPS = 4

/** Shares of facts by kind in Claude Code's summaries and in records of the same size, over all compactions. */
export async function besideSummaries(folder: string, countTokens: (text: string) => number): Promise<string[]> {
  const sums = new Map<Kind, { all: number; theirs: number; ours: number }>()
  const tokens = { theirs: 0, ours: 0 }
  let compactions = 0
  for (const { messages, summary } of summariesIn(folder)) {
    const size = countTokens(summary)
    let record = ''
    // The size of a record follows from the window: the largest that is no longer than the summary.
    let [low, high] = [1, 40]
    for (let step = 0; step < STEPS; step++) {
      const middle = (low + high) / 2
      const found = await recordOf(messages, Math.round(size * middle)).catch(() => '')
      if (countTokens(found) > size) high = middle
      else {
        low = middle
        if (countTokens(found) > countTokens(record)) record = found
      }
    }
    if (record === '') continue
    compactions++
    tokens.theirs += size
    tokens.ours += countTokens(record)
    // The first message and the newest steps stay in view beside a record.
    const facts = factsOf(messages.slice(1, Math.floor(messages.length * 0.9)))
    for (const kind of KINDS) {
      const sum = sums.get(kind) ?? { all: 0, theirs: 0, ours: 0 }
      sums.set(kind, sum)
      for (const fact of facts[kind]) {
        sum.all++
        if (summary.includes(fact)) sum.theirs++
        if (record.includes(fact)) sum.ours++
      }
    }
  }
  return [
    `${compactions} compactions; tokens: Claude Code's summaries ${tokens.theirs}, records ${tokens.ours}`,
    ...KINDS.map((kind) => {
      const { all = 0, theirs = 0, ours = 0 } = sums.get(kind) ?? {}
      return `${kind.padEnd(12)} ${String(all).padStart(5)}  summaries ${(theirs / Math.max(1, all)).toFixed(3)}  records ${(ours / Math.max(1, all)).toFixed(3)}`
    }),
  ]
}
