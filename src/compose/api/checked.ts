import { EVENT_MEANINGS } from '../../core/events.ts'
import type { Target } from '../../core/target.ts'
import type { Usage } from '../../core/usage.ts'
import type { PrepareRequest } from '../../engine/prepare/context.ts'
import type { Session, SessionOptions } from '../../engine/session/session.ts'
import type { Spender } from '../../meter/index.ts'
import { checkArguments, checkGiven, type Argument } from '../../settings/check.ts'
import {
  any,
  binary,
  code,
  data,
  driver,
  either,
  group,
  iterable,
  list,
  name,
  number,
  on,
  oneOf,
  parsed,
  text,
  tokens,
  type Schema,
} from '../../settings/values.ts'

export { checkOptions } from '../named-policies.ts'

type Fields = Readonly<Record<string, Schema>>
type Arguments = Readonly<Record<string, readonly Argument[]>>

const some = (words: string, min = 1): Schema<number> => number('', 'count', { words, min })
const open = (fields: Fields, required: readonly string[]): Schema => group('', fields, { required, rest: any() })
const argument = (called: string, schema: Schema = text()): Argument => ({ name: called, schema })
const optional = (called: string, schema: Schema): Argument => ({ name: called, schema, optional: true })
/** The only argument of a function. */
const whole = (schema: Schema): Argument => ({ name: '', schema })
const options = (fields: Fields): Argument => optional('the options', group('', fields))

/** What `session()` takes. */
const SESSION = group(
  '',
  { id: name(), agent: name(), tenant: name(), key: text() } satisfies Record<keyof SessionOptions, Schema>,
  { required: ['id'] },
)

const TOOL_RESULT = group(
  '',
  {
    tool: text(),
    callId: text(),
    output: either('text or bytes (JSON.stringify what a tool returns as an object)', text(), binary()),
    model: text(),
    window: tokens(),
  },
  { required: ['tool', 'output'] },
)

const TARGET = group(
  '',
  {
    model: text(),
    provider: text(),
    endpoint: text(),
    window: tokens(),
    maxOutputTokens: tokens(),
    learned: group('', { window: tokens(), bodyBytes: tokens(), holdsOutput: on() }),
    heldWithin: tokens(),
    refusesOverflow: on(),
  } satisfies Record<keyof Target, Schema>,
  { required: ['model'] },
)

const REQUEST = group(
  '',
  {
    format: text(),
    body: either("the request's text or an object", text(), open({}, [])),
    targets: list('', TARGET),
    expectedCalls: number('', 'count', { words: 'a number of calls', whole: false }),
    send: code(),
    tools: open({ tools: list('', any()) }, ['tools']),
  } satisfies Record<keyof PrepareRequest, Schema>,
  { required: ['format', 'body'] },
)

/** A wrong field name is the program's mistake and refused. Numbers come from a provider: invalid ones mean unknown usage. */
const USAGE = group('', {
  input: any(),
  output: any(),
  cacheRead: any(),
  cacheWrite: any(),
  cacheWriteLong: any(),
  reasoning: any(),
} satisfies Record<keyof Usage, Schema>)

const RECORD = group(
  '',
  {
    turn: text(),
    format: text(),
    response: parsed(),
    answer: open({ items: any() }, ['items']),
    usage: USAGE,
    refused: on(),
    counted: tokens(),
    status: number('', 'count', { words: 'an HTTP status like 429', min: 100, max: 599 }),
    durable: oneOf('', ['flushed', 'soon']),
  },
  { required: ['turn'] },
)

/** The arguments of a session's functions. */
const SESSION_ARGUMENTS = {
  canExecute: [argument('tool', name())],
  toolResult: [whole(TOOL_RESULT)],
  prepare: [whole(REQUEST)],
  record: [whole(RECORD)],
  standing: [argument('the request', REQUEST)],
  compact: [options({ instructions: text(), request: REQUEST, preview: on(), ifDue: on() })],
  pin: [argument('identity'), optional('pinned', on())],
  fork: [argument('id', name())],
  recall: [
    argument('query'),
    options({ limit: some('a number of items'), maxCharacters: some('a number of characters') }),
  ],
  scope: [optional('the history', open({ items: any(), links: any() }, ['items', 'links']))],
} satisfies Arguments

const tenant = { tenant: name() }
const HANDLE = argument('handle')
const ASKED = argument('the request', group('', tenant, { rest: data() }))
const RANGE = group(
  '',
  { start: some('a number of bytes', 0), end: some('a number of bytes', 0) },
  { required: ['start'] },
)

/** What `plimsoll.artifacts` takes. */
export const ARTIFACT_ARGUMENTS = {
  read: [HANDLE, options({ ...tenant, range: RANGE })],
  stat: [HANDLE, options(tenant)],
  list: [options({ ...tenant, session: text(), tool: text(), limit: some('a number of artifacts'), after: text() })],
  grep: [HANDLE, ASKED],
  query: [HANDLE, { ...ASKED, optional: true }],
  run: [HANDLE, ASKED],
  extract: [HANDLE, ASKED],
} satisfies Arguments

const NAMED = [argument('session', name()), options(tenant)]

/** What `plimsoll.archive` takes. */
export const ARCHIVE_ARGUMENTS = {
  sessions: [options({ ...tenant, limit: some('a number of sessions') })],
  has: NAMED,
  agents: NAMED,
  report: NAMED,
  read: NAMED,
  readers: [options({ ...tenant, session: name(), agent: name() })],
} satisfies Arguments

/** What `plimsoll.limits` takes. Checked because a misspelt filter would match everything. */
const LIMITS = options({ tenant: text(), endpoint: text(), model: text() })

const SPENDER = { tenant: text(), session: text(), agent: text(), key: text() } satisfies Record<keyof Spender, Schema>
const SPENT = [options(SPENDER)]
const OF_SESSION = [argument('tenant'), argument('session')]

/** What the synchronous functions of `plimsoll.ledger` take. */
const LEDGER_ARGUMENTS = {
  totals: SPENT,
  split: [argument('by', oneOf('', Object.keys(SPENDER))), ...SPENT],
  byAgent: OF_SESSION,
  calls: SPENT,
  report: OF_SESSION,
  lastTurn: OF_SESSION,
  session: OF_SESSION,
  sessions: [optional('tenant', text())],
} satisfies Arguments

/** What the functions of `plimsoll.tools(…)` take. */
export const TOOL_ARGUMENTS = {
  has: [argument('name')],
  call: [argument('name'), optional('input', any())],
  answer: [argument('response', parsed())],
} satisfies Arguments

/** What the other functions of Plimsoll take. */
const FACE_ARGUMENTS = {
  tools: [
    argument('session', driver('the result of plimsoll.session({ id })', 'prepare', 'scope')),
    argument('format'),
    options({ window: tokens() }),
  ],
  importSession: [argument('lines', iterable('the lines of an export, as a list or a stream')), options(tenant)],
} satisfies Arguments

const LISTENER = argument('listener', code())
const EVENT = argument('type', oneOf('', Object.keys(EVENT_MEANINGS)))

/** The same object with functions that check their arguments first. They reject their promises, except those in `atOnce`, which throw. */
export function checkedFace<T extends object>(
  face: T,
  wanted: { readonly [name in keyof T]?: readonly Argument[] },
  atOnce: readonly (keyof T)[] = [],
): T {
  const guarded = Object.entries(wanted).map(([called, args]): [string, unknown] => {
    const run = (face as Readonly<Record<string, unknown>>)[called] as (...given: unknown[]) => unknown
    return [
      called,
      (...given: unknown[]) => {
        try {
          checkArguments(given, args as readonly Argument[], `${called}()`)
        } catch (error) {
          if ((atOnce as readonly string[]).includes(called)) throw error
          return Promise.reject(error as Error)
        }
        return run(...given)
      },
    ]
  })
  return { ...face, ...Object.fromEntries(guarded) }
}

/** Members whose arguments are checked by `checkedPlimsoll`. */
type PlimsollFace = Record<'on' | 'limits' | 'ledger' | 'tools' | 'importSession', object>

export function checkedPlimsoll<P extends PlimsollFace>(plimsoll: P): P {
  const { limits, ledger } = plimsoll
  return {
    ...checkedFace<PlimsollFace>(plimsoll, FACE_ARGUMENTS, ['tools']),
    on(...given: readonly unknown[]) {
      checkArguments(given, typeof given[0] === 'string' ? [EVENT, LISTENER] : [LISTENER], 'on()')
      return (plimsoll.on as (...all: readonly unknown[]) => () => void)(...given)
    },
    limits: checkedFace<object>(limits, { list: [LIMITS], forget: [LIMITS] }),
    ledger: checkedFace<object>(ledger, LEDGER_ARGUMENTS, Object.keys(LEDGER_ARGUMENTS) as never[]),
  } as object as P
}

/** One checked session for each session, since programs may compare sessions by identity. */
const CHECKED = new WeakMap<Session, Session>()

/** A session for programs, which checks arguments. The gateway uses unchecked sessions. */
export function checkedSession(wanted: SessionOptions, openSession: (wanted: SessionOptions) => Session): Session {
  checkGiven(wanted, SESSION, 'session()', 'bad-input')
  return checked(openSession(wanted))
}

function checked(session: Session): Session {
  const known = CHECKED.get(session)
  if (known !== undefined) return known
  const face = checkedFace(session, SESSION_ARGUMENTS)
  const own: Session = { ...face, fork: async (id) => checked(await face.fork(id)) }
  CHECKED.set(session, own)
  return own
}
