import { handlesIn, type Handle } from '../../core/handles.ts'
import type { LogRecord } from '../../core/records.ts'

/** Handles in the fields that are ours to fill: one in a client's text is no promise of this store. */
export function handlesOfRecord(record: LogRecord): readonly Handle[] {
  if ('handle' in record) return handlesIn(record.handle ?? '')
  if (record.type !== 'epoch') return []
  return handlesIn(record.edits.map((edit) => ('handle' in edit ? (edit.handle ?? '') : '')).join(' '))
}
