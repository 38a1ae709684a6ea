import type { Clock } from '../../ports/clock.ts'
import type { MaintainedStore } from '../../ports/store-maintenance.ts'

/** One empty store under test. */
export interface StoreSubject {
  /** A handle on the subject's data; a second one stands for a second process. Closed by the subject. */
  open(options?: { clock?: Clock }): MaintainedStore | Promise<MaintainedStore>
  /** Closes every handle and removes the data. */
  dispose(): Promise<void>
}

/** One promise of the contract, runnable under any test runner: it resolves or it throws. */
export interface StoreCase {
  readonly name: string
  /** Needs data that outlives a handle; memory has none. */
  readonly durable?: true
  run(subject: StoreSubject): Promise<void>
}

/** A clock that moves when told to. */
export function manualClock(start = 1_000_000): Clock & { advance(ms: number): void } {
  let now = start
  return {
    now: () => now,
    advance(ms) {
      now += ms
    },
  }
}
