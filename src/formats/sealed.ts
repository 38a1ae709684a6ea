import { PlimsollError } from '../core/errors.ts'
import type { Item } from '../core/item.ts'
import { recordOf } from './reading.ts'

/** For items that only their issuer can check: an edit would turn them into something that it refuses. */
export function sealedError(item: Item): PlimsollError {
  return new PlimsollError('bad-input', `${item.id} is sealed: it can be dropped, not rewritten.`)
}

/** A call's arguments must be an object on every wire; other text is carried inside one. */
export function objectJson(text: string): string {
  try {
    if (recordOf(JSON.parse(text)) !== undefined) return text
  } catch {
    // Not JSON: wrapped below.
  }
  return JSON.stringify({ note: text })
}
