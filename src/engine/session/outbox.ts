import type { Epoch, FirstSendEdit, LogRecord } from '../../core/records.ts'
import type { ArtifactMeta } from '../../ports/artifact-store.ts'

/** What could not be written while the store was away, in memory until it is back. */
export interface Outbox {
  readonly records: LogRecord[]
  readonly epochs: Epoch[]
  readonly artifacts: Map<string, { readonly bytes: Uint8Array; readonly meta: ArtifactMeta }>
  artifactBytes: number
  /** The store is not asked again before this time: each question may wait for a timeout. */
  quietUntil: number
  /** Calls of the store that failed in a row. */
  failures: number
}

/** Beyond this the client's own transcript, sent again whole, is the only copy until the store is back. */
const MAX_ARTIFACT_BYTES = 64 * 1024 * 1024
const MAX_RECORDS = 10_000

export const newOutbox = (): Outbox => ({
  records: [],
  epochs: [],
  artifacts: new Map(),
  artifactBytes: 0,
  quietUntil: 0,
  failures: 0,
})

export const isEmpty = ({ records, epochs, artifacts }: Outbox): boolean =>
  records.length + epochs.length + artifacts.size === 0

/** Items are left out: the next request shows them again, and they are archived then. */
export function keepRecords(outbox: Outbox, records: readonly LogRecord[]): void {
  const kept = records.filter(({ type }) => type === 'edit' || type === 'audit' || type === 'usage')
  outbox.records.push(...kept.slice(0, Math.max(0, MAX_RECORDS - outbox.records.length)))
}

/** False when there is no room for it. */
export function keepArtifact(outbox: Outbox, handle: string, bytes: Uint8Array, meta: ArtifactMeta): boolean {
  if (outbox.artifacts.has(handle)) return true
  if (outbox.artifactBytes + bytes.length > MAX_ARTIFACT_BYTES) return false
  outbox.artifacts.set(handle, { bytes, meta })
  outbox.artifactBytes += bytes.length
  return true
}

/** Characters of first-send edits that a branch keeps in memory for the time when nobody can be asked for them. */
const MAX_EDIT_CHARACTERS = 1024 * 1024

/** The newest first-send edits, under a bound. */
export interface EditMemory {
  readonly byKey: Map<string, FirstSendEdit>
  characters: number
}

export function rememberEdit(memory: EditMemory, edit: FirstSendEdit): void {
  if (memory.byKey.has(edit.key)) return
  memory.byKey.set(edit.key, edit)
  memory.characters += edit.text.length
  for (const [key, oldest] of memory.byKey) {
    if (memory.characters <= MAX_EDIT_CHARACTERS) break
    memory.byKey.delete(key)
    memory.characters -= oldest.text.length
  }
}
