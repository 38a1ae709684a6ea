import { numberOf, recordOf } from './values.ts'

/** Tokens of one model call, normalised: `input` is every prompt token, cached ones included. */
export interface Usage {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` that was written with the long (one hour) lifetime. */
  readonly cacheWriteLong?: number
  /** Everything the model produced, reasoning included. */
  readonly output: number
  readonly reasoning: number
}

export const NO_USAGE: Usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  const cacheWriteLong = (a.cacheWriteLong ?? 0) + (b.cacheWriteLong ?? 0)
  return {
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    cacheWriteLong: cacheWriteLong > 0 ? cacheWriteLong : undefined,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  }
}

/** Usage of zero input and output means that the provider reported none. */
export const isKnownUsage = (usage: Usage | undefined): usage is Usage =>
  usage !== undefined && (usage.input > 0 || usage.output > 0)

/** Usage of unknown origin, checked: undefined when input or output is not a number; other parts count as zero when they are not. */
export function checkedUsage(usage: Partial<Record<keyof Usage, unknown>> | undefined): Usage | undefined {
  if (usage === undefined || usage === null || !isAmount(usage.input) || !isAmount(usage.output)) return undefined
  const { input, output } = usage
  return {
    input,
    cacheRead: Math.min(input, amountOf(usage.cacheRead)),
    cacheWrite: Math.min(input, amountOf(usage.cacheWrite)),
    output,
    reasoning: Math.min(output, amountOf(usage.reasoning)),
    cacheWriteLong: isAmount(usage.cacheWriteLong) ? usage.cacheWriteLong : undefined,
  }
}

const amountOf = (value: unknown): number => (isAmount(value) ? value : 0)

const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0

/** Paths to the numbers of a usage report, such as `input_token_details.cache_read`; several are added up. */
type UsagePaths = { readonly [K in keyof Usage]?: string | readonly string[] }

/** The usage that a client or framework reports; undefined without input tokens. */
export function usageIn(report: unknown, paths: UsagePaths): Usage | undefined {
  const numbersAt = (given: string | readonly string[] = []) =>
    [given].flat().map((path) => numberOf(path.split('.').reduce((value, key) => recordOf(value)?.[key], report)))
  const sum = (given?: string | readonly string[]) =>
    numbersAt(given).reduce<number>((total, number = 0) => total + number, 0)
  if (numbersAt(paths.input)[0] === undefined) return undefined
  return {
    input: sum(paths.input),
    cacheRead: sum(paths.cacheRead),
    cacheWrite: sum(paths.cacheWrite),
    output: sum(paths.output),
    reasoning: sum(paths.reasoning),
  }
}
