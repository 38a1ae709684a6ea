import type { Unit } from './shape.ts'

const FACTORS: Readonly<Record<Unit, Readonly<Record<string, number>>>> = {
  share: { '%': 0.01 },
  tokens: { k: 1_000, K: 1_000, M: 1_000_000 },
  count: { k: 1_000, K: 1_000, M: 1_000_000 },
  chars: { k: 1_000, K: 1_000, M: 1_000_000 },
  bytes: { kB: 1_000, MB: 1_000_000, KiB: 1_024, MiB: 1_048_576, B: 1 },
  factor: { x: 1, '×': 1 },
  usd: { $: 1, USD: 1 },
}

/** A number as people write it, in a unit; undefined when it is none. */
export function readNumber(value: unknown, unit: Unit): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string') return undefined
  const [, digits, suffix] = /^\s*([\d_,]*\.?\d+)\s*([^\d\s.]*)\s*$/.exec(value) ?? []
  if (digits === undefined) return undefined
  const number = Number(digits.replaceAll(/[_,]/g, ''))
  if (suffix === '') return number
  const factor = FACTORS[unit][suffix ?? '']
  return factor === undefined ? undefined : Number((number * factor).toPrecision(12))
}

/** How a unit may be written, for people. */
export function unitWords(unit: Unit): string {
  const examples: Readonly<Record<Unit, string>> = {
    share: 'a share like 0.65 or 65%',
    tokens: 'tokens like 128000 or 128k',
    count: 'a whole number',
    chars: 'characters like 10000 or 10k',
    bytes: 'bytes like 12288 or 12KiB',
    factor: 'a factor like 2.5',
    usd: 'dollars like 2.50',
  }
  return examples[unit]
}
