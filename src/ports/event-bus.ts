import type { PlimsollEvent } from '../core/events.ts'

/**
 * Carries live events to every process that shares a store: a dashboard on one proxy shows the work of all of them.
 *
 * Promises: `publish` never throws and never waits; an event reaches every subscriber that was connected when it was sent, its
 * own process included, at most once and in its sender's order. What must not be lost is in the archive, not here.
 */
export interface EventBus {
  readonly name: string
  /** Whose events these are: one name for each bus that was opened. */
  readonly sender: string
  publish(event: PlimsollEvent): void
  /** Returns the function that ends the subscription. */
  subscribe(listener: EventListener): () => void
  /** Resolves when everything published so far was sent or given up. */
  flush(): Promise<void>
  close(): Promise<void>
}

export type EventListener = (event: PlimsollEvent, sender: string) => void
