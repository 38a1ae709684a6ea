import { InvalidArgumentError } from 'commander'

/** Reads an option that counts something. */
export function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('It should be a whole number.')
  return value
}

const MEMORY_UNITS: Readonly<Record<string, number>> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }
const LEAST_MEMORY = 2 ** 24

/** Reads an amount of memory as other servers do: 256m, 1g, or bytes. */
export function memorySize(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([kmg])?(?:i?b)?$/i.exec(text.trim()) ?? []
  const value = Math.floor(Number(number) * (MEMORY_UNITS[unit.toLowerCase()] ?? 1))
  if (!(value >= LEAST_MEMORY))
    throw new InvalidArgumentError('It should be an amount of memory from 16m on: 256m or 1g.')
  return value
}
