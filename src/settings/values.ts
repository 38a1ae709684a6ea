import * as v from 'valibot'
import { isRecord } from '../core/values.ts'

/** A schema of the library, by its output type. */
export type Schema<T = unknown> = v.GenericSchema<unknown, T>

/** Where a value comes from: code, or the text of a file, a flag or a variable, where numbers may have units. */
export type Writing = 'code' | 'text'

const THOUSANDS = { k: 1_000, K: 1_000, m: 1_000_000, M: 1_000_000 }
const BYTES = { B: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }
const SHORT = { k: 2 ** 10, K: 2 ** 10, m: 2 ** 20, M: 2 ** 20, g: 2 ** 30, G: 2 ** 30 }
/** The description of a unit, and how it is written after a number. */
const UNITS = {
  share: { code: 'a share like 0.8', text: 'a share like 0.65 or 65%', pattern: '^[0-9.]+%?$', factors: { '%': 0.01 } },
  tokens: {
    code: 'a number of tokens like 128_000',
    text: 'tokens like 128000 or 128k',
    pattern: '^[0-9_,.]+[kKmM]?$',
    factors: THOUSANDS,
  },
  count: { code: 'a whole number', text: 'a whole number', pattern: '^[0-9_,.]+[kKmM]?$', factors: THOUSANDS },
  ms: { code: 'a number of milliseconds', text: 'milliseconds', pattern: '^[0-9_,.]+[kKmM]?$', factors: THOUSANDS },
  bytes: {
    code: 'a number of bytes like 1_048_576',
    text: 'bytes like 12288, 12KiB or 64m',
    pattern: '^[0-9_,.]+ ?(B|kB|KB|MB|GB|KiB|MiB|GiB|[kKmMgG])?$',
    factors: { ...BYTES, ...SHORT },
  },
  factor: {
    code: 'a factor like 2.5',
    text: 'a factor like 2.5',
    pattern: '^[0-9.]+[x×]?$',
    factors: { x: 1, '×': 1 },
  },
  usd: {
    code: 'an amount',
    text: 'dollars like 2.50',
    pattern: '^\\$?[0-9.]+ ?(\\$|USD)?$',
    factors: { $: 1, USD: 1 },
  },
} as const

export type Unit = keyof typeof UNITS

const FRACTIONS: ReadonlySet<Unit> = new Set(['share', 'factor', 'usd'])

/** How a unit may be written in text, for messages. */
export const unitWords = (unit: Unit): string => UNITS[unit].text

/** Reads a number with a unit; undefined when the text is not one. */
export function readNumber(value: unknown, unit: Unit): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string') return undefined
  // `$` precedes the number, other units follow it. Commas are allowed between thousands only.
  const [, digits, suffix = ''] =
    /^\s*(?:\$(?=\d)\s*)?((?:\d{1,3}(?:,\d{3})+|\d[\d_]*)?(?:\.\d+)?)\s*([^\d\s.,_]*)\s*$/.exec(
      unit === 'usd' ? value : value.replace('$', '?'),
    ) ?? []
  if (digits === undefined || digits === '') return undefined
  const number = Number(digits.replaceAll(/[_,]/g, ''))
  if (suffix === '') return number
  const factor = (UNITS[unit].factors as Readonly<Record<string, number>>)[suffix]
  return factor === undefined ? undefined : Number((number * factor).toPrecision(12))
}

export interface NumberRule {
  /** @default 0 */
  readonly min?: number
  /** @default none */
  readonly max?: number
  /** What is expected, instead of the unit's words. */
  readonly words?: string
  /** @default true, but for shares, factors and dollars */
  readonly whole?: boolean
  /** Infinity means no limit. @default false */
  readonly unbounded?: boolean
}

export function number(about: string, unit: Unit, rule: NumberRule = {}): Schema<number> {
  const { min = 0, max = Infinity, words, whole = !FRACTIONS.has(unit), unbounded = false } = rule
  const isWrong = (value: number): boolean => value < min || value > max
  const isPart = (value: number): boolean => whole && value !== Infinity && !Number.isInteger(value)
  const expected = ({ lang, input }: { lang?: string | undefined; input: unknown }): string => {
    const kind = words ?? UNITS[unit][lang === 'text' ? 'text' : 'code']
    const within = `${kind}, ${max === Infinity ? `at least ${min}` : `between ${min} and ${max}`}`
    if (typeof input !== 'number' || Number.isNaN(input) || input === Infinity)
      return words !== undefined && max !== Infinity ? within : kind
    if (isWrong(input)) return within
    return lang === 'text' ? 'a whole number' : kind
  }
  const json = {
    type: FRACTIONS.has(unit) ? 'number' : 'integer',
    minimum: min,
    ...(max !== Infinity && { maximum: max }),
  }
  return v.pipe(
    v.number(expected),
    v.check((value) => (unbounded || value !== Infinity) && !isWrong(value) && !isPart(value), expected),
    v.description(about),
    v.metadata({ unit, min, max, json: { anyOf: [json, { type: 'string', pattern: UNITS[unit].pattern }] } }),
  )
}

const counted =
  (unit: Unit, least: number) =>
  (about = '', min = least, max?: number): Schema<number> =>
    number(about, unit, { min, max })

export const tokens = counted('tokens', 1)
export const count = counted('count', 0)
export const bytes = counted('bytes', 1)
export const ms = counted('ms', 0)
export const usd = counted('usd', 0)
export const share = (about = '', max = 1): Schema<number> => number(about, 'share', { max })
export const factor = (about: string, min: number, max: number): Schema<number> => number(about, 'factor', { min, max })

export const text = (about = ''): Schema<string> => v.pipe(v.string('text'), v.description(about))

export const textLike = (words: string, pattern: RegExp, about = ''): Schema<string> =>
  v.pipe(
    v.string(words),
    v.check((value) => pattern.test(value), words),
    v.description(about),
    v.metadata({ words, json: { pattern: pattern.source } }),
  )

export const name = (): Schema<string> => textLike('a name', /\S/)

export const oneOf = <const T extends string>(about: string, names: readonly T[]): Schema<T> =>
  v.pipe(v.picklist(names, `one of ${names.join(', ')}`), v.description(about))

export const on = (about = ''): Schema<boolean> => v.pipe(v.boolean('true or false'), v.description(about))

export const list = <T>(about: string, of: Schema<T>): Schema<readonly T[]> =>
  v.pipe(v.array(of, 'a list'), v.description(about))

/** An object with any keys and one kind of value. */
export const map = <T>(
  about: string,
  of: Schema<T>,
  key: Schema<string> = v.string(),
): Schema<Readonly<Record<string, T>>> =>
  v.pipe(v.record(key as v.GenericSchema<string>, of, aGroup), v.description(about))

type Fields = Readonly<Record<string, Schema>>
type Group<F extends Fields, R extends keyof F> = { readonly [K in R]: v.InferOutput<F[K]> } & {
  readonly [K in Exclude<keyof F, R>]?: v.InferOutput<F[K]>
}

export interface GroupRule<R> {
  /** Required keys. @default none */
  readonly required?: readonly R[]
  /** Schema of other keys. @default no other keys */
  readonly rest?: Schema
  /** Appended to the message when a key is missing. */
  readonly advice?: string
}

/** An object with these keys and no others. */
export function group<F extends Fields, R extends keyof F & string = never>(
  about: string,
  fields: F,
  { required = [], rest, advice }: GroupRule<R> = {},
): Schema<Group<F, R>> {
  const entries = Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [key, required.includes(key as R) ? field : v.optional(field)]),
  )
  // The message for an unknown key lists the known ones; for a missing key it ends with the advice.
  const unknown = rest ?? v.never(Object.keys(fields).join(', '))
  const missing = advice === undefined ? '' : ` ${advice}`
  return v.pipe(
    v.objectWithRest(entries, unknown, (issue) => (issue.expected.startsWith('"') ? missing : aGroup(issue))),
    v.description(about),
  ) as unknown as Schema<Group<F, R>>
}

/** The first schema that fits. `words` describes all of them. */
export const either = <T>(words: string, ...options: readonly Schema[]): Schema<T> =>
  v.pipe(v.union([...options], words), v.metadata({ words })) as unknown as Schema<T>

/** One value or a list; the output is a list. */
export const oneOrMore = <T>(about: string, of: Schema<T>): Schema<readonly T[]> =>
  v.pipe(
    either<T | readonly T[]>('one, or a list', list('', of), of),
    v.transform((value) => (Array.isArray(value) ? (value as readonly T[]) : [value as T])),
    v.description(about),
  )

/** An object with these functions. */
export const driver = <T>(words: string, ...methods: readonly string[]): Schema<T> =>
  v.custom<T>((value) => isRecord(value) && methods.every((one) => typeof value[one] === 'function'), words)

export const code = <T>(): Schema<T> => v.custom<T>((value) => typeof value === 'function', 'a function')

export const binary = (): Schema<Uint8Array> => v.instance(Uint8Array, 'bytes (a Uint8Array)')

/** The parsed body of an answer: not its text, a promise or a `Response`. */
export const parsed = (): Schema<object> =>
  v.custom<object>(
    (value) => isRecord(value) && !['then', 'json', 'getReader'].some((one) => typeof value[one] === 'function'),
    'the body of the answer as an object: await it, and parse it where it is text',
  )

/** Something that `for await` accepts, except text. */
export const iterable = (words: string): Schema =>
  v.custom(
    (value) =>
      typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value),
    words,
  )

export const any = <T>(): Schema<T> => v.unknown() as unknown as Schema<T>

/** Any value without NaN in it. */
export const data = <T>(): Schema<T> => DATA as Schema<T>

const DATA: Schema = v.lazy((input): Schema => {
  if (Array.isArray(input)) return v.array(DATA)
  if (isRecord(input)) return v.record(v.string(), DATA)
  return v.custom((value) => !Number.isNaN(value), 'a number')
})

function aGroup({ lang }: { readonly lang?: string | undefined }): string {
  return lang === 'text' ? 'a group of keys' : 'an object'
}
