/**
 * What left view and is found again: conversations with questions whose evidence is known, and agent sessions whose next answer shows what was
 * needed. Beside two yardsticks under the same limits: plain BM25 over passages, and "people's messages whole, newest first, then the newest
 * answers".
 *
 *   npx tsx bench/found.ts [--windows 16000,32000,64000] [--corpora talk,chat,essays,memory,agents,speed] [--sessions 4] [--recall true|false]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createPlimsoll, type PreparedTurn, type Usage } from '../src/index.ts'
import { codecs } from '../src/formats/registry.ts'
import { RecallIndex, readableText } from '../src/lab/replay/recall.ts'
import { Corpus, indexOf } from '../src/util/search/rank.ts'
import { wordsQuery } from '../src/util/search/query.ts'
import { loadFile } from '../src/lab/transcripts/load.ts'
import { type Message, TALKS, type Talk } from './lib/found-talks.ts'
import { filesBelow, sharedData } from './lib/shared.ts'
import { bm25, passagesOf } from './lib/bm25.ts'

const { values } = parseArgs({
  options: {
    windows: { type: 'string', default: '16000,32000,64000' },
    corpora: { type: 'string', default: 'talk,chat,essays,memory,agents,speed' },
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
/** Questions that are asked as a message, each of them a request. */
const MOST_ASKED = 150
/** What was recalled without being asked. */
const BLOCK = /\[Earlier passages of this conversation[^]*?\[End of earlier passages\.\]/

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

/** The same every time: handles have a fixed key, and five seconds pass between two messages. */
function opened() {
  let now = Date.UTC(2026, 0, 1)
  const plimsoll = createPlimsoll({
    store: 'memory:',
    artifacts: 'memory:',
    telemetry: false,
    secret: Buffer.alloc(32, 1),
    clock: { now: () => (now += 5_000) },
    policy: values.policy as never,
  })
  /** The provider's answer: its cache holds what it was sent before, but behind a compaction. */
  let sent = { epoch: undefined as string | undefined, tokens: 0 }
  const usageOf = ({ epoch, load }: Pick<PreparedTurn, 'epoch' | 'load'>): Usage => {
    const input = load.count.tokens
    const cacheRead = epoch === sent.epoch ? Math.min(sent.tokens, input) : 0
    sent = { epoch, tokens: input }
    return { input, cacheRead, cacheWrite: 0, output: 300, reasoning: 0 }
  }
  return { plimsoll, usageOf }
}

async function measureTalk({ name, messages, questions }: Talk, window: number): Promise<void> {
  const { plimsoll, usageOf } = opened()
  const session = plimsoll.session({ id: name })
  const codec = codecs.get('openai-chat')!
  const view = new Share()
  const simple = new Share()
  let turnsBehind = 0
  let blocks = 0
  let compactions = 0
  let used = 0
  let room = 0
  let epoch: string | undefined
  const estimate = (text: string): number => Math.ceil(text.length / 4)
  for (let end = 1; end <= messages.length; end++) {
    if (messages[end - 1]!.role !== 'user') continue
    const body = { model: MODEL, messages: messages.slice(0, end) }
    const turn = await session.prepare({ format: 'openai-chat', body, targets: [{ model: MODEL, window }] })
    await session.record({ turn: turn.id, usage: usageOf(turn) })
    if (turn.epoch !== undefined) turnsBehind++
    if (BLOCK.test(codec.decode(turn.text).items.at(-1)!.text)) blocks++
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
  const asked = await askedAtTheEnd()
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
    [asked.view, asked.either].join(' '),
    `${asked.unasked} ${asked.tokens}`,
    ...recalled.flatMap((one, i) => [one, plain[i]]),
    ms.toFixed(1),
  ])
  await plimsoll.close()

  /** Questions as the next message: what is in view, and what is in view or was recalled. */
  async function askedAtTheEnd() {
    const [view, either] = [new Share(), new Share()]
    const sample = questions.filter((_, i) => i % Math.ceil(questions.length / MOST_ASKED) === 0)
    let size = 0
    for (const { text: content, evidence } of sample) {
      const body = {
        model: MODEL,
        messages: [...messages, { role: 'assistant', content: 'Yes?' }, { role: 'user', content }],
      }
      const turn = await session.prepare({ format: 'openai-chat', body, targets: [{ model: MODEL, window }] })
      const shown = codec
        .decode(turn.text)
        .items.map(({ text }) => text)
        .join('\n')
      const without = shown.replace(BLOCK, '')
      size += shown.length - without.length
      view.add(evidence.filter((one) => without.includes(one)).length, evidence.length)
      either.add(evidence.filter((one) => shown.includes(one)).length, evidence.length)
    }
    return {
      view,
      either,
      unasked: (blocks / Math.max(1, turnsBehind)).toFixed(2),
      tokens: Math.round(size / 4 / sample.length),
    }
  }
}

/** Every so many calls of an agent session are asked about: a question costs as much as a call. */
const EVERY = 3

async function measureAgents(window: number): Promise<void> {
  const view = new Share()
  const recalled = SIZES.map(() => new Share())
  const plain = SIZES.map(() => new Share())
  let asked = 0
  const block = { messages: 0, shown: 0, used: 0, tokens: 0 }
  const folders = ['claude-code', 'codex-rollout', 'pi', 'openhands', 'swe-agent']
  for (const folder of folders)
    for (const file of filesBelow(join(transcripts, folder)).slice(0, Number(values.sessions))) {
      const { recordings } = await loadFile(join(transcripts, folder, file), {
        resend: 'everything',
        thinking: 'drop',
        parallel: 'as-written',
      })
      for (const recording of recordings) {
        const { plimsoll, usageOf } = opened()
        const session = plimsoll.session({ id: file })
        const codec = codecs.get(recording.wire)!
        const index = new RecallIndex(recording)
        for (const call of recording.calls) {
          const turn = await session
            .prepare({ format: codec.format, body: call.body(), targets: [{ model: 'claude-sonnet-4-5', window }] })
            .catch(() => undefined)
          if (turn === undefined) continue
          await session.record({ turn: turn.id, usage: usageOf(turn) })
          if (turn.epoch === undefined) continue
          const { items } = codec.decode(turn.text)
          const { quotes, names } = index.needsOf(call.index)
          const newest = items.slice(items.findLastIndex(({ role }) => role === 'assistant') + 1)
          if (newest.some(({ kind }) => kind === 'user')) block.messages++
          const brought = newest.map(({ text }) => BLOCK.exec(text)?.[0]).find((text) => text !== undefined)
          if (brought !== undefined) {
            const [own, rest] = [[brought], items.map((item) => readableText(item).replace(BLOCK, ''))].map((texts) =>
              index.view(texts),
            )
            block.shown++
            block.tokens += brought.length / 4
            const isUsed =
              quotes.some((line) => own!.contains(line) && !rest!.contains(line)) ||
              names.some((name) => own!.names(name) && !rest!.names(name))
            if (isUsed) block.used++
          }
          if (call.index % EVERY !== 0) continue
          const shown = index.view(items.map(readableText))
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
  row(`agents, ${window}`, [view, '', asked, '', '', '', ...recalled.flatMap((one, i) => [one, plain[i]])])
  const { messages, shown, used, tokens } = block
  row('  recalled unasked', [
    `${shown} of ${messages}`,
    `${used} used`,
    `${Math.round(tokens / Math.max(1, shown))} tok`,
  ])
}

/** Milliseconds of processor time for a query and a new message by how much there is, and what indexing adds to a request of 150 KB. */
async function measureSpeed(): Promise<void> {
  const { messages, questions } = TALKS['talk']!(data!)
  const texts = messages.flatMap(({ content }) => content.split('\n\n'))
  for (const passages of [10_000, 100_000]) {
    const corpus = new Corpus()
    const add = (i: number): void => {
      // The same words again, with a name of its own in each.
      const entry = { text: `${texts[i % texts.length]!} case${i}`, role: i % 2 === 0 ? 'user' : 'assistant' }
      corpus.add({ entry, indexed: indexOf(entry) })
    }
    for (let i = 0; i < passages; i++) add(i)
    const asked = questions.slice(0, 60).map(({ text }) => wordsQuery(text))
    for (const query of asked.slice(0, 10)) corpus.rank(query)
    const query = cpuMs(() => asked.forEach((one) => corpus.rank(one))) / asked.length
    const message = cpuMs(() => Array.from({ length: 1_000 }, (_, i) => add(passages + i))) / 1_000
    row(`${passages.toLocaleString('en')} passages`, [`${query.toFixed(1)} query`, `${message.toFixed(3)} message`])
  }
  const size = (count: number): number => JSON.stringify(messages.slice(0, count)).length
  const count = messages.findIndex((_, i) => size(i) > 150_000)
  const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', telemetry: false, recall: { auto: false } })
  const session = plimsoll.session({ id: 'speed' })
  const [first, last] = [count - 40, count]
  let requests = 0
  let indexing = 0
  for (let end = first; end < last; end += 2) {
    const body = JSON.stringify({ model: MODEL, messages: messages.slice(0, end) })
    const before = process.cpuUsage()
    const turn = await session.prepare({ format: 'openai-chat', body, targets: [{ model: MODEL, window: 400_000 }] })
    const used = process.cpuUsage(before)
    requests += (used.user + used.system) / 1_000
    await session.record({ turn: turn.id, usage: { input: 9, cacheRead: 0, cacheWrite: 0, output: 9, reasoning: 0 } })
    const fresh = messages.slice(end, end + 2)
    indexing += cpuMs(() => fresh.forEach(({ role, content: text }) => indexOf({ text, role })))
  }
  row('150 KB', [
    `${((100 * indexing) / requests).toFixed(1)} % index`,
    `${((2 * requests) / (last - first)).toFixed(1)} request`,
  ])
  await plimsoll.close()
}

function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
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

row('', [
  'in view',
  'ten lines',
  'compactions',
  'used',
  'view, +auto',
  'blocks, tok',
  ...SIZES.flatMap((size) => [`recall ${size}`, `bm25 ${size}`]),
  'ms a query',
])
for (const corpus of values.corpora.split(',')) {
  const conversation = TALKS[corpus]?.(data)
  if (corpus === 'speed') await measureSpeed()
  else
    for (const window of values.windows.split(',').map(Number))
      await (conversation === undefined ? measureAgents(window) : measureTalk(conversation, window))
}
