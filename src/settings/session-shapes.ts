import type { Argument, GivenShape } from '../core/given.ts'
import type { Target } from '../core/target.ts'
import type { Usage } from '../core/usage.ts'
import type { Spender } from '../meter/index.ts'

const text: GivenShape = { kind: 'text' }
const name: GivenShape = { kind: 'text', pattern: /\S/, words: 'a name' }
const any: GivenShape = { kind: 'any' }
const code: GivenShape = { kind: 'function' }
const count = (words: string, min = 1): GivenShape => ({ kind: 'number', words, min })

/** A number of TOKENS, never a text like `64k`. */
export const TOKENS: GivenShape = { kind: 'number', words: 'a number of tokens like 128_000', min: 1 }

/** What `session()` takes. */
export const SESSION: GivenShape = {
  kind: 'object',
  required: ['id'],
  fields: { id: name, agent: name, tenant: name, key: text },
}

export const TOOL_RESULT: GivenShape = {
  kind: 'object',
  required: ['tool', 'output'],
  fields: {
    tool: text,
    callId: text,
    output: {
      kind: 'either',
      of: [text, { kind: 'bytes' }],
      words: 'text or bytes (JSON.stringify what a tool returns as an object)',
    },
    model: text,
    window: TOKENS,
  },
}

const TARGET: GivenShape = {
  kind: 'object',
  required: ['model'],
  fields: {
    model: text,
    provider: text,
    endpoint: text,
    window: TOKENS,
    maxOutputTokens: TOKENS,
    learned: { kind: 'object', fields: { window: TOKENS, bodyBytes: TOKENS } },
    heldWithin: TOKENS,
    refusesOverflow: { kind: 'switch' },
  } satisfies Record<keyof Target, GivenShape>,
}

/** A request as far as it is read, whatever is done with it. */
const REQUEST: Readonly<Record<string, GivenShape>> = {
  format: text,
  body: {
    kind: 'either',
    of: [text, { kind: 'object', fields: {}, rest: any }],
    words: "the request's text or an object",
  },
  targets: { kind: 'list', of: TARGET },
  expectedCalls: { kind: 'number', words: 'a number of calls', min: 0, whole: false },
  send: code,
  sendTo: code,
  conversation: { kind: 'object', required: ['items', 'settings'], fields: {}, rest: any },
  tools: { kind: 'object', required: ['tools'], fields: { tools: { kind: 'list', of: any } }, rest: any },
}

const STANDING: GivenShape = { kind: 'object', required: ['format', 'body'], fields: REQUEST }

export const PREPARE: GivenShape = {
  kind: 'object',
  required: ['format', 'body'],
  fields: {
    ...REQUEST,
    writeOut: code,
    sentAnyway: { kind: 'switch' },
    archive: { kind: 'text', oneOf: ['before', 'meanwhile'] },
  },
}

/** Names are the program's own, so a wrong one is told. Numbers come from a provider: odd ones are unknown usage, and end no run. */
const USAGE: GivenShape = {
  kind: 'object',
  fields: {
    input: any,
    output: any,
    cacheRead: any,
    cacheWrite: any,
    cacheWriteLong: any,
    reasoning: any,
  } satisfies Record<keyof Usage, GivenShape>,
}

export const RECORD: GivenShape = {
  kind: 'object',
  required: ['turn'],
  fields: {
    turn: text,
    format: text,
    response: { kind: 'parsed' },
    answer: { kind: 'object', required: ['items'], fields: {}, rest: any },
    usage: USAGE,
    refused: { kind: 'switch' },
    status: { kind: 'number', words: 'an HTTP status like 429', min: 100, max: 599 },
    durable: { kind: 'text', oneOf: ['flushed', 'soon'] },
  },
}

const options = (fields: Readonly<Record<string, GivenShape>>): Argument => ({
  name: 'the options',
  shape: { kind: 'object', fields },
  optional: true,
})

/** What else a session takes, argument by argument. */
export const SESSION_ARGUMENTS = {
  canExecute: [{ name: 'tool', shape: name }],
  standing: [{ name: 'the request', shape: STANDING }],
  compact: [options({ instructions: text, request: PREPARE })],
  pin: [
    { name: 'identity', shape: text },
    { name: 'pinned', shape: { kind: 'switch' }, optional: true },
  ],
  fork: [{ name: 'id', shape: name }],
  recall: [
    { name: 'query', shape: text },
    options({ limit: count('a number of items'), maxCharacters: count('a number of characters') }),
  ],
  scope: [
    {
      name: 'the history',
      shape: { kind: 'object', required: ['items', 'links'], fields: {}, rest: any },
      optional: true,
    },
  ],
} as const satisfies Record<string, readonly Argument[]>

const tenant = { tenant: name }
const HANDLE: Argument = { name: 'handle', shape: text }
const ASKED: Argument = { name: 'the request', shape: { kind: 'object', fields: tenant, rest: { kind: 'data' } } }

/** What `plimsoll.artifacts` takes. */
export const ARTIFACT_ARGUMENTS = {
  read: [
    HANDLE,
    options({
      ...tenant,
      range: {
        kind: 'object',
        required: ['start'],
        fields: { start: count('a number of bytes', 0), end: count('a number of bytes', 0) },
      },
    }),
  ],
  stat: [HANDLE, options(tenant)],
  list: [options({ ...tenant, session: text, tool: text, limit: count('a number of artifacts'), after: text })],
  grep: [HANDLE, ASKED],
  query: [HANDLE, { ...ASKED, optional: true }],
  run: [HANDLE, ASKED],
  extract: [HANDLE, ASKED],
} as const satisfies Record<string, readonly Argument[]>

const NAMED: readonly Argument[] = [{ name: 'session', shape: name }, options(tenant)]

/** What `plimsoll.archive` takes. */
export const ARCHIVE_ARGUMENTS = {
  sessions: [options({ ...tenant, limit: count('a number of sessions') })],
  has: NAMED,
  agents: NAMED,
  report: NAMED,
  read: NAMED,
  readers: [options({ ...tenant, session: name, agent: name })],
} as const satisfies Record<string, readonly Argument[]>

const PLACE: Argument = options({ tenant: text, endpoint: text, model: text })

/** What `plimsoll.limits` takes. A filter that is misspelt would match everything. */
export const LIMITS_ARGUMENTS = { list: [PLACE], forget: [PLACE] } as const satisfies Record<
  string,
  readonly Argument[]
>

const SPENDER: Readonly<Record<keyof Spender, GivenShape>> = { tenant: text, session: text, agent: text, key: text }
const OF_SESSION: readonly Argument[] = [
  { name: 'tenant', shape: text },
  { name: 'session', shape: text },
]

/** What `plimsoll.ledger` takes from programs that read it. */
export const LEDGER_ARGUMENTS = {
  totals: [options(SPENDER)],
  split: [{ name: 'by', shape: { kind: 'text', oneOf: Object.keys(SPENDER) } }, options(SPENDER)],
  byAgent: OF_SESSION,
  calls: [options(SPENDER)],
  report: OF_SESSION,
  lastTurn: OF_SESSION,
  session: OF_SESSION,
  sessions: [{ name: 'tenant', shape: text, optional: true }],
} as const satisfies Record<string, readonly Argument[]>

/** None of them waits for anything. */
export const LEDGER_READS = [
  'totals',
  'split',
  'byAgent',
  'calls',
  'report',
  'lastTurn',
  'session',
  'sessions',
] as const

/** What `plimsoll.tools(…)` takes afterwards. */
export const TOOL_ARGUMENTS = {
  has: [{ name: 'name', shape: text }],
  call: [
    { name: 'name', shape: text },
    { name: 'input', shape: any, optional: true },
  ],
  answer: [{ name: 'response', shape: { kind: 'parsed' } }],
} as const satisfies Record<string, readonly Argument[]>

/** What the other functions of a Plimsoll take. */
export const FACE_ARGUMENTS = {
  tools: [
    {
      name: 'session',
      shape: { kind: 'driver', methods: ['prepare', 'scope'], words: 'what plimsoll.session({ id }) gives' },
    },
    { name: 'format', shape: text },
    options({ window: TOKENS }),
  ],
  importSession: [
    { name: 'lines', shape: { kind: 'iterable', words: 'the lines of an export, as a list or a stream' } },
    options(tenant),
  ],
  on: [{ name: 'listener', shape: code }],
} as const satisfies Record<string, readonly Argument[]>
