/**
 * What left view and is found again: conversations with questions whose evidence is known, and agent sessions whose next answer shows what was
 * needed. Beside two yardsticks under the same limits: plain BM25 over passages, and "people's messages whole, newest first, then the newest
 * answers".
 *
 *   npx tsx bench/found.ts [--windows 16000,32000,64000] [--corpora talk,essays,memory,agents] [--sessions 4] [--recall true|false]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createPlimsoll } from '../src/index.ts'
import { codecs } from '../src/formats/registry.ts'
import { RecallIndex, readableText } from '../src/lab/replay/recall.ts'
import { loadFile } from '../src/lab/transcripts/load.ts'
import { filesBelow, readLines, readText, sharedData } from './lib/shared.ts'
import { bm25, passagesOf } from './lib/bm25.ts'

const { values } = parseArgs({
  options: {
    windows: { type: 'string', default: '16000,32000,64000' },
    corpora: { type: 'string', default: 'talk,essays,memory,agents' },
    sessions: { type: 'string', default: '4' },
    policy: { type: 'string', default: 'plimsoll' },
  },
})
const data = sharedData()
if (data === undefined)
  throw new Error('No shared data. Set PLIMSOLL_SHARED to the folder that holds data/transcripts.')
const transcripts = join(data, 'transcripts')

/** Characters that an answer of `recall` may have. */
const SIZES = [2_400, 6_000] as const
const MODEL = 'gpt-4o'

interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

interface Question {
  readonly text: string
  /** Sentences that hold the answer, verbatim, and the newest message that one of them stands in. */
  readonly evidence: readonly string[]
  readonly behind: number
}

interface Talk {
  readonly name: string
  readonly messages: readonly Message[]
  readonly questions: readonly Question[]
}

interface LocomoTurn {
  readonly speaker: string
  readonly dia_id: string
  readonly text?: string
}

interface Locomo {
  readonly speaker_a: string
  readonly qa: readonly { readonly question: string; readonly evidence?: readonly string[] }[]
  readonly [session: string]: unknown
}

/** Turns of all conversations, one after the other: some 100,000 tokens, so that a window of 64,000 fills. */
function locomoTurns(): {
  readonly turns: readonly (LocomoTurn & { date: string; user: boolean })[]
  readonly questions: readonly { text: string; ids: readonly string[] }[]
} {
  const turns: (LocomoTurn & { date: string; user: boolean })[] = []
  const questions: { text: string; ids: readonly string[] }[] = []
  for (const file of filesBelow(join(transcripts, 'locomo'))) {
    const talk = JSON.parse(readText(join(transcripts, 'locomo', file))) as Locomo
    for (let n = 1; Array.isArray(talk[`session_${n}`]); n++)
      for (const turn of talk[`session_${n}`] as LocomoTurn[])
        turns.push({
          ...turn,
          dia_id: `${file}/${turn.dia_id}`,
          date: String(talk[`session_${n}_date_time`]),
          user: turn.speaker === talk.speaker_a,
        })
    for (const { question, evidence = [] } of talk.qa)
      if (evidence.length > 0) questions.push({ text: question, ids: evidence.map((id) => `${file}/${id}`) })
  }
  return { turns, questions }
}

/** Messages of one role in a row are one message, as chat clients send them. */
function joinedTalk(
  name: string,
  parts: readonly { role: Message['role']; text: string; id?: string }[],
  asked: readonly { text: string; ids: readonly string[] }[],
): Talk {
  const messages: { role: Message['role']; content: string }[] = []
  const placeOf = new Map<string, { text: string; message: number }>()
  for (const { role, text, id } of parts) {
    const last = messages.at(-1)
    if (last?.role === role) last.content += `\n\n${text}`
    else messages.push({ role, content: text })
    if (id !== undefined) placeOf.set(id, { text, message: messages.length - 1 })
  }
  const questions = asked.flatMap(({ text, ids }): Question[] => {
    const places = ids.flatMap((id) => placeOf.get(id) ?? [])
    if (places.length === 0) return []
    return [
      { text, evidence: places.map((place) => place.text), behind: Math.max(...places.map(({ message }) => message)) },
    ]
  })
  return { name, messages, questions }
}

/** Two people who talk: one is the user, the other the assistant. */
function talk(): Talk {
  const { turns, questions } = locomoTurns()
  return joinedTalk(
    'talk',
    turns.map(({ dia_id, text = '', user, date, speaker }) => ({
      role: user ? 'user' : 'assistant',
      text: `${speaker} (${date}): ${text}`,
      id: dia_id,
    })),
    questions,
  )
}

/** What people wrote stands between long answers about other things. */
function essays(): Talk {
  const { turns, questions } = locomoTurns()
  const paragraphs = proseParagraphs()
  let next = 0
  const parts = turns.flatMap(({ dia_id, text = '', date, speaker }, i) => {
    const said = { role: 'user' as const, text: `${speaker} (${date}): ${text}`, id: dia_id }
    if (i % 12 !== 11) return [said]
    const answer = Array.from({ length: 4 }, () => paragraphs[next++ % paragraphs.length]!).join('\n\n')
    return [said, { role: 'assistant' as const, text: answer }]
  })
  return joinedTalk('essays', parts, questions)
}

function proseParagraphs(): readonly string[] {
  const file = filesBelow(join(data!, 'tool-outputs/multilingual')).find((name) => name.includes('xquad-en'))!
  const parsed = JSON.parse(readText(join(data!, 'tool-outputs/multilingual', file))) as {
    data: { paragraphs: { context: string }[] }[]
  }
  return parsed.data.flatMap(({ paragraphs }) => paragraphs.map(({ context }) => context))
}

/** People who tell about themselves at length, with questions about single sentences. */
function memory(): Talk {
  const parts: { role: Message['role']; text: string; id?: string }[] = []
  const asked: { text: string; ids: readonly string[] }[] = []
  for (const topic of ['customer', 'finance', 'healthcare']) {
    const file = filesBelow(join(transcripts, 'bfcl')).find((name) => name.startsWith(`memory_${topic}.jsonl`))!
    const said = readLines<{ question: Message[][] }>(join(transcripts, 'bfcl', file)).flatMap(({ question }) =>
      question.flat(),
    )
    const rows = readLines<{ id: string; question: string; source?: string }>(
      join(transcripts, `bfcl/memory_${topic}.qa.jsonl`),
    )
    for (const { content } of said) {
      parts.push({ role: 'user', text: content }, { role: 'assistant', text: 'Noted.' })
    }
    const all = parts.map(({ text }) => text).join('\n')
    for (const { id, question, source } of rows)
      if (source !== undefined && all.includes(source)) {
        const at = parts.findIndex(({ text }) => text.includes(source))
        parts[at] = { ...parts[at]!, id: `${topic}/${at}` }
        sources.set(`${id}`, source)
        asked.push({ text: question, ids: [`${topic}/${at}`] })
      }
  }
  const talk = joinedTalk('memory', parts, asked)
  const bySource = [...sources.values()]
  return { ...talk, questions: talk.questions.map((question, i) => ({ ...question, evidence: [bySource[i]!] })) }
}
const sources = new Map<string, string>()

class Share {
  #found = 0
  #all = 0
  add(found: number, all: number): void {
    this.#found += found
    this.#all += all
  }
  toString(): string {
    return this.#all === 0 ? '–' : (this.#found / this.#all).toFixed(3)
  }
}

const row = (name: string, cells: readonly unknown[]): void =>
  console.log(`  ${name.padEnd(30)}${cells.map((cell) => String(cell).padStart(13)).join('')}`)

/** People's messages whole, newest first, then the newest answers. */
function tenLines(messages: readonly Message[], limit: number, count: (text: string) => number): string {
  const kept: string[] = []
  let left = limit
  for (const role of ['user', 'assistant'])
    for (let i = messages.length - 1; i >= 0; i--) {
      if (messages[i]!.role !== role) continue
      const cost = count(messages[i]!.content)
      if (cost > left) break
      left -= cost
      kept.push(messages[i]!.content)
    }
  return kept.join('\n')
}

async function measureTalk({ name, messages, questions }: Talk, window: number): Promise<void> {
  const plimsoll = createPlimsoll({
    store: 'memory:',
    artifacts: 'memory:',
    telemetry: false,
    policy: values.policy as never,
  })
  const session = plimsoll.session({ id: name })
  const codec = codecs.get('openai-chat')!
  const view = new Share()
  const simple = new Share()
  let compactions = 0
  let used = 0
  let room = 0
  let epoch: string | undefined
  const estimate = (text: string): number => Math.ceil(text.length / 4)
  for (let end = 1; end <= messages.length; end++) {
    if (messages[end - 1]!.role !== 'user') continue
    const body = { model: MODEL, messages: messages.slice(0, end) }
    const turn = await session.prepare({ format: 'openai-chat', body, targets: [{ model: MODEL, window }] })
    await session.record({
      turn: turn.id,
      usage: { input: turn.load.count.tokens, cacheRead: 0, cacheWrite: 0, output: 300, reasoning: 0 },
    })
    if (turn.epoch === undefined || turn.epoch === epoch) continue
    epoch = turn.epoch
    compactions++
    used += turn.load.count.tokens
    room += turn.limit.tokens
    const shown = codec
      .decode(turn.text)
      .items.map(({ text }) => text)
      .join('\n')
    const simpleShown = tenLines(messages.slice(0, end), turn.limit.tokens, (text) =>
      Math.ceil(estimate(text) * (turn.load.count.tokens / Math.max(1, estimate(shown)))),
    )
    for (const { evidence, behind } of questions) {
      if (behind >= end) continue
      view.add(evidence.filter((text) => shown.includes(text)).length, evidence.length)
      simple.add(evidence.filter((text) => simpleShown.includes(text)).length, evidence.length)
    }
  }
  const recalled = SIZES.map(() => new Share())
  const plain = SIZES.map(() => new Share())
  const scope = await session.scope()
  const search = bm25(messages.flatMap(({ content }) => passagesOf(content)))
  const started = performance.now()
  for (const { text, evidence } of questions)
    for (const [i, size] of SIZES.entries()) {
      const { text: answer } = await scope.recall({ query: text, limit: 20, max_characters: size })
      recalled[i]!.add(evidence.filter((one) => answer.slice(0, size).includes(one)).length, evidence.length)
    }
  const ms = (performance.now() - started) / questions.length / SIZES.length
  for (const { text, evidence } of questions)
    for (const [i, size] of SIZES.entries()) {
      const answer = search(text, size)
      plain[i]!.add(evidence.filter((one) => answer.includes(one)).length, evidence.length)
    }
  row(`${name}, ${window}`, [
    view,
    simple,
    compactions,
    compactions === 0 ? '–' : (used / room).toFixed(2),
    ...recalled.flatMap((one, i) => [one, plain[i]]),
    ms.toFixed(1),
  ])
  await plimsoll.close()
}

/** Every so many calls of an agent session are asked about: a question costs as much as a call. */
const EVERY = 3

async function measureAgents(window: number): Promise<void> {
  const view = new Share()
  const recalled = SIZES.map(() => new Share())
  const plain = SIZES.map(() => new Share())
  let asked = 0
  const folders = ['claude-code', 'codex-rollout', 'pi', 'openhands', 'swe-agent']
  for (const folder of folders)
    for (const file of filesBelow(join(transcripts, folder)).slice(0, Number(values.sessions))) {
      const { recordings } = await loadFile(join(transcripts, folder, file), {
        resend: 'everything',
        thinking: 'drop',
        parallel: 'as-written',
      })
      for (const recording of recordings) {
        const plimsoll = createPlimsoll({
          store: 'memory:',
          artifacts: 'memory:',
          telemetry: false,
          policy: values.policy as never,
        })
        const session = plimsoll.session({ id: file })
        const codec = codecs.get(recording.wire)!
        const index = new RecallIndex(recording)
        for (const call of recording.calls) {
          const turn = await session
            .prepare({ format: codec.format, body: call.body(), targets: [{ model: 'claude-sonnet-4-5', window }] })
            .catch(() => undefined)
          if (turn === undefined) continue
          await session.record({
            turn: turn.id,
            usage: { input: turn.load.count.tokens, cacheRead: 0, cacheWrite: 0, output: 300, reasoning: 0 },
          })
          if (turn.epoch === undefined || call.index % EVERY !== 0) continue
          const shown = index.view(codec.decode(turn.text).items.map(readableText))
          const { quotes } = index.needsOf(call.index)
          const missing = quotes.filter((line) => !shown.contains(line))
          view.add(quotes.length - missing.length, quotes.length)
          if (missing.length === 0) continue
          asked++
          const query = queryOf(call.response.parts)
          const scope = await session.scope()
          const before = recording.messages
            .slice(0, call.to)
            .flatMap(({ parts }) => parts.flatMap((part) => passagesOf(readableText(part))))
          const search = bm25(before)
          for (const [i, size] of SIZES.entries()) {
            const { text } = await scope.recall({ query, limit: 20, max_characters: size })
            const answer = text.slice(0, size)
            recalled[i]!.add(missing.filter((line) => answer.includes(line)).length, missing.length)
            const other = search(query, size)
            plain[i]!.add(missing.filter((line) => other.includes(line)).length, missing.length)
          }
        }
        await plimsoll.close()
      }
    }
  row(`agents, ${window}`, [view, '', asked, '', ...recalled.flatMap((one, i) => [one, plain[i]])])
}

/** What the answer says before it acts, and the file or command that its first call names: not the lines that it copies. */
function queryOf(parts: readonly { readonly kind: string; readonly text: string; readonly input?: unknown }[]): string {
  const said = parts.find(({ kind }) => kind === 'assistant')?.text ?? ''
  const input = parts.find(({ kind }) => kind === 'call')?.input
  const named = Object.entries((typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>)
    .filter(([key, value]) => /path|file|command|pattern|query/i.test(key) && typeof value === 'string')
    .map(([, value]) => (value as string).split('\n')[0]!.slice(0, 200))
  return `${said.slice(0, 300)} ${named.join(' ')}`.trim() || 'continue'
}

const TALKS: Readonly<Record<string, () => Talk>> = { talk, essays, memory }
row('', [
  'in view',
  'ten lines',
  'compactions',
  'used',
  ...SIZES.flatMap((size) => [`recall ${size}`, `bm25 ${size}`]),
  'ms a query',
])
for (const corpus of values.corpora.split(',')) {
  const conversation = TALKS[corpus]?.()
  for (const window of values.windows.split(',').map(Number))
    await (conversation === undefined ? measureAgents(window) : measureTalk(conversation, window))
}
