import type { LogRecord } from '../../core/records.ts'

/** What a record adds to the lookup indexes. The drivers index exactly this and nothing else. */
export type RecordKey =
  | { readonly index: 'epoch'; readonly cover: string; readonly id: string }
  | { readonly index: 'undo'; readonly id: string }
  | { readonly index: 'edit'; readonly key: string }
  | { readonly index: 'item'; readonly identity: string; readonly text: string }

export function keyOf(record: LogRecord): RecordKey | undefined {
  switch (record.type) {
    case 'epoch':
      return { index: 'epoch', cover: record.cover, id: record.id }
    case 'undo':
      return { index: 'undo', id: record.epoch }
    case 'edit':
      return { index: 'edit', key: record.key }
    case 'item-seen':
      return { index: 'item', identity: record.identity, text: record.text }
    default:
      return undefined
  }
}
