import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { costOfUsage, type PriceModel, simulateUsage } from '../../core/price.ts'
import { addUsage, NO_USAGE, type Usage } from '../../core/usage.ts'
import { readableText, RecallIndex, RecallTally, type ReplaySource } from './recall.ts'

/** The parts of a decoded view that the measures use. */
export interface ConversationView {
  readonly pieces: readonly SentPiece[]
  readonly texts: readonly string[]
}

/** Tools and head first, in the order in which providers cache them, then the history item by item. */
export function conversationView(
  conversation: Conversation,
  tokensOf: (item: Item) => number,
  countText: (text: string) => number,
): ConversationView {
  const items = [...conversation.head, ...conversation.items]
  const tools = conversation.tools.map((tool): SentPiece => ({ text: tool.text, tokens: countText(tool.text) }))
  return {
    pieces: [...tools, ...items.map((item): SentPiece => ({ text: item.text, tokens: tokensOf(item) }))],
    texts: items.map(readableText),
  }
}

/** A part of a request, in the order in which it was sent: the head, then each message. Equal texts are equal bytes on the wire. */
export interface SentPiece {
  readonly text: string
  readonly tokens: number
}

export interface SentRequest {
  readonly pieces: readonly SentPiece[]
  readonly outputTokens: number
  /** Time in milliseconds; without it the cache counts as warm. */
  readonly at?: number
}

export interface SessionPrice {
  readonly usage: Usage
  readonly costUsd: number
  /** The cost of the input, which is the part that a context manager can change. */
  readonly inputCostUsd: number
  /** Cached tokens as a share of all prompt tokens. */
  readonly cacheHitRate: number
  /** Calls after the first that read nothing from the cache. */
  readonly coldCalls: number
}

/** Prices a session call by call: the prefix that a request shares with the previous one is read from the cache, the rest is written. */
export class SessionPricer {
  readonly #price: PriceModel
  #previous: readonly SentPiece[] = []
  #previousAt: number | undefined
  #usage = NO_USAGE
  #cost = 0
  #inputCost = 0
  #cold = 0

  constructor(price: PriceModel) {
    this.#price = price
  }

  /** The usage that the provider would report for this request. */
  add(request: SentRequest): Usage {
    const { pieces, outputTokens, at } = request
    let tokens = 0
    for (const piece of pieces) tokens += piece.tokens
    const elapsedMs = at === undefined || this.#previousAt === undefined ? 0 : Math.max(0, at - this.#previousAt)
    const commonPrefixTokens = commonPrefix(this.#previous, pieces)
    const usage = simulateUsage(
      { tokens, commonPrefixTokens, outputTokens, elapsedSeconds: elapsedMs / 1000 },
      this.#price,
    )
    this.#usage = addUsage(this.#usage, usage)
    this.#cost += costOfUsage(usage, this.#price)
    this.#inputCost += costOfUsage({ ...usage, output: 0 }, this.#price)
    if (usage.cacheRead === 0 && this.#previous.length > 0) this.#cold++
    this.#previous = pieces
    this.#previousAt = at
    return usage
  }

  total(): SessionPrice {
    const usage = this.#usage
    return {
      usage,
      costUsd: this.#cost,
      inputCostUsd: this.#inputCost,
      cacheHitRate: usage.input === 0 ? 0 : usage.cacheRead / usage.input,
      coldCalls: this.#cold,
    }
  }
}

/** Tokens of the leading pieces that both requests share. Only whole pieces count, because caches work on whole blocks. */
export function commonPrefix(previous: readonly SentPiece[], next: readonly SentPiece[]): number {
  let tokens = 0
  for (let i = 0; i < next.length && i < previous.length; i++) {
    const [a, b] = [previous[i] as SentPiece, next[i] as SentPiece]
    if (a !== b && a.text !== b.text) break
    tokens += b.tokens
  }
  return tokens
}

/** What was sent for one call of the recording. */
export interface ReplayedCall {
  /** In order; the leading pieces that the previous call had too are read from the cache. */
  readonly pieces: readonly SentPiece[]
  /** The texts that the model could read, with calls in the form of `readableText`. */
  readonly texts: Iterable<string>
  /** The texts behind the view's handles, if a tool of the request can open them. */
  readonly reachable?: Iterable<string>
  /** What the client sent: the same parts, counted alike. */
  readonly whole: readonly SentPiece[]
  /** The engine refused the request with an error, so nothing was sent: it has no price, and no model read it. */
  readonly refused?: boolean
}

export interface ReplayReport extends Omit<SessionPrice, 'usage' | 'inputCostUsd'> {
  readonly quoteRecall: number
  readonly nameRecall: number
  readonly recoverableRecall: number
  readonly unmanagedCostUsd: number
}

/** Measures a session that is replayed call by call: its recall and price, and the price of sending everything. */
export class ReplayMeter {
  readonly #source: ReplaySource
  readonly #index: RecallIndex
  readonly #tally = new RecallTally()
  readonly #managed: SessionPricer
  readonly #unmanaged: SessionPricer

  constructor(source: ReplaySource, price: PriceModel) {
    this.#source = source
    this.#index = new RecallIndex(source)
    this.#managed = new SessionPricer(price)
    this.#unmanaged = new SessionPricer(price)
  }

  /** Usage that the provider would report for what left. */
  add(call: number, { pieces, texts, reachable, whole, refused = false }: ReplayedCall): Usage | undefined {
    const recorded = this.#source.calls[call]
    if (recorded === undefined) return undefined
    const view = this.#index.view(refused ? [] : texts)
    this.#tally.add(this.#index, call, view, reachable === undefined ? undefined : this.#index.view(reachable))
    // The answer costs the same under any policy.
    const rest = { outputTokens: 0, at: recorded.at }
    const usage = refused ? undefined : this.#managed.add({ pieces, ...rest })
    this.#unmanaged.add({ pieces: whole, ...rest })
    return usage
  }

  report(): ReplayReport {
    const { quoteRecall, nameRecall, recoverableRecall } = this.#tally.total()
    const { costUsd, cacheHitRate, coldCalls } = this.#managed.total()
    const unmanagedCostUsd = this.#unmanaged.total().costUsd
    return { quoteRecall, nameRecall, recoverableRecall, costUsd, unmanagedCostUsd, cacheHitRate, coldCalls }
  }
}
