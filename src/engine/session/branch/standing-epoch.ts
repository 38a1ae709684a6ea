import type { Epoch } from '../../../core/records.ts'
import type { EpochChange } from './branch-log.ts'

/** The epoch that the requests of a branch stand under, as far as it is known. */
export class StandingEpoch {
  #epoch: Epoch | undefined

  get epoch(): Epoch | undefined {
    return this.#epoch
  }

  /** It was declared, or found for what the client sends. */
  take(epoch: Epoch): void {
    this.#epoch = epoch
  }

  /** What it covers is gone. */
  orphan(): void {
    this.#epoch = undefined
  }

  /** The log holds another decision. */
  follow(change: EpochChange): void {
    if ('stands' in change) this.#epoch = change.stands
    else if (this.#epoch?.id === change.undone) this.#epoch = undefined
  }
}
