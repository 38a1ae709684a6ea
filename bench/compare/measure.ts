/** One run of one manager over one session, with the same count, prices and questions for everybody. */
import { createLineMatcher, quotableLines, type LineMatcher } from '../../src/core/quotes.ts'
import { RecallIndex, RecallTally } from '../../src/lab/replay/recall.ts'
import { type SentPiece, SessionPricer } from '../../src/lab/replay/price.ts'
import { codecs } from '../../src/formats/registry.ts'
import { SONNET_4_5 } from '../baselines.ts'
import { quantile } from '../lib/statistics.ts'
import type { Chat, ChatSession } from './chat.ts'
import type { Manager, Terms } from './manager.ts'

/** What one call sends. */
export interface Sent {
  readonly pieces: readonly SentPiece[]
  readonly texts: readonly string[]
  readonly invalid: boolean
  /** Could not be sent: the caller got an error with numbers. */
  readonly refused?: boolean
  /** Texts that a tool in the request can open. */
  readonly reachable?: readonly string[]
  readonly ms: number
}

/** Something that answers each call of a session with what would be sent. */
export interface Runner {
  readonly name: string
  readonly setup: string
  readonly from?: string
  start(session: MeasuredSession, window: number): (call: number) => Promise<Sent>
}

export interface MeasuredSession extends ChatSession {
  readonly index: RecallIndex
  readonly count: (text: string) => number
  /** Tokens of the session by OpenAI's vocabulary, for each by the referee's count. */
  readonly o200kShare: number
  readonly prose: Prose
}

/** What people and the model wrote, line by line. */
interface Prose {
  readonly matcher: LineMatcher
  /** By line: from which message on it is part of the history. */
  readonly since: readonly number[]
  readonly found: Map<string, readonly number[]>
}

export function measuredSession(
  session: ChatSession,
  count: (text: string) => number,
  o200k: (text: string) => number,
): MeasuredSession {
  const whole = (by: (text: string) => number): number => session.messages.reduce((sum, { text }) => sum + by(text), 0)
  const since: number[] = []
  const lines = new Map<string, number>()
  session.messages.forEach(({ role, text }, at) => {
    if (role === 'tool') return
    for (const line of quotableLines([text])) if (!lines.has(line)) lines.set(line, since.push(at) - 1)
  })
  const prose = { matcher: createLineMatcher([...lines.keys()]), since, found: new Map<string, readonly number[]>() }
  const o200kShare = whole(o200k) / Math.max(1, whole(count))
  return { ...session, index: new RecallIndex(session.recording), count, o200kShare, prose }
}

export interface Figures {
  readonly calls: number
  readonly overflows: number
  readonly invalid: number
  readonly refused: number
  /** Share of calls that show the first user message whole. */
  readonly taskKept: number
  /** Share of what people and the model wrote, by characters, in view; mean over calls that left something out. */
  readonly proseKept: number
  readonly quoteRecall: number
  readonly nameRecall: number
  readonly recoverableRecall: number
  readonly costUsd: number
  readonly ms: number
  readonly msP95: number
}

export const RESERVE = 1_024

export async function measure(
  runner: Runner,
  sessions: readonly MeasuredSession[],
  window: number,
  spent: { usd: number },
): Promise<Figures> {
  const tally = new RecallTally()
  const times: number[] = []
  const shares: number[] = []
  const sums = { calls: 0, overflows: 0, invalid: 0, refused: 0, task: 0, cost: 0 }
  spent.usd = 0
  for (const session of sessions) {
    const run = runner.start(session, window)
    const pricer = new SessionPricer(SONNET_4_5)
    const first = session.recording.messages.find(({ parts }) => parts.some(({ kind }) => kind === 'user'))
    const task = (first?.parts ?? []).filter(({ kind }) => kind === 'user').map(({ text }) => text)
    for (const { index: call } of session.recording.calls) {
      const sent = await run(call)
      times.push(sent.ms)
      sums.calls++
      const tokens = sent.pieces.reduce((sum, piece) => sum + piece.tokens, 0)
      if (tokens > window - RESERVE) sums.overflows++
      if (sent.invalid) sums.invalid++
      if (sent.refused === true) sums.refused++
      else pricer.add({ pieces: sent.pieces, outputTokens: 0 })
      if (task.every((part) => sent.texts.some((text) => text.includes(part)))) sums.task++
      const reachable = sent.reachable === undefined ? undefined : session.index.view(sent.reachable)
      tally.add(session.index, call, session.index.view(sent.texts), reachable)
      const share = proseShare(session, call, sent.texts)
      if (share < 1) shares.push(share)
    }
    sums.cost += pricer.total().inputCostUsd
  }
  const { quoteRecall, nameRecall, recoverableRecall } = tally.total()
  return {
    calls: sums.calls,
    overflows: sums.overflows,
    invalid: sums.invalid,
    refused: sums.refused,
    taskKept: sums.task / sums.calls,
    proseKept: shares.length === 0 ? 1 : shares.reduce((sum, share) => sum + share, 0) / shares.length,
    quoteRecall,
    nameRecall,
    recoverableRecall,
    costUsd: sums.cost + spent.usd,
    ms: quantile(times, 0.5),
    msP95: quantile(times, 0.95),
  }
}

function proseShare({ prose, lengths }: MeasuredSession, call: number, texts: readonly string[]): number {
  const { matcher, since, found } = prose
  const inView = new Set<number>()
  for (const text of texts) {
    const known = found.get(text) ?? matcher.scan(text)
    found.set(text, known)
    for (const line of known) inView.add(line)
  }
  let whole = 0
  let kept = 0
  since.forEach((at, line) => {
    if (at >= lengths[call]!) return
    const { length } = matcher.lines[line]!
    whole += length
    if (inView.has(line)) kept += length
  })
  return whole === 0 ? 1 : kept / whole
}

const chat = codecs.get('openai-chat')!

/** A manager of chat messages as a runner. Requests are held against the rules of OpenAI's chat API, the most lenient of all. */
export function runnerOf(manager: Manager, spent: { usd: number }): Runner {
  return {
    name: manager.name,
    setup: manager.setup,
    ...(manager.from !== undefined && { from: manager.from }),
    start(session, window) {
      const terms = termsOf(session, window, spent)
      const manage = manager.start(terms)
      const texts = new WeakMap<Chat, readonly string[]>()
      const textsOf = (message: Chat): readonly string[] => {
        const known = texts.get(message) ?? [message.text, ...message.calls.map(({ id }) => session.read.get(id) ?? '')]
        texts.set(message, known)
        return known
      }
      return async (call) => {
        const history = session.messages.slice(0, session.lengths[call])
        const start = performance.now()
        const view = await manage(history)
        const ms = performance.now() - start
        return {
          pieces: view.map((message) => ({ text: keyOf(message), tokens: terms.count(message) })),
          texts: view.flatMap(textsOf),
          invalid: view.length === 0 || breaksRule(view),
          ms,
        }
      }
    },
  }
}

const keys = new WeakMap<Chat, string>()
function keyOf(message: Chat): string {
  const known =
    keys.get(message) ??
    `${message.role} ${message.callId ?? ''} ${message.calls.map(({ id }) => id).join()} ${message.text}`
  keys.set(message, known)
  return known
}

function breaksRule(view: readonly Chat[]): boolean {
  // Rules are about order and pairs: what stands in a message does not matter, and short bodies are read fast.
  const messages = view.map(({ role, calls, callId, text }) => ({
    role,
    content: text === '' ? '' : 'text',
    ...(callId !== undefined && { tool_call_id: callId }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name }) => ({ id, type: 'function', function: { name, arguments: '{}' } })),
    }),
  }))
  return chat.check(chat.fields(chat.decode(JSON.stringify({ model: 'gpt-4.1', messages })))).length > 0
}

const SUMMARY_CHARACTERS = 6_000
const PART_CHARACTERS = 160

function termsOf({ count, sent, o200kShare }: MeasuredSession, window: number, spent: { usd: number }): Terms {
  const counts = new WeakMap<Chat, number>()
  return {
    limit: window - RESERVE,
    o200kLimit: Math.floor((window - RESERVE) * o200kShare),
    countText: count,
    count(message) {
      const known = counts.get(message)
      if (known !== undefined) return known
      const calls = message.calls.reduce((sum, { id, args }) => sum + count(sent.get(id) ?? JSON.stringify(args)), 0)
      const tokens = count(message.text) + calls
      counts.set(message, tokens)
      return tokens
    },
    // The beginning of each paragraph: a model would write better prose, and no more facts than it is shown.
    summarize(prompt) {
      let text = ''
      for (const part of prompt.split(/\n{2,}|\n(?=\[)/)) {
        if (text.length > SUMMARY_CHARACTERS) break
        text += `${part.slice(0, PART_CHARACTERS)}\n`
      }
      spent.usd += (count(prompt) * SONNET_4_5.input + count(text) * SONNET_4_5.output) / 1_000_000
      return `<summary>\n${text}</summary>`
    },
  }
}
