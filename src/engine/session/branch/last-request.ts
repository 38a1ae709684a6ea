import type { Link } from '../../../core/chain.ts'
import type { Conversation } from '../../../core/conversation.ts'
import type { Item } from '../../../core/item.ts'
import type { FirstSendEdit } from '../../../core/records.ts'
import type { Limit, Load } from '../../../core/target.ts'
import type { FoundEpoch } from '../../../ports/session-store.ts'
import type { Readers } from '../../readers/reader-tools.ts'

export interface ChainedItems {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
}

/** A request as it was prepared. */
export interface Sent extends ChainedItems {
  readonly model: string
  readonly load: Load
  readonly limit: Limit
  /** What it asked for beside its history: its output cap among others. */
  readonly asked: Pick<Conversation, 'format' | 'settings'>
  /** Readers that it declared. */
  readonly readers: Readers
}

/** A request, and what stood for it: the next one asks only about what it adds. */
export interface Trail extends ChainedItems {
  readonly epochs: readonly FoundEpoch[]
  readonly firstSend: ReadonlyMap<number, FirstSendEdit>
  /** Decisions that the log held then; with another one what stood has to be asked again. */
  readonly decisions: number
}

/** Calls that the growth is taken from. */
const MOST_GROWTH = 10

/** The last request that this process prepared. */
export class LastRequest {
  readonly #sent = new Set<string>()
  #last: Sent | undefined
  #trail: Trail | undefined
  #growth: readonly number[] = []
  #isHigh = false

  /** Chain hashes of every history that was prepared. */
  get sent(): ReadonlySet<string> {
    return this.#sent
  }

  get last(): Sent | undefined {
    return this.#last
  }

  /** Growth of the load over the last calls, epochs left out. */
  get growth(): readonly number[] {
    return this.#growth
  }

  /** What stood for the last request, while the log holds no other decision. */
  trail(decisions: number): Trail | undefined {
    return this.#trail?.decisions === decisions ? this.#trail : undefined
  }

  /** A request is ready to leave. `known`: links that the one before had as well; without a trail the next one asks about everything. */
  prepared(request: Sent, { known, trail, isReduced }: Preparing): void {
    for (const { chain } of request.links.slice(known)) this.#sent.add(chain)
    const before = this.#last
    if (!isReduced && before?.model === request.model) {
      const grown = request.load.count.high - before.load.count.high
      this.#growth = [...this.#growth.slice(1 - MOST_GROWTH), grown]
    }
    this.#last = request
    this.#trail = trail
  }

  /** What memory said in the store's place has to be asked again. */
  forgetTrail(): void {
    this.#trail = undefined
  }

  /** Notes whether a request came in at or above high water; true when the one before did not. */
  rose(isHigh: boolean): boolean {
    const wasHigh = this.#isHigh
    this.#isHigh = isHigh
    return isHigh && !wasHigh
  }
}

export interface Preparing {
  readonly known: number
  readonly trail: Trail | undefined
  /** It declared an epoch: its load says nothing about growth. */
  readonly isReduced: boolean
}
