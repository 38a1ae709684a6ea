import { InvalidArgumentError } from 'commander'
import { readNumber } from '../../../config/schema/read-number.ts'

/** Reads a number of tokens as settings files have it: `200000`, `200k`, `1.5M`, `200_000`. */
export function tokenCount(text: string): number {
  const value = readNumber(text, 'tokens')
  if (value === undefined || !Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It should be a number of tokens such as 200000 or 200k.')
  return value
}

/** Several of them: `16k,32k,64k`. `200,000` is one. */
export const tokenCounts = (text: string): number[] =>
  /^\d{1,3}(?:,\d{3})+$/.test(text) ? [tokenCount(text)] : text.split(',').map((part) => tokenCount(part.trim()))

/** Reads a size in bytes: `65536`, `64KiB`, `16MB`. */
export function byteCount(text: string): number {
  const value = readNumber(text, 'bytes')
  if (value === undefined || !Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It should be a number of bytes such as 65536, 64KiB or 16MB.')
  return value
}

/** Names between commas. */
export function nameList(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.some((name) => name === '')) throw new InvalidArgumentError('It should be names between commas.')
  return names
}
