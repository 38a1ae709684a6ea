import { PlimsollError, type ErrorCode } from './errors.ts'
import { isRecord, nearest } from './values.ts'

/** What a program may hand over, as data: TypeScript checks it while it is written, this while it runs. */
export type GivenShape =
  | {
      readonly kind: 'object'
      readonly fields: Readonly<Record<string, GivenShape>>
      readonly required?: readonly string[]
      /** What other keys hold. @default there are no others */
      readonly rest?: GivenShape
      /** Ends the message when a field is missing. */
      readonly advice?: string
    }
  | { readonly kind: 'map' | 'list'; readonly of: GivenShape }
  | { readonly kind: 'text'; readonly oneOf?: readonly string[]; readonly pattern?: RegExp; readonly words?: string }
  | {
      readonly kind: 'number'
      /** What it counts, with an example. */
      readonly words: string
      readonly min: number
      readonly max?: number
      /** @default true */
      readonly whole?: boolean
      /** Without a bound it may be infinite. @default false */
      readonly unbounded?: boolean
    }
  /** The body of an answer, read and parsed: no text of it, no promise, nothing that still has to be read. */
  | { readonly kind: 'parsed' }
  /** Something to go through with `for await`, and no text. */
  | { readonly kind: 'iterable'; readonly words: string }
  /** `data`: whatever it is, no number in it is NaN. */
  | { readonly kind: 'switch' | 'function' | 'bytes' | 'data' | 'any' }
  /** An object with these functions. */
  | { readonly kind: 'driver'; readonly methods: readonly string[]; readonly words: string }
  /** The first that takes a value of its type. */
  | { readonly kind: 'either'; readonly of: readonly GivenShape[]; readonly words: string }

/** Holds a value against its shape. @throws PlimsollError that names every problem and what is allowed. */
export function checkGiven(value: unknown, shape: GivenShape, what: string, code: ErrorCode): void {
  const problems: Problem[] = []
  look(value, shape, '', what, (problem) => problems.push(problem))
  if (problems.length === 0) return
  throw new PlimsollError(code, problems.map(({ message }) => message).join(' '), { fields: { what, problems } })
}

/** One argument of a function. */
export interface Argument {
  readonly name: string
  readonly shape: GivenShape
  /** @default false */
  readonly optional?: boolean
}

/** Holds the arguments of a call against their shapes, in their order. @throws PlimsollError that names every problem. */
export function checkArguments(
  given: readonly unknown[],
  wanted: readonly Argument[],
  what: string,
  code: ErrorCode = 'bad-input',
): void {
  const problems: Problem[] = []
  for (const [at, { name, shape, optional = false }] of wanted.entries()) {
    const value = given[at]
    if (value !== undefined) look(value, shape, '', `${name} of ${what}`, (problem) => problems.push(problem))
    else if (!optional) problems.push({ path: name, message: `${name} of ${what} is missing.` })
  }
  if (problems.length === 0) return
  throw new PlimsollError(code, problems.map(({ message }) => message).join(' '), { fields: { what, problems } })
}

interface Problem {
  /** The way to the value, e.g. `agents.main.window`; empty for the whole. */
  readonly path: string
  readonly message: string
}

function look(value: unknown, shape: GivenShape, path: string, what: string, report: (problem: Problem) => void): void {
  const name = path === '' ? what : path
  const wrong = (expected: string): void =>
    report({ path, message: `${name} must be ${expected}, not ${described(value)}.` })
  switch (shape.kind) {
    case 'object': {
      if (!isRecord(value)) return wrong('an object')
      const known = Object.keys(shape.fields)
      for (const key of shape.required ?? []) {
        if (value[key] !== undefined) continue
        const missing = path === '' ? key : `${path}.${key}`
        report({ path: missing, message: `${missing} of ${what} is missing.${shape.advice ? ` ${shape.advice}` : ''}` })
      }
      for (const [key, field] of Object.entries(value)) {
        const at = path === '' ? key : `${path}.${key}`
        const wanted = Object.hasOwn(shape.fields, key) ? shape.fields[key] : shape.rest
        if (wanted === undefined) report({ path: at, message: unknownKey(key, name, known) })
        // Left out and undefined are the same.
        else if (field !== undefined) look(field, wanted, at, what, report)
      }
      return
    }
    case 'map':
      if (!isRecord(value)) return wrong('an object')
      for (const [key, field] of Object.entries(value)) look(field, shape.of, join(path, key), what, report)
      return
    case 'list':
      if (!Array.isArray(value)) return wrong('a list')
      for (const [at, field] of value.entries()) look(field, shape.of, `${name}[${at}]`, what, report)
      return
    case 'text':
      if (typeof value !== 'string') return wrong(shape.words ?? 'text')
      if (shape.oneOf !== undefined && !shape.oneOf.includes(value)) return wrong(`one of ${shape.oneOf.join(', ')}`)
      if (shape.pattern !== undefined && !shape.pattern.test(value)) return wrong(shape.words ?? 'another text')
      return
    case 'number': {
      const { words, min, max = Infinity, whole = true, unbounded = false } = shape
      if (typeof value !== 'number' || Number.isNaN(value) || (value === Infinity && !unbounded)) return wrong(words)
      if (value < min || value > max || (whole && value !== Infinity && !Number.isInteger(value)))
        return wrong(`${words}${max === Infinity ? `, at least ${min}` : `, between ${min} and ${max}`}`)
      return
    }
    case 'switch':
      if (typeof value !== 'boolean') return wrong('true or false')
      return
    case 'function':
      if (typeof value !== 'function') return wrong('a function')
      return
    case 'bytes':
      if (!(value instanceof Uint8Array)) return wrong('bytes (a Uint8Array)')
      return
    case 'parsed':
      if (!isRecord(value) || ['then', 'json', 'getReader'].some((name) => typeof value[name] === 'function'))
        return wrong('the body of the answer as an object: await it, and parse it where it is text')
      return
    case 'iterable':
      if (!isIterable(value)) return wrong(shape.words)
      return
    case 'driver':
      if (!isRecord(value) || shape.methods.some((method) => typeof value[method] !== 'function'))
        return wrong(shape.words)
      return
    case 'either': {
      const fitting = shape.of.find((one) => takes(one, value))
      return fitting === undefined ? wrong(shape.words) : look(value, fitting, path, what, report)
    }
    case 'data':
      if (typeof value === 'number' && Number.isNaN(value)) return wrong('a number')
      for (const [key, inner] of entriesOf(value)) look(inner, shape, join(path, key), what, report)
      return
    case 'any':
  }
}

const isIterable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value)

const entriesOf = (value: unknown): readonly [string, unknown][] =>
  isRecord(value) || Array.isArray(value) ? Object.entries(value) : []

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

/** Whether a value is of the type that a shape is about, right or wrong in detail. */
function takes(shape: GivenShape, value: unknown): boolean {
  switch (shape.kind) {
    case 'text':
      return typeof value === 'string'
    case 'number':
      return typeof value === 'number'
    case 'switch':
      return typeof value === 'boolean'
    case 'function':
      return typeof value === 'function'
    case 'bytes':
      return value instanceof Uint8Array
    case 'list':
      return Array.isArray(value)
    case 'iterable':
      return isIterable(value)
    case 'driver':
      return isRecord(value) && shape.methods.every((method) => typeof value[method] === 'function')
    case 'object':
    case 'map':
    case 'parsed':
      return isRecord(value)
    case 'either':
      return shape.of.some((one) => takes(one, value))
    case 'data':
    case 'any':
      return true
  }
}

function unknownKey(key: string, name: string, known: readonly string[]): string {
  const near = nearest(key, known)
  const meant = near === undefined ? `It has ${known.join(', ')}.` : `Did you mean ${JSON.stringify(near)}?`
  return `There is no ${JSON.stringify(key)} in ${name}. ${meant}`
}

/** Values are shown as far as they may be: a secret is no text to print. */
function described(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (typeof value === 'string')
    return value.length <= 40 ? JSON.stringify(value) : `a text of ${value.length} characters`
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Uint8Array) return 'bytes'
  return typeof value === 'function' ? 'a function' : 'an object'
}
