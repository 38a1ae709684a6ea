import type { RecallIndex, ViewText } from './recall.ts'

/**
 * Shares of what the answers needed. A recall is the mean over the calls that needed anything, so that one call which repeats
 * a file of four hundred lines does not speak for the session; `pooled` weighs every quote and name alike.
 */
export interface Recall {
  readonly quoteRecall: number
  readonly nameRecall: number
  /** Quotes and names in the view, or behind something that the view mentions and a tool in the request can open. */
  readonly recoverableRecall: number
  readonly pooled: { readonly quoteRecall: number; readonly nameRecall: number; readonly recoverableRecall: number }
  /** Quotes and names that were needed, over all calls. */
  readonly quotes: number
  readonly names: number
}

/** Adds up what views kept of what the answers needed. */
export class RecallTally {
  readonly #quotes = new Share()
  readonly #names = new Share()
  readonly #recoverable = new Share()

  /** `reachable`: texts behind handles that the view mentions and that a tool in the request can open. */
  add(index: RecallIndex, call: number, view: ViewText, reachable?: ViewText): void {
    const { quotes, names } = index.needsOf(call)
    const lostQuotes = quotes.filter((line) => !view.contains(line))
    const lostNames = names.filter((name) => !view.names(name))
    const beyondReach =
      lostQuotes.filter((line) => reachable?.contains(line) !== true).length +
      lostNames.filter((name) => reachable?.names(name) !== true).length
    this.#quotes.add(quotes.length - lostQuotes.length, quotes.length)
    this.#names.add(names.length - lostNames.length, names.length)
    const all = quotes.length + names.length
    this.#recoverable.add(all - beyondReach, all)
  }

  total(): Recall {
    return {
      quoteRecall: this.#quotes.mean,
      nameRecall: this.#names.mean,
      recoverableRecall: this.#recoverable.mean,
      pooled: {
        quoteRecall: this.#quotes.pooled,
        nameRecall: this.#names.pooled,
        recoverableRecall: this.#recoverable.pooled,
      },
      quotes: this.#quotes.whole,
      names: this.#names.whole,
    }
  }
}

/** 1 when nothing was needed. */
class Share {
  #shares = 0
  #calls = 0
  #part = 0
  whole = 0

  add(part: number, whole: number): void {
    if (whole === 0) return
    this.#shares += part / whole
    this.#calls++
    this.#part += part
    this.whole += whole
  }

  get mean(): number {
    return this.#calls === 0 ? 1 : this.#shares / this.#calls
  }

  get pooled(): number {
    return this.whole === 0 ? 1 : this.#part / this.whole
  }
}
