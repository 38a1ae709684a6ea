import { PlimsollError } from '../../core/errors.ts'
import type { ByteRange } from '../../ports/artifact-store.ts'

/** The part of `size` bytes that a range names; what lies beyond the end is empty, not an error. */
export function clampRange(range: ByteRange | undefined, size: number): { start: number; end: number } {
  const { start, end = size } = range ?? { start: 0 }
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start) {
    throw new PlimsollError(
      'bad-input',
      `A byte range needs whole numbers with 0 <= start <= end; this one is ${start} to ${range?.end ?? 'the end'}.`,
    )
  }
  return { start: Math.min(start, size), end: Math.min(end, size) }
}
