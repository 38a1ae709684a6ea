import type { ItemSeen } from '../core/records.ts'

/** Texts of records as JSON, from the requests that they came in: whoever writes a record need not write its text again. */
const known = new WeakMap<ItemSeen, string>()

export const noteQuoted = (record: ItemSeen, quoted: string): void => void known.set(record, quoted)

export const quotedTextOf = (record: ItemSeen): string => known.get(record) ?? JSON.stringify(record.text)
