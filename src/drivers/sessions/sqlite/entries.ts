import type { LogRecord } from '../../../core/records.ts'
import { keyOf, type RecordKey } from '../record-keys.ts'
import { encodeRecord } from '../record-text.ts'

/**
 * Records as an append needs them: of each its text, the index that finds it, and the two values of its key. All of it strings, one behind
 * the other: they pass to another thread for a tenth of what objects take.
 */
export type Entries = readonly string[]

const FIELDS = 4

export function entriesOf(records: readonly LogRecord[]): Entries {
  const entries: string[] = []
  for (const record of records) {
    const [index, first, second] = fieldsOf(keyOf(record))
    entries.push(encodeRecord(record), index, first, second)
  }
  return entries
}

function fieldsOf(key: RecordKey | undefined): readonly [index: string, first: string, second: string] {
  switch (key?.index) {
    case 'epoch':
      return ['epoch', key.cover, key.id]
    case 'undo':
      return ['undo', key.id, '']
    case 'edit':
      return ['edit', key.key, '']
    case 'item':
      return ['item', key.identity, key.text]
    case undefined:
      return ['', '', '']
  }
}

export interface Entry {
  /** The record's own text. */
  readonly record: string
  readonly key: RecordKey | undefined
}

export const countOf = (entries: Entries): number => entries.length / FIELDS

export function entryAt(entries: Entries, number: number): Entry {
  const at = number * FIELDS
  return { record: entries[at]!, key: keyIn(entries[at + 1]!, entries[at + 2]!, entries[at + 3]!) }
}

function keyIn(index: string, first: string, second: string): RecordKey | undefined {
  switch (index) {
    case 'epoch':
      return { index, cover: first, id: second }
    case 'undo':
      return { index, id: first }
    case 'edit':
      return { index, key: first }
    case 'item':
      return { index, identity: first, text: second }
    default:
      return undefined
  }
}
