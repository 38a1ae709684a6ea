import type { Splice } from '../../core/codec.ts'
import type { Plan } from '../../core/edits.ts'
import type { Item } from '../../core/item.ts'

/** What an epoch makes of the items that it covers. It stays as it is while the history grows behind it. */
export interface EpochView extends Shown {
  readonly epoch: string
  /** The covered items and the one behind them, in front of which an epoch may insert. */
  readonly covered: readonly Item[]
  /** Texts of the first-send edits among them. */
  readonly firstSend: readonly string[]
}

/** A history as the model gets to see it. */
export interface Shown {
  readonly plan: Plan
  readonly items: readonly Item[]
  /** Thinking in it is bound to a prefix that is gone. */
  readonly stale: boolean
}

/**
 * The beginning of a reduced request, up to the last thing that was changed in it. Requests after it have the same beginning, and behind
 * it the client's own bytes: nothing of either has to be written or read again.
 */
export interface EditedPrefix {
  readonly text: string
  readonly bytes: number
  readonly messages: readonly unknown[]
  /** The items of it. */
  readonly items: readonly Item[]
  /** Edits that it has. */
  readonly edits: number
  /** Items in it that the client's body has otherwise, or not at all. */
  readonly changed: number
  /** What was changed in it before its messages. */
  readonly before: readonly Splice[]
  /** The client's message that it ends with; where that one ends in the client's body, and how many bytes that is. */
  readonly message: number
  readonly from: number
  readonly sourceBytes: number
}

/** What leaves, and how it was made. */
export interface Outgoing {
  readonly text: string
  readonly bytes: number
  /** What it begins with, where that was written before. */
  readonly editedPrefix: EditedPrefix | undefined
  /** What the client's own text was changed by, in order; undefined where nothing was, or it was written otherwise. */
  readonly splices: readonly Splice[] | undefined
}

/** What was worked out for the last requests of a branch. */
export class BranchMemo {
  #epochView: EpochView | undefined
  #editedPrefix: EditedPrefix | undefined
  #archived: readonly Item[] = []

  /** What the standing epoch makes of the items that it covers. */
  get epochView(): EpochView | undefined {
    return this.#epochView
  }

  /** What reduced requests begin with since the last change. */
  get editedPrefix(): EditedPrefix | undefined {
    return this.#editedPrefix
  }

  /** The items of the last request that the archive holds as a whole. */
  get archived(): readonly Item[] {
    return this.#archived
  }

  keepEpochView(view: EpochView): void {
    this.#epochView = view
  }

  keepEditedPrefix(prefix: EditedPrefix): void {
    this.#editedPrefix = prefix
  }

  keepArchived(items: readonly Item[]): void {
    this.#archived = items
  }
}
