import { InvalidArgumentError } from 'commander'
import { readNumber } from '../../settings/schema/read-number.ts'

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

const SHORT_UNITS: Readonly<Record<string, number>> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }

/** `65536`, `64KiB` and `16MB` as settings files have them, and `64m` or `1g` as other servers take them. */
function bytesIn(text: string): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?)([kmg])$/i.exec(text.trim()) ?? []
  const value =
    unit === undefined ? readNumber(text, 'bytes') : Math.floor(Number(number) * SHORT_UNITS[unit.toLowerCase()]!)
  return value === undefined || !Number.isInteger(value) ? undefined : value
}

/** Reads a size in bytes. */
export function byteCount(text: string): number {
  const value = bytesIn(text)
  if (value === undefined || value < 1)
    throw new InvalidArgumentError('It should be a number of bytes such as 65536, 64KiB, 16MB or 64m.')
  return value
}

const LEAST_MEMORY = 2 ** 24

/** Reads an amount of memory. */
export function memorySize(text: string): number {
  const value = bytesIn(text)
  if (value === undefined || value < LEAST_MEMORY)
    throw new InvalidArgumentError('It should be an amount of memory of at least 16m, such as 256m, 1g or 256MiB.')
  return value
}

/** Names between commas. */
export function nameList(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.some((name) => name === '')) throw new InvalidArgumentError('It should be names separated by commas.')
  return names
}
