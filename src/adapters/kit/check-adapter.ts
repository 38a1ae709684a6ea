import { TOKENS } from '../../settings/session-shapes.ts'
import { checkArguments, type Argument, type GivenShape } from '../../core/given.ts'

const PLIMSOLL: Argument = {
  name: 'plimsoll',
  shape: { kind: 'driver', methods: ['session'], words: 'what createPlimsoll() gives' },
}

const SESSION: Argument = {
  name: 'session',
  shape: { kind: 'driver', methods: ['prepare', 'record'], words: 'what plimsoll.session({ id }) gives' },
}

const SWITCH: GivenShape = { kind: 'switch' }
const TEXT: GivenShape = { kind: 'text' }

/** Every option that an adapter may have; each names its own. */
const OPTIONS = {
  window: TOKENS,
  maxOutputTokens: TOKENS,
  session: TEXT,
  agent: TEXT,
  readers: SWITCH,
  shortenHistory: SWITCH,
} as const satisfies Record<string, GivenShape>

/** Something of the framework itself that is handed over. */
export const part = (name: string, words: string, ...methods: string[]): Argument => ({
  name,
  shape: methods.length === 0 ? { kind: 'function' } : { kind: 'driver', methods, words },
})

/**
 * Programs without TypeScript find out when they connect an adapter, and not in the middle of a run. `first`: what stands before the options,
 * in order. `needed`: options that have no default.
 */
export function checkAdapter(
  what: string,
  given: readonly unknown[],
  first: readonly ('plimsoll' | 'session' | Argument)[],
  names: readonly (keyof typeof OPTIONS)[],
  { needed = {}, more = {} }: { readonly needed?: Shapes; readonly more?: Shapes } = {},
): void {
  const own = first.map((one) => (one === 'plimsoll' ? PLIMSOLL : one === 'session' ? SESSION : one))
  const known = Object.fromEntries(names.map((name) => [name, OPTIONS[name]]))
  const required = Object.keys(needed)
  const shape: GivenShape = { kind: 'object', required, fields: { ...known, ...needed, ...more } }
  checkArguments(given, [...own, { name: 'the options', shape, optional: required.length === 0 }], `${what}()`)
}

type Shapes = Readonly<Record<string, GivenShape>>
