import type { LogRecord } from '../../../core/records.ts'
import { keyOf, type RecordKey } from '../record-keys.ts'
import { recordPieces } from '../record-text.ts'

/**
 * Records as an append needs them, made to pass to another thread: long ones as bytes, which move there, and everything else as strings, one
 * behind the other, which are copied for a tenth of what objects take.
 */
export interface Entries {
  /**
   * Of each record its text, the index that finds it, and the two values of its key. Of an item in `bytes` only what finds it: its words are
   * read from the store when they are indexed.
   */
  readonly strings: readonly string[]
  /** Long records. Whoever sends them elsewhere has them no more. */
  readonly bytes: Uint8Array<ArrayBuffer> | undefined
  /** Where each of those ends. */
  readonly ends: readonly number[]
}

const FIELDS = 4
/** Characters of an item's text from which on bytes cost less than a string in two threads. */
const LONG = 1_024

export function entriesOf(records: readonly LogRecord[]): Entries {
  const strings: string[] = []
  const long: string[][] = []
  for (const record of records) {
    const pieces = recordPieces(record)
    const [index, first, second] = fieldsOf(keyOf(record))
    if (index === 'item' && second.length >= LONG) {
      strings.push('', index, first, '')
      long.push(pieces)
    } else strings.push(pieces.join(''), index, first, second)
  }
  return long.length === 0 ? { strings, bytes: undefined, ends: [] } : { strings, ...written(long) }
}

/** Texts in pieces, one behind the other. */
function written(texts: readonly (readonly string[])[]): { bytes: Uint8Array<ArrayBuffer>; ends: readonly number[] } {
  let size = 0
  for (const pieces of texts) for (const piece of pieces) size += Buffer.byteLength(piece)
  // Of its own: one that shares its memory with others cannot move.
  const bytes = Buffer.allocUnsafeSlow(size)
  let at = 0
  const ends = texts.map((pieces) => {
    for (const piece of pieces) at += bytes.write(piece, at)
    return at
  })
  return { bytes, ends }
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
  readonly record: string | Uint8Array
  readonly key: RecordKey | undefined
}

export const countOf = ({ strings }: Entries): number => strings.length / FIELDS

export function entriesIn({ strings, bytes, ends }: Entries): Entry[] {
  const entries: Entry[] = []
  let from = 0
  let next = 0
  for (let at = 0; at < strings.length; at += FIELDS) {
    const key = keyIn(strings[at + 1]!, strings[at + 2]!, strings[at + 3]!)
    let record: Entry['record'] = strings[at]!
    if (record === '') {
      const end = ends[next++]!
      record = bytes!.subarray(from, end)
      from = end
    }
    entries.push({ record, key })
  }
  return entries
}

/** What finds them; also where their bytes have moved elsewhere. */
export function* keysIn({ strings }: Entries): Generator<RecordKey> {
  for (let at = 0; at < strings.length; at += FIELDS) {
    const key = keyIn(strings[at + 1]!, strings[at + 2]!, strings[at + 3]!)
    if (key !== undefined) yield key
  }
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
