import type { Item } from '../../core/item.ts'
import type { EditedPrefix } from './edited-prefix-memo.ts'
import type { EpochView } from './epoch-view-memo.ts'

/** What was worked out for the last requests of a branch. Written in this folder only. */
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
