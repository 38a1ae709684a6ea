import { InvalidArgumentError } from 'commander'

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** Reads `30d`, `12h`, `90m`, `2w` as milliseconds. */
export function duration(text: string): number {
  const found = /^(\d+)([mhdw])$/.exec(text.trim())
  if (found === null) throw new InvalidArgumentError('It should be a time such as 90m, 12h, 30d or 2w.')
  return Number(found[1]) * UNITS[found[2]!]!
}
