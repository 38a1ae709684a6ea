import type { GivenShape } from '../core/given.ts'
import { LOG_LEVELS } from '../core/log-level.ts'

const text: GivenShape = { kind: 'text' }
const on: GivenShape = { kind: 'switch' }
const code: GivenShape = { kind: 'function' }
const any: GivenShape = { kind: 'any' }
const data: GivenShape = { kind: 'data' }

const tokens = (min = 1) =>
  ({ kind: 'number', words: 'a number of tokens like 128_000', min }) as const satisfies GivenShape
const count = (min = 0): GivenShape => ({ kind: 'number', words: 'a whole number', min })
const kept: GivenShape = { kind: 'number', words: 'a whole number', min: 0, unbounded: true }
const bytes: GivenShape = { kind: 'number', words: 'a number of bytes like 1_048_576', min: 1 }
const share = (max = 1): GivenShape => ({ kind: 'number', words: 'a share like 0.8', min: 0, max, whole: false })
const amount: GivenShape = { kind: 'number', words: 'an amount', min: 0, whole: false }
/** A design without this limit says Infinity. */
const unlimited: GivenShape = { kind: 'number', words: 'a share like 0.25', min: 0, whole: false, unbounded: true }
const driver = (words: string, ...methods: string[]): GivenShape => ({ kind: 'driver', methods, words })
const either = (words: string, ...of: GivenShape[]): GivenShape => ({ kind: 'either', of, words })

const STEPS = [
  'fold',
  'squeeze',
  'native',
  'strip-reasoning',
  'collapse-duplicates',
  'compress-results',
  'offload',
  'window',
  'summarise',
  'emergency',
  'final',
]

/** A step of a cascade. Each has numbers of its own. */
const STEP: GivenShape = {
  kind: 'object',
  required: ['step'],
  fields: { step: { kind: 'text', oneOf: STEPS } },
  rest: data,
}

const START =
  "A policy is whole; to change single numbers start from a preset: { ...plimsoll, water: { ...plimsoll.water, high: 0.8 } } with plimsoll from 'plimsoll/policies'."

const POLICY: GivenShape = {
  kind: 'object',
  required: ['name', 'water', 'buffer', 'intake', 'cascade'],
  advice: START,
  fields: {
    name: text,
    water: {
      kind: 'object',
      required: ['high', 'low', 'warn', 'rest'],
      advice: START,
      fields: {
        high: share(),
        low: share(),
        warn: share(),
        rest: share(),
        of: { kind: 'text', oneOf: ['limit', 'window'] },
        lowOf: { kind: 'text', oneOf: ['whole', 'history'] },
        lowBy: { kind: 'text', oneOf: ['high', 'tokens'] },
        highTokens: tokens(),
        lowTokens: tokens(),
        margin: {
          kind: 'object',
          required: ['from', 'tokens', 'share'],
          fields: { from: tokens(0), tokens: tokens(0), share: share() },
        },
        inclusive: on,
        by: { kind: 'text', oneOf: ['high', 'tokens'] },
        messages: count(1),
        messagesSince: { kind: 'text', oneOf: ['start', 'summary'] },
        cacheRelax: share(),
      },
    },
    caution: amount,
    buffer: {
      kind: 'object',
      required: ['fraction', 'min', 'max'],
      advice: START,
      fields: { fraction: share(), min: tokens(0), max: { ...tokens(0), unbounded: true } },
    },
    intake: {
      kind: 'object',
      required: ['maxShare', 'previewShare'],
      advice: START,
      fields: { maxShare: unlimited, previewShare: unlimited, guard: data, budget: data },
    },
    cascade: { kind: 'list', of: STEP },
    estimator: data,
    defaultWindow: tokens(),
    models: data,
    retention: {
      kind: 'object',
      required: ['keep', 'cleanAt'],
      fields: { keep: kept, cleanAt: kept },
    },
    tokenBudget: tokens(0),
    prices: data,
    tools: {
      kind: 'object',
      fields: { allow: { kind: 'list', of: text }, deny: { kind: 'list', of: text } },
    },
    debug: on,
    stop: share(),
    reserve: data,
    lowerOutput: {
      kind: 'object',
      required: ['minTokens', 'minShare'],
      fields: { minTokens: tokens(0), minShare: share() },
    },
    priceGate: on,
    passes: count(),
    timeMs: { kind: 'number', words: 'a number of milliseconds', min: 0, whole: false },
    summaries: data,
  },
}

const policy = either('the name of a preset or a whole policy', text, POLICY)

const BUDGET: GivenShape = {
  kind: 'object',
  required: ['name', 'scope', 'unit', 'hard'],
  fields: {
    name: text,
    scope: { kind: 'text', oneOf: ['call', 'session', 'agent', 'key', 'tenant', 'day'] },
    unit: { kind: 'text', oneOf: ['tokens', 'usd'] },
    soft: amount,
    hard: amount,
    enforce: { kind: 'text', oneOf: ['reserve', 'settled'] },
    finalShare: share(),
  },
}

const MODEL: GivenShape = {
  kind: 'object',
  fields: {
    window: tokens(),
    inputLimit: tokens(),
    maxOutputTokens: tokens(),
    tokenizer: text,
    price: data,
    reasoning: on,
    modalities: { kind: 'list', of: text },
    bindsThinking: on,
  },
}

/** What `reconfigure` takes. */
const LIVE: Readonly<Record<string, GivenShape>> = {
  policy,
  policies: { kind: 'map', of: POLICY },
  agents: { kind: 'map', of: { kind: 'object', fields: { policy, window: tokens() } } },
  window: tokens(),
  budgets: { kind: 'list', of: BUDGET },
  tools: on,
  observe: on,
  maxBodyBytes: bytes,
  memoryBytes: bytes,
  tenants: {
    kind: 'text',
    pattern: /^(?:credential|one|header:\s*\S+)$/,
    words: "'credential', 'one' or 'header:<name>'",
  },
}

export const LIVE_OPTIONS: GivenShape = { kind: 'object', fields: LIVE }

const model = either(
  "'mechanical', a function, { format, model } or a driver with summarise()",
  { kind: 'text', oneOf: ['mechanical'] },
  code,
  driver('', 'summarise'),
  {
    kind: 'object',
    required: ['format', 'model'],
    fields: { format: text, model: text, baseUrl: text, apiKey: text, window: tokens(), headers: any, fetch: code },
  },
)

/** What `createPlimsoll` takes. */
export const OPTIONS: GivenShape = {
  kind: 'object',
  fields: {
    ...LIVE,
    memo: on,
    store: either(
      "a URL ('memory:', 'sqlite:./plimsoll.db', 'postgres://…') or a session store",
      text,
      driver('', 'append', 'read'),
    ),
    artifacts: either(
      "a URL ('memory:', 'file:./artifacts', 's3://bucket') or an artifact store",
      text,
      driver('', 'put', 'read'),
    ),
    secret: { kind: 'bytes' },
    summarizer: model,
    extraction: model,
    sql: either('an SQL engine or false', on, driver('', 'query')),
    sandbox: either('a sandbox or false', on, driver('', 'run')),
    toolSummaries: { kind: 'map', of: code },
    hooks: {
      kind: 'object',
      fields: {
        afterToolResult: code,
        beforeEpoch: code,
        afterEpoch: code,
        onVerdict: code,
        timeoutMs: { kind: 'number', words: 'a number of milliseconds', min: 0, whole: false },
      },
    },
    contextNotice: on,
    cacheMarks: on,
    redact: either('true, false or { environment, values, patterns }', on, {
      kind: 'object',
      fields: { environment: any, values: { kind: 'map', of: text }, patterns: { kind: 'list', of: any } },
    }),
    exactTokens: on,
    countTokens: code,
    catalogue: driver('a catalogue with resolve() and search()', 'resolve', 'search'),
    models: { kind: 'map', of: MODEL },
    clock: driver('a clock with now()', 'now'),
    onEvent: code,
    logFile: text,
    logLevel: { kind: 'text', oneOf: LOG_LEVELS },
    telemetry: on,
    fetch: code,
  },
}
