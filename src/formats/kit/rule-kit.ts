import type { Violation } from '../../core/codec.ts'

/** One rule of a wire, as data: what it says and what repairs a body that breaks it. */
export interface Rule {
  readonly summary: string
  readonly fix: string
}

export type RuleBook = Readonly<Record<string, Rule>>

/** Collects broken rules. Names are checked against the book, so a rule without a fix cannot be reported. */
export interface Findings<Name extends string = string> {
  report(rule: Name, path: string, message: string): void
  readonly list: readonly Violation[]
}

// A body can break one rule a million times; nobody reads more than this, and the list must stay small in memory.
const MAX_VIOLATIONS = 100

export function findings<Book extends RuleBook>(book: Book): Findings<keyof Book & string> {
  const list: Violation[] = []
  return {
    list,
    report(rule, path, message) {
      if (list.length >= MAX_VIOLATIONS) return
      list.push({ rule, path, message, fix: book[rule]?.fix ?? '' })
    },
  }
}

export const isBlank = (text: string): boolean => text.trim() === ''

/**
 * A value inside a message. Bodies are hostile: `String` throws on an object whose toString is no function, and on an array
 * nested deeper than the stack.
 */
export const shown = (value: unknown): string => {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : value === null
      ? 'null'
      : typeof value
}

/** A list inside a message, cut where nobody would read on. */
export const quoted = (values: readonly string[]): string =>
  values.length > 20 ? `${values.slice(0, 20).join(', ')} and ${values.length - 20} more` : values.join(', ')

/**
 * Path of the first string that is not well formed, or undefined. A cut inside an emoji leaves half a pair; strict JSON
 * parsers refuse the body. Walks with a stack of its own, since a hostile body can nest 100,000 levels deep.
 */
export function findLoneSurrogate(body: unknown, known?: WeakSet<object>): string | undefined {
  if (isWellFormed(body, known)) return undefined
  const stack: { readonly value: unknown; readonly key: string; readonly parent: number }[] = []
  const trail: { readonly key: string; readonly parent: number }[] = []
  stack.push({ value: body, key: '', parent: -1 })
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    const { value, key, parent } = entry
    if (typeof value === 'string') {
      if (!value.isWellFormed()) return pathOf(trail, parent, key)
    } else if (typeof value === 'object' && value !== null) {
      const index = trail.push({ key, parent }) - 1
      for (const [name, child] of Object.entries(value)) stack.push({ value: child, key: name, parent: index })
    }
  }
  return undefined
}

/** The same question without the place: nearly every body has none. Elements of lists are asked once. */
function isWellFormed(body: unknown, known = new WeakSet<object>()): boolean {
  const stack = [body]
  const asked: object[] = []
  while (stack.length > 0) {
    const value = stack.pop()
    if (typeof value === 'string') {
      if (!value.isWellFormed()) return false
    } else if (Array.isArray(value)) {
      for (const child of value as readonly unknown[]) {
        if (typeof child !== 'object' || child === null) stack.push(child)
        else if (!known.has(child)) {
          stack.push(child)
          asked.push(child)
        }
      }
    } else if (typeof value === 'object' && value !== null) {
      for (const child of Object.values(value)) stack.push(child)
    }
  }
  for (const element of asked) known.add(element)
  return true
}

function pathOf(
  trail: readonly { readonly key: string; readonly parent: number }[],
  parent: number,
  key: string,
): string {
  const parts = [key]
  // A path is for people: past a few levels it stops being one.
  for (let at = parent; at >= 0 && parts.length < 32; at = trail[at]?.parent ?? -1) parts.push(trail[at]?.key ?? '')
  return parts
    .filter((part) => part !== '')
    .toReversed()
    .join('.')
}

/** Sub-profiles of a wire, e.g. `mistral,reasoning-forbidden`: an endpoint can have several habits. */
export const profilesOf = (profile: string | undefined): ReadonlySet<string> =>
  profile === undefined ? NO_PROFILES : new Set(profile.split(',').filter((name) => name !== ''))

const NO_PROFILES: ReadonlySet<string> = new Set()
