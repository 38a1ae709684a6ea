import { nearest } from '../../core/values.ts'
import { insteadOf } from '../removed-keys.ts'
import { readNumber, unitWords } from './read-number.ts'
import type { Shape } from './shape.ts'

/** A value with the place where it was written. */
export interface Located {
  readonly value: string | number | boolean | null | readonly Located[] | ReadonlyMap<string, LocatedEntry>
  readonly line: number | undefined
}

export interface LocatedEntry {
  readonly line: number | undefined
  readonly value: Located
}

export interface ConfigProblem {
  readonly file: string
  /** From 1; absent where the format has no lines of its own. */
  readonly line?: number
  /** The way to the key, e.g. `agents.main.window`. */
  readonly path: string
  readonly message: string
  /** The valid key or value that is nearest to what was written. */
  readonly nearest?: string
}

export interface Validated {
  /** Plain values, numbers read in their units. */
  readonly value: unknown
  readonly problems: readonly ConfigProblem[]
}

/** Holds a value against a shape: every problem at once, each with its place. */
export function validate(root: Located, shape: Shape, file: string): Validated {
  const problems: ConfigProblem[] = []
  const report = (at: { line: number | undefined }, path: string, message: string, near?: string): undefined => {
    problems.push({
      file,
      ...(at.line !== undefined && { line: at.line }),
      path,
      message: near === undefined ? message : `${message} Did you mean ${JSON.stringify(near)}?`,
      ...(near !== undefined && { nearest: near }),
    })
  }

  function read(node: Located, wanted: Shape, path: string): unknown {
    const wrong = (expected: string): undefined =>
      report(node, path, `${path === '' ? 'The file' : path} must be ${expected}, not ${kindOf(node)}.`)
    switch (wanted.kind) {
      case 'object':
        if (wanted.short !== undefined && typeof node.value === 'string') return { [wanted.short]: node.value }
        return node.value instanceof Map ? readGroup(node, node.value, wanted, path) : wrong('a group of keys')
      case 'map':
        return node.value instanceof Map ? readMap(node.value, wanted, path) : wrong('a group of keys')
      case 'list':
        return Array.isArray(node.value)
          ? (node.value as readonly Located[]).map((item, n) => read(item, wanted.of, `${path}[${n}]`))
          : wrong('a list')
      case 'one-or-more':
        return Array.isArray(node.value)
          ? (node.value as readonly Located[]).map((item, n) => read(item, wanted.of, `${path}[${n}]`))
          : [read(node, wanted.of, path)]
      case 'switch':
        return typeof node.value === 'boolean' ? node.value : wrong('true or false')
      case 'text':
        return readText(node, wanted, path) ?? (typeof node.value === 'string' ? undefined : wrong('text'))
      case 'number':
        return readNumeric(node, wanted, path)
    }
  }

  function readGroup(
    node: Located,
    entries: ReadonlyMap<string, LocatedEntry>,
    wanted: Shape & { kind: 'object' },
    path: string,
  ): Record<string, unknown> {
    const { required = [], needs = {} } = wanted
    for (const key of required) if (!entries.has(key)) report(node, path, `${path} needs a ${key}.`)
    for (const [key, other] of Object.entries(needs)) {
      const entry = entries.get(key)
      if (entry !== undefined && !entries.has(other))
        report(entry, `${path}.${key}`, `${path}.${key} needs a ${other}.`)
    }
    return readMap(entries, wanted, path)
  }

  function readMap(
    entries: ReadonlyMap<string, LocatedEntry>,
    wanted: Shape & { kind: 'object' | 'map' },
    path: string,
  ): Record<string, unknown> {
    const out: Record<string, unknown> = {}
    for (const [key, entry] of entries) {
      const at = path === '' ? key : `${path}.${key}`
      const shape = wanted.kind === 'map' ? wanted.of : wanted.fields[key]
      const rule = wanted.kind === 'map' ? wanted.keys : undefined
      if (rule !== undefined && !new RegExp(rule.pattern).test(key)) {
        report(entry, at, `${JSON.stringify(key)} in ${path} must be ${rule.words}.`)
        continue
      }
      if (shape === undefined) {
        const known = wanted.kind === 'object' ? Object.keys(wanted.fields) : []
        const instead = insteadOf(at)
        const unknown = `There is no key ${JSON.stringify(key)}${path === '' ? '' : ` in ${path}`}`
        if (instead === undefined) report(entry, at, `${unknown}.`, nearest(key, known))
        else report(entry, at, `${unknown} any more. ${instead}`)
        continue
      }
      const value = read(entry.value, shape, at)
      if (value !== undefined) out[key] = value
    }
    return out
  }

  function readText(node: Located, { oneOf }: Shape & { kind: 'text' }, path: string): string | undefined {
    if (typeof node.value !== 'string') return undefined
    if (oneOf === undefined || oneOf.includes(node.value)) return node.value
    return report(node, path, `${path} must be one of ${oneOf.join(', ')}.`, nearest(node.value, oneOf))
  }

  function readNumeric(node: Located, shape: Shape & { kind: 'number' }, path: string): number | undefined {
    const { unit, min = -Infinity, max = Infinity } = shape
    const number = readNumber(node.value, unit)
    if (number === undefined) {
      return report(node, path, `${path} must be ${unitWords(unit)}, not ${kindOf(node)}.`)
    }
    if (unit !== 'share' && unit !== 'factor' && unit !== 'usd' && !Number.isInteger(number)) {
      return report(node, path, `${path} must be a whole number, not ${number}.`)
    }
    if (number < min || number > max) {
      const bounds = max === Infinity ? `at least ${min}` : `between ${min} and ${max}`
      return report(node, path, `${path} must be ${bounds}, not ${number}.`)
    }
    return number
  }

  return { value: read(root, shape, ''), problems }
}

function kindOf({ value }: Located): string {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'a group of keys' : JSON.stringify(value)
}
