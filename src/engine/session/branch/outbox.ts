import type { Epoch, LogRecord } from '../../../core/records.ts'
import type { ArtifactMeta } from '../../../ports/artifact-store.ts'

interface WaitingArtifact {
  readonly bytes: Uint8Array
  readonly meta: ArtifactMeta
}

/** What waits to be written. */
export interface Waiting {
  readonly records: readonly LogRecord[]
  readonly epochs: readonly Epoch[]
  readonly artifacts: readonly WaitingArtifact[]
}

/** Beyond this the client's own transcript, sent again whole, is the only copy until the store is back. */
const MOST_ARTIFACT_BYTES = 64 * 1024 * 1024
const MOST_RECORDS = 10_000
/** Between two attempts to reach a store that was away. */
const QUIET_MS = 1_000

/** What could not be written while the store was away, in memory until it is back. */
export class Outbox {
  #records: LogRecord[] = []
  #epochs: Epoch[] = []
  #artifacts = new Map<string, WaitingArtifact>()
  #artifactBytes = 0
  #quietUntil = 0
  #failures = 0

  get records(): readonly LogRecord[] {
    return this.#records
  }

  get epochs(): readonly Epoch[] {
    return this.#epochs
  }

  get isEmpty(): boolean {
    return this.#records.length + this.#epochs.length + this.#artifacts.size === 0
  }

  /** The store is not asked again yet: each question may wait for a timeout. */
  isQuiet(now: number): boolean {
    return now < this.#quietUntil
  }

  /** A call of the store failed. */
  failed(now: number): void {
    // One broken connection is no outage: the next call asks again and flushes the outbox, before another process is asked.
    this.#quietUntil = this.#failures++ === 0 ? 0 : now + QUIET_MS
  }

  answered(): void {
    this.#failures = 0
  }

  /** Items are left out: the next request shows them again, and they are archived then. */
  addRecords(records: readonly LogRecord[]): void {
    const kept = records.filter(({ type }) => type === 'edit' || type === 'audit' || type === 'usage')
    this.#records.push(...kept.slice(0, Math.max(0, MOST_RECORDS - this.#records.length)))
  }

  addEpoch(epoch: Epoch): void {
    this.#epochs.push(epoch)
  }

  /** False when there is no room for it. */
  addArtifact(handle: string, artifact: WaitingArtifact): boolean {
    if (this.#artifacts.has(handle)) return true
    if (this.#artifactBytes + artifact.bytes.length > MOST_ARTIFACT_BYTES) return false
    this.#artifacts.set(handle, artifact)
    this.#artifactBytes += artifact.bytes.length
    return true
  }

  /** Takes everything out, to be written. */
  take(): Waiting {
    const waiting = { records: this.#records, epochs: this.#epochs, artifacts: [...this.#artifacts.values()] }
    this.#records = []
    this.#epochs = []
    this.#artifacts = new Map()
    this.#artifactBytes = 0
    return waiting
  }
}
