import type { PriceModel } from '../../core/price.ts'
import { RecallIndex } from './recall.ts'
import { SessionPricer, type SentPiece, type SentRequest } from './session-price.ts'
import { readableText, type ReplaySource } from './source.ts'
import { RecallTally } from './tally.ts'

export interface ReplayMeterOptions {
  readonly price: PriceModel
  /** Tokens of a text, as the price of both the managed and the unmanaged session is counted. */
  readonly countText: (text: string) => number
  /** Prices what the model produced, too. @default false: a context manager does not change it */
  readonly priceOutput?: boolean
}

/** What left for one call of the recording. */
export interface ReplayedCall {
  /** In order; what shares its beginning with the call before is read from the cache. */
  readonly pieces: readonly SentPiece[]
  /** What the model could read in it, arguments of calls as `readableText` gives them. */
  readonly texts: Iterable<string>
  /** What the view's handles lead to, if a tool in the request can open them. */
  readonly reachable?: Iterable<string>
  /** Declarations of the client's own tools: sending everything sends them as well. */
  readonly tools?: readonly SentPiece[]
  /** The engine refused the request with an error: nothing was sent, so it has no price and nobody could read it. */
  readonly refused?: boolean
  readonly overflow?: boolean
  readonly invalid?: boolean
  /** Requests that a summarizer needed on the way. */
  readonly summaries?: readonly Omit<SentRequest, 'purpose'>[]
  readonly epochs?: number
  /** Original items that are neither in the view nor in the archive. */
  readonly lost?: number
}

export interface ReplayReport {
  readonly calls: number
  readonly messages: number
  readonly overflows: number
  readonly invalid: number
  readonly lost: number
  /** Calls that were answered with an error instead of a request. */
  readonly refused: number
  readonly epochs: number
  readonly summarizerCalls: number
  readonly peakLoad: number
  readonly quoteRecall: number
  readonly nameRecall: number
  readonly recoverableRecall: number
  readonly costUsd: number
  readonly unmanagedCostUsd: number
  readonly cacheHitRate: number
}

/** Measures a session that is lived again call by call: recall and price, beside the price of sending everything. */
export class ReplayMeter {
  readonly #source: ReplaySource
  readonly #options: ReplayMeterOptions
  readonly #index: RecallIndex
  readonly #tally = new RecallTally()
  readonly #managed: SessionPricer
  readonly #unmanaged: SessionPricer
  readonly #original: readonly SentPiece[]
  #calls = 0
  #overflows = 0
  #invalid = 0
  #lost = 0
  #refused = 0
  #epochs = 0
  #summarizerCalls = 0

  constructor(source: ReplaySource, options: ReplayMeterOptions) {
    this.#source = source
    this.#options = options
    this.#index = new RecallIndex(source)
    this.#managed = new SessionPricer(options.price)
    this.#unmanaged = new SessionPricer(options.price)
    const pieces = source.messages.map(({ parts }): SentPiece => {
      const text = parts.map((part) => part.text).join('\n')
      return { text, tokens: parts.reduce((sum, part) => sum + options.countText(part.text), 0) }
    })
    const head = source.system
    this.#original = head === undefined ? pieces : [{ text: head, tokens: options.countText(head) }, ...pieces]
  }

  /** What the answer to a call took from before it. */
  get index(): RecallIndex {
    return this.#index
  }

  add(call: number, replayed: ReplayedCall): void {
    const recorded = this.#source.calls[call]
    if (recorded === undefined) return
    const { pieces, texts, reachable, summaries = [], tools = [], refused = false } = replayed
    const view = this.#index.view(refused ? [] : texts)
    this.#tally.add(this.#index, call, view, reachable === undefined ? undefined : this.#index.view(reachable))
    for (const summary of summaries) this.#managed.add({ ...summary, purpose: 'summary' })
    const outputTokens = this.#options.priceOutput === true ? this.#outputTokens(call) : 0
    const timed = recorded.at === undefined ? {} : { at: recorded.at }
    if (!refused) this.#managed.add({ pieces, outputTokens, ...timed })
    const headPieces = this.#source.system === undefined ? 0 : 1
    const everything = [...tools, ...this.#original.slice(0, headPieces + recorded.to)]
    this.#unmanaged.add({ pieces: everything, outputTokens, ...timed })
    this.#calls++
    this.#summarizerCalls += summaries.length
    this.#epochs += replayed.epochs ?? 0
    this.#lost += replayed.lost ?? 0
    if (refused) this.#refused++
    if (replayed.overflow === true) this.#overflows++
    if (replayed.invalid === true) this.#invalid++
  }

  report(): ReplayReport {
    const { quoteRecall, nameRecall, recoverableRecall } = this.#tally.total()
    const managed = this.#managed.total()
    return {
      calls: this.#calls,
      messages: this.#source.messages.length,
      overflows: this.#overflows,
      invalid: this.#invalid,
      lost: this.#lost,
      refused: this.#refused,
      epochs: this.#epochs,
      summarizerCalls: this.#summarizerCalls,
      peakLoad: managed.peakTokens,
      quoteRecall,
      nameRecall,
      recoverableRecall,
      costUsd: managed.costUsd,
      unmanagedCostUsd: this.#unmanaged.total().costUsd,
      cacheHitRate: managed.cacheHitRate,
    }
  }

  #outputTokens(call: number): number {
    const parts = this.#source.calls[call]?.response.parts ?? []
    return parts.reduce((sum, part) => sum + this.#options.countText(readableText(part)), 0)
  }
}
