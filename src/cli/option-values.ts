import { InvalidArgumentError } from 'commander'
import { checked } from '../settings/check.ts'
import { count, number, tokens, type Schema } from '../settings/values.ts'

/** Reads the text of an option by its schema: `200k`, `64MiB`, `65%`. */
export const reading =
  <T>(schema: Schema<T>) =>
  (text: string): T => {
    const { value, problems } = checked(schema, text, 'It', 'text')
    if (problems.length > 0) throw new InvalidArgumentError(problems.map(({ message }) => message).join(' '))
    return value as T
  }

export const wholeNumber = reading(count())
/** The same, at least one. */
export const oneOrMore = reading(count('', 1))
export const portNumber = reading(number('', 'count', { words: 'a port', max: 65_535 }))
export const tokenCount = reading(tokens())

/** Several numbers of tokens: `16k,32k,64k`. `200,000` is one number. */
export const tokenCounts = (text: string): number[] =>
  /^\d{1,3}(?:,\d{3})+$/.test(text) ? [tokenCount(text)] : text.split(',').map((part) => tokenCount(part.trim()))

export function nameList(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.some((name) => name === '')) throw new InvalidArgumentError('It should be names separated by commas.')
  return names
}

/** Collects an option that may be given several times. */
export const several = (value: string, before: string[] = []): string[] => [...before, value]

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** Reads `30d`, `12h`, `90m`, `2w` as milliseconds. */
export function duration(text: string): number {
  const found = /^(\d+)([mhdw])$/.exec(text.trim())
  if (found === null) throw new InvalidArgumentError('It should be a time such as 90m, 12h, 30d or 2w.')
  return Number(found[1]) * UNITS[found[2]!]!
}
