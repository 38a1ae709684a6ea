import type { Link } from '../../core/chain.ts'
import type { Count } from '../../core/count.ts'
import type { Item } from '../../core/item.ts'

/** An item whose count may be wrong, and the link of the history that ends with it. */
export interface Suspect {
  readonly item: Item
  readonly count: Count
  readonly chain: string
}

interface Size {
  readonly chain: string
  /** Tokens beyond the count; fewer where it was too high. */
  readonly more: number
  /** Of its text; none where it shows more than text. */
  readonly characters: number
  /** An answer said so, and not only a refusal. */
  readonly isMeasured: boolean
}

/** What we inserted comes anew with each epoch: what was missed of one may be missed of the next. */
const nameOf = ({ id, message }: Item): string => (message < 0 ? 'inserted' : id)

/** However sure a count is, a little of it may be wrong. */
const LEAST_DOUBT = 0.02
/** Ordinary text has about so many characters to a token at least, and at most; of a count below that, much is doubtful. */
const USUAL_CHARACTERS = 4
const MOST_CHARACTERS = 6

const missingIn = ({ item: { text }, count: { tokens } }: Suspect, charactersPerToken: number): number =>
  Math.max(0, text.length / charactersPerToken - tokens)

const doubtOf = (suspect: Suspect): number => {
  const { tokens, high, unsure = 0 } = suspect.count
  return high - tokens + unsure + tokens * LEAST_DOUBT + missingIn(suspect, USUAL_CHARACTERS)
}

/** What no other text explains: an unseen size, or far fewer tokens than such a text can have. */
const oddDoubtOf = (suspect: Suspect): number => (suspect.count.unsure ?? 0) + missingIn(suspect, MOST_CHARACTERS)

/** Which items the excess is in is a guess: a view that keeps some of them has to fit where it is all in those. */
const UNSURE = 1.15

/**
 * How large items really are, where the provider's counts told it and ours did not: what a refused request held beyond our estimate, and what
 * an answer said about files whose size cannot be seen. It is laid on the items that no answer had measured, by how unsure each count was; the first
 * answer to them corrects it, and it leaves with them. Limits stay what they are. Memory only: another process learns it again.
 */
export class ItemSizes {
  /** Beyond our counts, in the last measured request. */
  inLast = 0
  /** The last link of a refused history, and tokens that wait to be laid on its items when it is read again. */
  #refused: { readonly chain: string; readonly excess: number } | undefined
  readonly #sizes = new Map<string, Size>()

  /** Of a refused request the provider counted so many tokens more than we. */
  refused(chain: string, excess: number): void {
    this.#refused = excess > 0 ? { chain, excess } : undefined
  }

  isWaiting(links: readonly Link[]): boolean {
    return this.#refused !== undefined && links.some(({ chain }) => chain === this.#refused?.chain)
  }

  /**
   * Gets the items of the refused view that no answer had measured. Tokens that odd items do not explain are handed to `ofAll`: if it takes them
   * for the tokenizer's, no item holds more.
   */
  settle(suspects: readonly Suspect[], ofAll: (excess: number) => boolean): void {
    const excess = this.#refused?.excess ?? 0
    this.#refused = undefined
    const odd = suspects.reduce((sum, suspect) => sum + oddDoubtOf(suspect), 0)
    if (odd < excess / 2 && ofAll(excess)) return
    this.#lay(suspects, excess * UNSURE, false)
  }

  /** An answer counted so many tokens more than we had in a request with these suspects. */
  answered(suspects: readonly Suspect[], excess: number): void {
    this.#lay(suspects, excess, true)
  }

  /** Undefined where nothing was told; whether an answer said it, or only a refusal. */
  isMeasured(item: Item): boolean | undefined {
    return this.#sizes.get(nameOf(item))?.isMeasured
  }

  /** Tokens in an item of this history beyond its count; undefined where there are none in any. */
  within(links: readonly Link[]): ((item: Item) => number) | undefined {
    if (this.#sizes.size === 0) return undefined
    const chains = new Set(links.map(({ chain }) => chain))
    return (item) => {
      const { edited, text } = item
      const size = this.#sizes.get(nameOf(item))
      if (size === undefined || !chains.has(size.chain)) return 0
      if (edited !== true) return size.more
      // A text that was shortened holds its share of them; in the place of a file stands something else.
      return size.characters === 0 ? 0 : Math.ceil(size.more * Math.min(1, text.length / size.characters))
    }
  }

  #lay(suspects: readonly Suspect[], excess: number, isMeasured: boolean): void {
    const all = suspects.reduce((sum, suspect) => sum + doubtOf(suspect), 0)
    if (all === 0) return
    for (const suspect of suspects) {
      const { item, count, chain } = suspect
      const before = this.#sizes.get(nameOf(item))
      const more = (before?.chain === chain ? before.more : 0) + Math.ceil((excess * doubtOf(suspect)) / all)
      const characters = item.media === undefined ? item.text.length : 0
      const isOurs = item.message < 0
      const size = { chain, more: Math.max(-count.tokens, more), characters, isMeasured: isMeasured && !isOurs }
      this.#sizes.set(nameOf(item), size)
    }
  }
}
