import { InvalidArgumentError } from 'commander'
import { readNumber } from '../settings/schema/read-number.ts'

/** Reads an option that counts something. */
export function wholeNumber(text: string): number {
  const value = readNumber(text, 'count')
  if (value === undefined || !Number.isInteger(value)) throw new InvalidArgumentError('It should be a whole number.')
  return value
}

/** The same where none would make no sense. */
export function oneOrMore(text: string): number {
  const value = wholeNumber(text)
  if (value === 0) throw new InvalidArgumentError('It should be a whole number, at least 1.')
  return value
}
