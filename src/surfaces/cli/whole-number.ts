import { InvalidArgumentError } from 'commander'

/** Reads an option that counts something. */
export function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('It should be a whole number.')
  return value
}
