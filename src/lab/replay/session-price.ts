import { costOfUsage, simulateUsage } from '../../core/price.ts'
import type { PriceModel } from '../../core/price.ts'
import { addUsage, NO_USAGE, type Usage } from '../../core/usage.ts'

/** A piece of a request in the order it was sent: the head, then each message. Equal texts are equal bytes on the wire. */
export interface SentPiece {
  readonly text: string
  readonly tokens: number
}

export interface SentRequest {
  readonly pieces: readonly SentPiece[]
  readonly outputTokens: number
  /** Milliseconds; without it the cache counts as warm. */
  readonly at?: number
  /** A summarizer's request has a prefix of its own, and leaves the session's cache as it is. @default 'turn' */
  readonly purpose?: 'turn' | 'summary'
}

export interface SessionPrice {
  readonly usage: Usage
  readonly costUsd: number
  /** The part of it that is input: what a context manager can change. */
  readonly inputCostUsd: number
  /** Cached share of all prompt tokens. */
  readonly cacheHitRate: number
  readonly peakTokens: number
}

/** Prices a session call by call: what the request shares with the one before it is read from the cache, the rest is written. */
export class SessionPricer {
  readonly #price: PriceModel
  #previous: readonly SentPiece[] = []
  #previousAt: number | undefined
  #usage = NO_USAGE
  #cost = 0
  #inputCost = 0
  #peak = 0

  constructor(price: PriceModel) {
    this.#price = price
  }

  /** Usage that the provider would report for this request. */
  add(request: SentRequest): Usage {
    const { pieces, outputTokens, at, purpose = 'turn' } = request
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
    if (purpose === 'turn') {
      this.#peak = Math.max(this.#peak, tokens)
      this.#previous = pieces
      this.#previousAt = at
    }
    return usage
  }

  total(): SessionPrice {
    const usage = this.#usage
    return {
      usage,
      costUsd: this.#cost,
      inputCostUsd: this.#inputCost,
      cacheHitRate: usage.input === 0 ? 0 : usage.cacheRead / usage.input,
      peakTokens: this.#peak,
    }
  }
}

/** Tokens of the pieces that both requests begin with. A piece that differs ends it: caches work on whole blocks. */
export function commonPrefix(previous: readonly SentPiece[], next: readonly SentPiece[]): number {
  let tokens = 0
  for (let i = 0; i < next.length && i < previous.length; i++) {
    const [a, b] = [previous[i] as SentPiece, next[i] as SentPiece]
    if (a !== b && a.text !== b.text) break
    tokens += b.tokens
  }
  return tokens
}
