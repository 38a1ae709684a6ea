import { InvalidArgumentError } from 'commander'

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1_000, m: 1_000_000 }

/** Reads a number of tokens as people write it: `200000`, `200k`, `1m`, `1_000_000`. */
export function tokenCount(text: string): number {
  const found = /^(\d+(?:\.\d+)?)([km]?)$/.exec(text.toLowerCase().replaceAll(/[_,](?=\d{3})/g, ''))
  const value = found === null ? Number.NaN : Number(found[1]) * (UNITS[found[2] ?? ''] ?? Number.NaN)
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It should be a number of tokens such as 200000 or 200k.')
  return value
}

/** Several of them: `16k,32k,64k`. `200,000` is one. */
export const tokenCounts = (text: string): number[] =>
  /^\d{1,3}(?:,\d{3})+$/.test(text) ? [tokenCount(text)] : text.split(',').map((part) => tokenCount(part.trim()))

/** Names between commas. */
export function nameList(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.some((name) => name === '')) throw new InvalidArgumentError('It should be names between commas.')
  return names
}
