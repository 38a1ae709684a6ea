import * as v from 'valibot'
import { PlimsollError, type ErrorCode } from '../core/errors.ts'
import { nearest, isRecord } from '../core/values.ts'
import { parts, withoutOptional } from '../util/json-schema.ts'
import { readNumber, type Schema, type Unit, type Writing } from './values.ts'

export interface Problem {
  readonly at: readonly PropertyKey[]
  /** The path to the value, e.g. `agents.main.window`; empty for the whole. */
  readonly path: string
  readonly message: string
  /** The valid key or value with the smallest spelling difference. */
  readonly nearest?: string
  /** The key itself is wrong, not its value. */
  readonly isKey?: true
}

/** Checks a value against a schema, ignoring undefined keys. `what`: the name of the value in messages. */
export function checked<T>(schema: Schema<T>, value: unknown, what: string, writing: Writing = 'code'): Checked<T> {
  const { success, output, issues = [] } = v.safeParse(schema, prepared(schema, value, writing), { lang: writing })
  const problems = issues.flatMap((issue) => problemsOf(issue, [], what, writing))
  return success ? { value: output, problems } : { problems }
}

export interface Checked<T> {
  /** Absent when there are problems. */
  readonly value?: T
  readonly problems: readonly Problem[]
}

/** Checks a value from a program. @throws PlimsollError that names every problem and what is allowed. */
export function checkGiven<T>(value: unknown, schema: Schema<T>, what: string, code: ErrorCode): T {
  const { value: sound, problems } = checked(schema, value, what)
  if (problems.length > 0) throw refusal(problems, what, code)
  return sound as T
}

/** An argument of a function; one without a name is the function's only argument. */
export interface Argument {
  readonly name: string
  readonly schema: Schema
  /** @default false */
  readonly optional?: boolean
}

/** Checks the arguments of a call, in order. @throws PlimsollError that names every problem. */
export function checkArguments(
  values: readonly unknown[],
  wanted: readonly Argument[],
  what: string,
  code: ErrorCode = 'bad-input',
): void {
  const problems = wanted.flatMap(({ name, schema, optional = false }, at): readonly Problem[] => {
    if (values[at] !== undefined || name === '')
      return checked(schema, values[at], name === '' ? what : `${name} of ${what}`).problems
    return optional ? [] : [{ at: [], path: name, message: `${name} of ${what} is missing.` }]
  })
  if (problems.length > 0) throw refusal(problems, what, code)
}

const refusal = (problems: readonly Problem[], what: string, code: ErrorCode): PlimsollError =>
  new PlimsollError(code, problems.map(({ message }) => message).join(' '), {
    fields: { what, problems: problems.map(({ path, message }) => ({ path, message })) },
  })

/** Removes undefined keys, and in text reads numbers with units such as `64k`. */
function prepared(schema: v.GenericSchema, value: unknown, writing: Writing): unknown {
  const inner = withoutOptional(schema)
  const known = parts(inner)
  const each = (fields: object, of: (key: string) => v.GenericSchema | undefined): object =>
    Object.fromEntries(
      Object.entries(fields).flatMap(([key, field]: [string, unknown]) => {
        const own = of(key)
        return field === undefined ? [] : [[key, own === undefined ? field : prepared(own, field, writing)]]
      }),
    )
  switch (known.type) {
    case 'number': {
      const { unit } = v.getMetadata(inner) as { unit: Unit }
      return writing === 'text' ? (readNumber(value, unit) ?? value) : value
    }
    case 'picklist':
      return writing === 'text' ? (known.options.find((one) => one === spelled(value)) ?? value) : value
    case 'object_with_rest':
      if (!isRecord(value)) return noList(value)
      return each(value, (key) => (Object.hasOwn(known.entries, key) ? known.entries[key] : undefined))
    case 'record':
      return isRecord(value) ? each(value, () => known.value) : noList(value)
    case 'array':
      return Array.isArray(value) ? value.map((item) => prepared(known.item, item, writing)) : value
    case 'union': {
      // A driver is an object too, and must not be copied.
      if (known.options.some((one) => one.type === 'custom' && v.is(one, value))) return value
      const types = Array.isArray(value) ? ['array'] : isRecord(value) ? ['object_with_rest', 'record', 'union'] : []
      const option = known.options.find((one) => types.includes(one.type))
      return option === undefined ? noList(value) : prepared(option, value, writing)
    }
    default:
      return value
  }
}

const spelled = (value: unknown): unknown => (typeof value === 'string' ? value.trim().toLowerCase() : value)

const A_LIST = Symbol('a list')

/** Replaces a list, which the library would accept as an object. */
const noList = (value: unknown): unknown => (Array.isArray(value) ? A_LIST : value)

/** The problems of each alternative of a union, nested ones included. */
const withinForms = (issue: v.BaseIssue<unknown>): readonly v.BaseIssue<unknown>[] =>
  (issue.issues ?? []).flatMap((one) => (one.type === 'union' && one.path === undefined ? withinForms(one) : [one]))

function problemsOf(
  issue: v.BaseIssue<unknown>,
  above: readonly PropertyKey[],
  what: string,
  writing: Writing,
): readonly Problem[] {
  const own = issue.path ?? []
  const at = [...above, ...own.map(({ key }) => key as PropertyKey)]
  const [path, group] = [pathText(at), pathText(at.slice(0, -1))]
  const { origin, key } = { origin: 'value', key: '', ...own.at(-1) }
  const [inText, quoted] = [writing === 'text', JSON.stringify(key)]
  // For a union, problems deeper in the alternative whose type fits are reported.
  const deeper = withinForms(issue).filter((one) => one.path !== undefined)
  if (issue.type === 'union' && deeper.length > 0) return deeper.flatMap((one) => problemsOf(one, at, what, writing))
  if (issue.type === 'object_with_rest' && origin === 'key') {
    const message = inText ? `${group} needs a ${String(key)}.` : `${path} of ${what} is missing.${issue.message}`
    return [{ at: at.slice(0, -1), path: inText ? group : path, message }]
  }
  if (issue.type === 'never') {
    // The message lists the known keys: see `group`.
    const known = issue.message.split(', ')
    const near = nearest(String(key), known)
    const within = group === '' && !inText ? what : group
    const unknown = `There is no ${inText ? 'key ' : ''}${quoted}${within === '' ? '' : ` in ${within}`}`
    const instead = inText ? replacementFor(path) : undefined
    if (instead !== undefined) return [{ at, path, isKey: true, message: `${unknown} any more. ${instead}` }]
    const message = `${unknown}.`
    const hint =
      near !== undefined ? ` Did you mean ${JSON.stringify(near)}?` : inText ? '' : ` It has ${issue.message}.`
    return [{ at, path, isKey: true, message: message + hint, nearest: near }]
  }
  if (origin === 'key') return [{ at, path, isKey: true, message: `${quoted} in ${group} must be ${issue.message}.` }]
  if (issue.type === 'partial_check') return [{ at, path, message: `${path} ${issue.message}.` }]
  const choices = /^one of (.+)$/.exec(issue.message)?.[1]?.split(', ') ?? []
  const near = typeof issue.input === 'string' ? nearest(issue.input, choices) : undefined
  const message = `${path === '' ? what : path} must be ${issue.message}, not ${described(issue.input, writing)}.`
  return [
    {
      at,
      path,
      message: near === undefined ? message : `${message} Did you mean ${JSON.stringify(near)}?`,
      nearest: near,
    },
  ]
}

const pathText = (at: readonly PropertyKey[]): string =>
  at.reduce<string>(
    (path, key) => (typeof key === 'number' ? `${path}[${key}]` : path === '' ? String(key) : `${path}.${String(key)}`),
    '',
  )

/** Long texts are not shown: they may be secrets. */
function described(value: unknown, writing: Writing): string {
  if (value === undefined || value === null) return writing === 'text' ? 'nothing' : String(value)
  if (typeof value === 'string')
    return value.length <= 40 ? JSON.stringify(value) : `a text of ${value.length} characters`
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'symbol') return value.description ?? 'a symbol'
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Uint8Array) return 'bytes'
  if (typeof value === 'function') return 'a function'
  return writing === 'text' ? 'a group of keys' : 'an object'
}

const NO_PRESET = 'No preset used this step, so the key had no effect'

/** Keys of a policy in earlier versions, by the end of their path, with what to do instead. */
const REMOVED: Readonly<Record<string, string>> = {
  'override.water.messages':
    'cyber-autoagent counts 70 % of its window, which CYBER_CONVERSATION_WINDOW sets; contextguard-window starts from 21 messages on.',
  'override.water.cacheRelax': 'Set CYBER_PROMPT_CACHE_RELAX, for the preset cyber-autoagent.',
  'override.steps.squeeze.tokens': 'Use override.steps.squeeze-budget.tokens, for the preset autosre.',
  'override.steps.squeeze.minimum': 'Use override.steps.squeeze-budget.minimum, for the preset autosre.',
  'override.summaries.parts': 'Remove it: of a history that is too long for the summarizer the newest part is read.',
  'override.steps.native': 'Use override.native with the same keys.',
  'override.steps.strip-reasoning': `${NO_PRESET}: remove the key. Compaction removes reasoning together with its step.`,
  'override.steps.collapse-duplicates': `${NO_PRESET}: remove the key. A record shows a repeated line once.`,
  'override.steps.offload': `${NO_PRESET}: remove the key. Use override.intake.maxShare to set how large a result may be before it is shown as a preview.`,
}

/** What to do about a removed key; undefined for a key that never existed. */
const replacementFor = (path: string): string | undefined =>
  Object.entries(REMOVED).find(([end]) => path === end || path.endsWith(`.${end}`))?.[1]
