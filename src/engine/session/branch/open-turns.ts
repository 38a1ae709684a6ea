import type { Count } from '../../../core/count.ts'
import type { LogRecord, MeasuredRequest } from '../../../core/records.ts'
import type { Limit, Thresholds } from '../../../core/target.ts'

/** Records that wait for the answer to be written with. */
export interface Unwritten {
  /** Worked out when the answer is there. */
  records(): Promise<readonly LogRecord[]>
  /** They are in the log. */
  written(): void
}

/** A prepared request whose response has not been recorded yet. */
export interface OpenTurn {
  readonly id: string
  readonly model: string
  readonly endpoint?: string
  readonly format: string
  readonly limit: Limit
  readonly thresholds: Thresholds
  readonly measured: MeasuredRequest
  /** Raw tokens of the whole request. */
  readonly estimated: number
  /** Its tokens as the meter saw them, a design's formula left aside. */
  readonly count: Count
  /** Whoever gets it refuses what is too long. */
  readonly refusesOverflow: boolean
  /** The provider holds the history before it. */
  readonly isChained: boolean
  /** Held against the budgets until the answer's cost is known. */
  readonly reservation?: string
  readonly epoch?: string
  /** It was made a closing turn, because the context was used up. */
  readonly isClosing: boolean
  readonly startedAt: number
  /** What the log does not hold of this request yet; written together with its answer. */
  readonly unwritten?: Unwritten
}

/** Requests that wait for their answer. */
export class OpenTurns {
  readonly #open = new Map<string, OpenTurn>()
  #count = 0

  /** The highest number that was given out. */
  get count(): number {
    return this.#count
  }

  /** An id that no turn of the log has. */
  newId(inLog: number): string {
    this.#count = Math.max(this.#count, inLog) + 1
    return `turn-${this.#count}`
  }

  open(turn: OpenTurn): void {
    this.#open.set(turn.id, turn)
  }

  /** Each can be closed once. */
  close(id: string): OpenTurn | undefined {
    const turn = this.#open.get(id)
    this.#open.delete(id)
    return turn
  }
}
