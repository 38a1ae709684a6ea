import { PlimsollError } from '../../core/errors.ts'

/** One part of a path as it was meant. @throws PlimsollError `bad-input` */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new PlimsollError('bad-input', 'The path has a % that is not followed by two hexadecimal digits.', { cause })
  }
}
