import { InvalidArgumentError } from 'commander'

/** Reads an option that is a TCP port. */
export function portNumber(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('It should be a port from 0 to 65535; 0 picks a free one.')
  return value
}
