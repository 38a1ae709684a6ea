import type { Proposal } from '../../epoch/cascade/draft.ts'
import type { RunningWork } from '../background-work.ts'

/** The history that a background summary stands for, by its chain hash and length, and the epoch that stood when it was planned. */
export interface SummarisedHistory {
  readonly chain: string
  readonly count: number
  readonly standing: string | undefined
}

/** A summary that is being written, or was written and waits for its request. Memory only: what counts is the epoch's record. */
export interface BackgroundSummary extends SummarisedHistory {
  /** The plan with a model's words in it; undefined while it is being written, or when there are none. */
  readonly proposal: Proposal | undefined
  readonly isOver: boolean
}

/** Room for one background summary. */
export class BackgroundSlot {
  #summary: BackgroundSummary | undefined
  #work: RunningWork | undefined
  #startedAt = 0

  get summary(): BackgroundSummary | undefined {
    return this.#summary
  }

  /** The load at which the last one was started. */
  get startedAt(): number {
    return this.#startedAt
  }

  /** Whether one is being written: an epoch that nothing forces waits for it. */
  get isWriting(): boolean {
    return this.#summary !== undefined && !this.#summary.isOver
  }

  /** `run` starts the work, and says through `finish` how it ended; undefined when nothing may be started any more. */
  start(
    history: SummarisedHistory,
    load: number,
    run: (finish: (proposal: Proposal | undefined) => void) => RunningWork | undefined,
  ): void {
    this.#startedAt = load
    let own: BackgroundSummary = { ...history, proposal: undefined, isOver: false }
    const work = run((proposal) => {
      const before = own
      own = { ...own, proposal, isOver: true }
      if (this.#summary === before) this.#summary = own
    })
    if (work === undefined) return
    this.#summary = own
    this.#work = work
  }

  /** Ends the work, if it still goes on. */
  drop(): void {
    this.#work?.abort()
    this.#work = undefined
    this.#summary = undefined
  }
}
