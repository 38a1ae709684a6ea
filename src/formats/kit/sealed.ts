import { PlimsollError } from '../../core/errors.ts'
import type { Item } from '../../core/item.ts'
import { cutOut } from '../json/spans.ts'
import { recordOf } from '../../core/values.ts'

/** For items that only their issuer can check: an edit would turn them into something that it refuses. */
export function sealedError(item: Item): PlimsollError {
  return new PlimsollError('bad-input', `${item.id} is sealed: it can be dropped, not rewritten.`)
}

const SEAL = 40

/** What can be told of a ciphertext without carrying it around. */
export function sealedBy(ciphertext: string | undefined): Pick<Item, 'sealedCharacters' | 'seal'> {
  if (ciphertext === undefined || ciphertext === '') return {}
  const { length } = ciphertext
  return { sealedCharacters: length, seal: cutOut(ciphertext, Math.max(0, length - SEAL), length) }
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
