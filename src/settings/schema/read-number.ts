import type { Unit } from './shape.ts'

const THOUSANDS = { k: 1_000, K: 1_000, m: 1_000_000, M: 1_000_000 }

const FACTORS: Readonly<Record<Unit, Readonly<Record<string, number>>>> = {
  share: { '%': 0.01 },
  tokens: THOUSANDS,
  count: THOUSANDS,
  chars: THOUSANDS,
  bytes: { kB: 1_000, KB: 1_000, MB: 1_000_000, GB: 1e9, KiB: 1_024, MiB: 1_048_576, GiB: 2 ** 30, B: 1 },
  factor: { x: 1, '×': 1 },
  usd: { $: 1, USD: 1 },
}

/** A number as people write it, in a unit; undefined when it is none. */
export function readNumber(value: unknown, unit: Unit): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string') return undefined
  // `$2.50` is written in front, every other unit behind. A comma stands between thousands and nowhere else.
  const [, digits, suffix] =
    /^\s*(?:\$(?=\d)\s*)?((?:\d{1,3}(?:,\d{3})+|\d[\d_]*)?(?:\.\d+)?)\s*([^\d\s.,_]*)\s*$/.exec(
      unit === 'usd' ? value : value.replace('$', '?'),
    ) ?? []
  if (digits === undefined || digits === '') return undefined
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
