import { EXCERPT_END } from '../markers.ts'
import { byteLength, cutHeadBytes } from '../text.ts'
import type { Guarded } from './guard.ts'

/**
 * contextguard shortens nothing at intake; its mechanical fallback keeps the first 200 bytes of each text and three dots.
 * Deviation: the original could end inside a character (promise 2, *valid*).
 */
export function excerpt(text: string, maxBytes = 200): Guarded<string> {
  const bytes = byteLength(text)
  if (bytes <= maxBytes) return { value: text, cuts: [] }
  const kept = cutHeadBytes(text, maxBytes)
  return {
    value: kept + EXCERPT_END,
    cuts: [{ guard: 'contextguard', what: 'text', original: bytes, shown: byteLength(kept) }],
  }
}
