import * as v from 'valibot'
import { type EventSink, LOG_LEVELS } from '../core/events.ts'
import type { Policy } from '../core/policy.ts'
import type { PriceModel } from '../core/price.ts'
import type { ModelOverride } from '../drivers/catalogue/catalogue.ts'
import type { SummarizerChoice } from '../drivers/open-summarizer.ts'
import type { CountTokens } from '../engine/deps.ts'
import type { Hooks } from '../engine/hooks.ts'
import type { ToolSummary } from '../engine/intake/index.ts'
import type { PresetName } from '../engine/presets/index.ts'
import type { RedactionOptions } from '../engine/redaction/redactor.ts'
import { endpoints } from '../formats/endpoints.ts'
import { wires } from '../formats/registry.ts'
import type { Budget } from '../meter/index.ts'
import type { ArtifactStore } from '../ports/artifact-store.ts'
import type { Catalogue } from '../ports/catalogue.ts'
import type { Clock } from '../ports/clock.ts'
import type { Sandbox } from '../ports/sandbox.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { SqlEngine } from '../ports/sql-engine.ts'
import { OVERRIDE, POLICY } from './policy.ts'
import {
  any,
  binary,
  bytes,
  code,
  count,
  data,
  driver,
  either,
  group,
  list,
  map,
  ms,
  number,
  on,
  oneOf,
  oneOrMore,
  readNumber,
  share,
  text,
  textLike,
  tokens,
  unitWords,
  usd,
  type Schema,
} from './values.ts'

/**
 * Every setting once: its type, unit and default, what it means, and where it may be set. From here come the types of options, the checking of
 * options and of settings files, environment variables, flags, the JSON Schema and the pages of docs/reference.
 *
 * The file is longer than others because it is a table: one place for all settings is its point.
 *
 * The sentence of a setting is for files, flags and pages; a comment above it is for editors, where options in code can do more.
 */
export interface Setting<C = unknown, W extends Where = Where> {
  /** As an option in code. */
  readonly code: Schema<C>
  readonly where: W
}

/** Where a setting may be set beside code, and what it is when it is not set. */
export interface Where {
  /** What a file may say, where that is another form; false: it may not be in a file. @default the form in code */
  readonly file?: Schema | false
  /** `--window <tokens>`, or several flags that add up. @default none */
  readonly flag?: string | readonly Flag[]
  /** @default none */
  readonly env?: string
  /** @default nothing, and then nothing is said about it */
  readonly default?: string | number | boolean
  /** May change while requests are under way. @default false */
  readonly live?: boolean
}

/** A flag with words of its own, or one whose text is another one than the file's. */
export interface Flag {
  readonly flag: string
  readonly about: string
  /** What the text says; undefined where it says nothing of use. `expected` is what it should say then. */
  readonly read?: (text: string) => unknown
  readonly expected?: string
}

export const setting = <C, const W extends Where>(schema: Schema<C>, where: W): Setting<C, W> => ({
  code: schema,
  where,
})

/** An option that only a program can give. */
const inCode = <C>(schema: Schema<C>): Setting<C, { readonly file: false }> => ({
  code: schema,
  where: { file: false },
})

/** A preset's name, or the name of a policy of your own. */
export type PolicyName = PresetName | (string & Record<never, never>)

const WIRES = wires.map(({ id }) => id)
const BUDGET_SCOPES = ['call', 'session', 'agent', 'key', 'tenant', 'day'] as const satisfies readonly Budget['scope'][]
const policy = either<PolicyName | Policy>('the name of a preset or a whole policy', text(), POLICY)

const BUDGET: Schema<Budget> = group(
  '',
  {
    name: text(),
    scope: oneOf('', BUDGET_SCOPES),
    unit: oneOf('', ['tokens', 'usd']),
    soft: number('', 'factor', { words: 'an amount' }),
    hard: number('', 'factor', { words: 'an amount' }),
    enforce: oneOf('', ['reserve', 'settled']),
    finalShare: share(),
  } satisfies Record<keyof Budget, Schema>,
  { required: ['name', 'scope', 'unit', 'hard'] },
)

/** A limit on spending as files and flags write it. */
const SPENDING = group('A limit on spending: in usd or in tokens', {
  name: text('Its name in events'),
  scope: oneOf('Whose spending is added up', BUDGET_SCOPES),
  usd: usd('US dollars'),
  tokens: tokens('Tokens, input and output'),
  warn: share('Share of the budget at which an event is sent'),
  closing: share('Share of the budget that is kept for the closing answer'),
})

const SCOPES = 'call, session, agent, key, tenant or day'

/** `20` or `0.50/session`. */
const budgetIn = (unit: 'usd' | 'tokens', flag: string, about: string): Flag => ({
  flag,
  about,
  expected: `${unitWords(unit)}, or with a scope: 5/session (${SCOPES})`,
  read(given) {
    const [amount = '', scope = 'day', ...more] = given.split('/')
    const hard = readNumber(amount, unit)
    if (hard === undefined || hard <= 0 || more.length > 0) return undefined
    return BUDGET_SCOPES.some((one) => one === scope) ? [{ scope, [unit]: hard }] : undefined
  },
})

const MODEL: Schema<ModelOverride> = group('', {
  window: tokens(),
  inputLimit: tokens(),
  maxOutputTokens: tokens(),
  tokenizer: text(),
  price: data<ModelOverride['price']>(),
  reasoning: on(),
  bindsThinking: on(),
} satisfies Record<keyof ModelOverride, Schema>)

const PRICE: Schema<PriceModel> = group(
  'US dollars per million tokens',
  {
    input: usd('Input'),
    output: usd('Output'),
    cacheRead: usd('Input from the cache'),
    cacheWrite: usd('Input written to the cache'),
    cacheWriteLong: usd('Input written to the cache for an hour'),
  },
  { required: ['input', 'output'] },
)

const KNOWN_MODEL = group('Facts about a model; they win over the catalogue', {
  window: tokens('Its window'),
  inputLimit: tokens('Largest prompt'),
  maxOutputTokens: tokens('Longest answer'),
  tokenizer: text('Tokenizer family: o200k, cl100k, claude, gemini, llama3, …'),
  price: PRICE,
})

const summarizer = either<SummarizerChoice>(
  "'mechanical', a function, { format, model } or a driver with summarise()",
  oneOf('', ['mechanical']),
  code(),
  driver('', 'summarise'),
  group(
    '',
    { format: text(), model: text(), baseUrl: text(), apiKey: text(), window: tokens(), headers: any(), fetch: code() },
    { required: ['format', 'model'] },
  ),
)

/** What the engine takes, whatever stands in front of it. */
export const LIBRARY = {
  /** @internal Memory of earlier work changes no byte; `false` works everything out anew, to prove it. @default true */
  memo: inCode(on()),
  /** A preset's name or a policy of your own. @default 'plimsoll' */
  policy: setting(policy, {
    file: text('Name of a preset, or of a policy in the settings file'),
    flag: '--policy <name>',
    default: 'plimsoll',
    live: true,
  }),
  /** Overrides the model's window, in tokens. */
  window: setting(tokens('Context window, such as 200000 or 200k; wins over what is known about the model'), {
    flag: '--window <tokens>',
    default: 'by model',
    live: true,
  }),
  /** A driver or a URL: `memory:`, `sqlite:./plimsoll.db`. @default a file in the home directory */
  store: setting(
    either<string | SessionStore>(
      "a URL ('memory:', 'sqlite:./plimsoll.db', 'postgres://…') or a session store",
      text(),
      driver('', 'append', 'read'),
    ),
    {
      file: text('Where to record: sqlite:./plimsoll.db, postgres://user@host/database or memory:'),
      flag: '--store <url>',
      default: 'the store in the home directory',
    },
  ),
  /** A driver or a URL: `memory:`, `file:./artifacts`. @default beside the store */
  artifacts: setting(
    either<string | ArtifactStore>(
      "a URL ('memory:', 'file:./artifacts', 's3://bucket') or an artifact store",
      text(),
      driver('', 'put', 'read'),
    ),
    {
      file: text('Where large outputs go: file:./artifacts, postgres://…, s3://bucket/prefix or memory:'),
      flag: '--artifacts <url>',
      default: 'beside the store',
    },
  ),
  /** Keys handles and tenants. @default PLIMSOLL_SECRET, else one that the store keeps */
  secret: inCode(binary()),
  /** Appends the log lines of the preset's own design to this file. @default none */
  logFile: setting(text('File for the log lines that the preset’s design defines'), {}),
  /**
   * Writes events from this level on as JSON lines to standard error: `debug`, `info`, `warning` or `error`.
   * @default PLIMSOLL_LOG_LEVEL, else none
   */
  logLevel: setting(
    oneOf(
      'Write events from this level on to standard error, as JSON lines: debug, info, warning or error',
      LOG_LEVELS,
    ),
    { flag: '--log-level <level>', env: 'PLIMSOLL_LOG_LEVEL' },
  ),
  /** Writes summaries: a driver, a model behind HTTP, a function from prompt to text, or `mechanical` for none. @default 'mechanical' */
  summarizer: setting(summarizer, {
    file: group('A model that writes summaries', {
      format: oneOf('Its API format', WIRES),
      model: text('Its name'),
      baseUrl: text('Its address, if it is not that of the vendor'),
      apiKeyEnv: text('Name of the environment variable with its key'),
      window: tokens('Its window'),
    }),
  }),
  /** The model that reads artifacts for `artifact_extract`, in the same forms. @default the summarizer */
  extraction: inCode(summarizer),
  /** Limits on spending; over one, a closing answer and then none. */
  budgets: setting(list('', BUDGET), {
    file: list('Limits on spending', SPENDING),
    flag: [
      budgetIn(
        'usd',
        '--budget-usd <amount[/scope]>',
        `dollars per ${SCOPES}; repeat for another (default scope: day)`,
      ),
      budgetIn('tokens', '--budget-tokens <n[/scope]>', 'the same in tokens'),
    ],
    live: true,
  }),
  /** Your own word on models, over the catalogue: windows, output caps, tokenizers, prices. */
  models: setting(map('', MODEL), { file: map('Models by id', KNOWN_MODEL) }),
  /** Policies of your own by the name that a request may ask for, beside the presets. */
  policies: setting(map('', POLICY), {
    file: map(
      'Policies of your own, by name',
      group('A policy', { extends: text('The preset that it starts from'), override: OVERRIDE }),
    ),
    live: true,
  }),
  /** By agent name, what differs from the rest. */
  agents: setting(map('', group('', { policy, window: tokens() })), {
    file: map(
      'Settings of single agents, by name',
      group('An agent', { policy: text('Its policy'), window: tokens('Its window'), override: OVERRIDE }),
    ),
    live: true,
  }),
  /**
   * Takes secrets out of archive, artifacts and summaries, by value from the environment and by form. What is stored is then no longer
   * byte-exact where a secret stood. @default false
   */
  redact: setting(
    either<boolean | RedactionOptions>(
      'true, false or { environment, values, patterns }',
      on(),
      group('', { environment: any(), values: map('', text()), patterns: list('', any()) }),
    ),
    { file: on('Take secrets out of what is stored'), flag: '--redact', env: 'PLIMSOLL_REDACT' },
  ),
  /** Answers `artifact_query`; false for none. @default sql.js, where that optional package is installed */
  sql: inCode(either<SqlEngine | false>('an SQL engine or false', on(), driver('', 'query'))),
  /** Runs the code of `artifact_run`; false for none. @default QuickJS, where the optional package quickjs-wasi is installed */
  sandbox: inCode(either<Sandbox | false>('a sandbox or false', on(), driver('', 'run'))),
  /** One sentence about a tool's result, by tool name, for views and notices. Eight tools of AutoSRE are known. */
  toolSummaries: inCode(map<ToolSummary>('', code())),
  /** Code of yours at the engine's decisions: after a tool result, before and after an epoch, at each verdict. */
  hooks: inCode<Hooks>(
    group('', {
      afterToolResult: code<NonNullable<Hooks['afterToolResult']>>(),
      beforeEpoch: code<NonNullable<Hooks['beforeEpoch']>>(),
      afterEpoch: code<NonNullable<Hooks['afterEpoch']>>(),
      onVerdict: code<NonNullable<Hooks['onVerdict']>>(),
      timeoutMs: number('', 'ms', { whole: false }),
    }),
  ),
  /**
   * Sets cache marks on wires that have them (Anthropic) where the client set none. Off, an untouched request leaves as the bytes
   * that came in. @default false
   */
  cacheMarks: inCode(on()),
  /**
   * Counts with the model's own vocabulary where one is installed: exact, at the price of loading it. True: always. False: never.
   * @default where an estimate cannot say on which side of high water a request stands
   */
  exactTokens: inCode(on()),
  /** Asks the provider's count endpoint where an estimate cannot decide and there is no exact tokenizer. @default no provider is asked */
  countTokens: inCode(code<CountTokens>()),
  catalogue: inCode(driver<Catalogue>('a catalogue with resolve() and search()', 'resolve', 'search')),
  clock: inCode(driver<Clock>('a clock with now()', 'now')),
  onEvent: inCode(code<EventSink>()),
  /**
   * Spans and metrics for the OpenTelemetry SDK that the program has registered; without one nothing is loaded. False: never.
   * @default true
   */
  telemetry: inCode(on()),
  /**
   * Bytes that all caches of this process together may hold. Less of it costs time, never a byte: what was forgotten is read or worked out
   * again. @default each cache has a bound of its own, about 150 MB together and more for few large conversations
   */
  memoryBytes: setting(bytes('Most that all caches of a process may hold together, such as 256m or 1GiB', 2 ** 24), {
    flag: '--memory <size>',
  }),
}

/** What only requests through the gateway read: the proxy, and `plimsoll.fetch`. */
export const GATEWAY = {
  /** Reports what it would do and changes nothing. @default false */
  observe: setting(on('Report what would be done, but change nothing'), {
    flag: '--observe',
    default: false,
    live: true,
  }),
  /** Requests of agents with tools get `recall` and the readers of artifacts, answered by the gateway. @default true */
  tools: setting(on('Add tools that read back what was removed'), {
    flag: [{ flag: '--no-tools', about: 'add no tools to requests' }],
    default: true,
    live: true,
  }),
  /** Largest request body that the gateway takes, unpacked. @default 64 MiB */
  maxBodyBytes: setting(bytes('Largest request body, such as 64MiB'), {
    flag: '--max-body <bytes>',
    default: '64MiB',
    live: true,
  }),
  /**
   * Whose content a request is: `credential`, one tenant per credential; `one`, a single tenant, for a person or team whose tokens are
   * renewed; `header:<name>`, what that header says, where only a gateway that sets it can call. @default 'credential'
   */
  tenants: setting(
    textLike(
      "'credential', 'one' or 'header:<name>'",
      /^(?:credential|one|header:\s*[\w!#$%&'*+.^`|~-]+)$/,
      'Whose data a request belongs to: credential (one tenant per API key), one, or header:<name>',
    ),
    { flag: '--tenants <rule>', env: 'PLIMSOLL_TENANTS', default: 'credential', live: true },
  ),
  /** What `plimsoll.fetch` calls. @default the global fetch */
  fetch: inCode(code<(input: string | URL | Request, init?: RequestInit) => Promise<Response>>()),
}

const URL_WORDS = 'Its address'
const upstreamFields = {
  url: text(URL_WORDS),
  /** Asks for this model instead of the client's. */
  model: text('Model to ask for instead of the one in the request'),
  window: tokens('Its window'),
  /** The wire that it speaks, where that is not the client's; needs `model`, and a credential in `headers`. */
  wire: oneOf('Its API format, if it is not that of the client', WIRES),
  /** Sent instead of the client's own, e.g. another credential. */
  headers: map(
    'Headers to send instead of those of the client; $NAME stands for an environment variable',
    text('A header'),
  ),
}

/** One upstream that requests may go to. */
const UPSTREAM = group('An upstream', upstreamFields, { required: ['url'] })
export type UpstreamConfig = v.InferOutput<typeof UPSTREAM>

/** By prefix: one upstream, or several in the order in which they are tried. Only these are ever called. */
export type Upstreams = Readonly<Record<string, string | UpstreamConfig | readonly (string | UpstreamConfig)[]>>

const upstreamInCode = either<string | UpstreamConfig>(
  'a URL or { url, model, window, wire, headers }',
  text(),
  UPSTREAM,
)

const NEEDS_MODEL: Schema<UpstreamConfig> = v.pipe(
  UPSTREAM as v.GenericSchema<UpstreamConfig>,
  v.forward(
    v.partialCheck(
      [['wire'], ['model']],
      ({ wire, model }) => wire === undefined || model !== undefined,
      'needs a model',
    ),
    ['wire'],
  ),
  v.metadata({ json: { dependentRequired: { wire: ['model'] } } }),
)

const upstreamInFile: Schema<UpstreamConfig> = v.pipe(
  either<string | UpstreamConfig>('a URL or a group of keys', text(URL_WORDS), NEEDS_MODEL),
  v.transform((given): UpstreamConfig => (typeof given === 'string' ? { url: given } : given)),
  v.description('An upstream'),
)

/** What the server in front of the gateway takes. */
export const PROXY = {
  /** 0 picks a free one. @default 4141 */
  port: setting(number('Port to listen on; 0 picks one', 'count', { max: 65_535, words: 'a port' }), {
    flag: '--port <n>',
    default: 4141,
  }),
  /** @default '127.0.0.1' */
  host: setting(text('Address to bind; any but loopback needs PLIMSOLL_TOKEN'), {
    flag: '--host <address>',
    default: '127.0.0.1',
  }),
  /** Base URLs by prefix: `anthropic`, `openai`, `gemini`. Only these are ever called. */
  upstreams: setting(
    map<Upstreams[string]>('', either('an upstream or a list of them', list('', upstreamInCode), text(), UPSTREAM)),
    {
      file: map(
        'Upstreams by path prefix',
        oneOrMore('One upstream, or several in the order in which they are tried', upstreamInFile),
        textLike('a path prefix like openai or my-models', /^[a-z][a-z0-9-]*$/),
      ),
      flag: endpoints.map(({ name, url }) => ({
        flag: `--${name} <url>`,
        about: `upstream behind /${name}; repeat for a fallback (default: ${url})`,
        read: (given: string) => ({ [name]: [given] }),
      })),
      live: true,
    },
  ),
  /** Required from clients, as `x-plimsoll-token` or as `/t/<token>` before the path. Needed on any address but loopback. */
  token: setting(text('Token that callers of the proxy must send. Needed on any address but loopback'), {
    file: false,
    env: 'PLIMSOLL_TOKEN',
  }),
  /** Sees everything on the control routes. With it, others see only what is their own. */
  operatorToken: setting(text('Token that gives access to all tenants on the control routes and the dashboard'), {
    file: false,
    env: 'PLIMSOLL_OPERATOR_TOKEN',
  }),
  /** Names beside the loopback ones that a proxy on loopback is called by, e.g. behind a reverse proxy. */
  allowedHosts: setting(list('Additional host names that the proxy answers to', text('A host name')), {
    flag: [
      { flag: '--allow-host <name>', about: 'additional host name that the proxy answers to; repeat for another' },
    ],
  }),
  /** Origins of web pages that may call the proxy: `https://chat.example`. @default none */
  allowedOrigins: setting(list('Origins of web pages that may call the proxy', text('An origin: https://…')), {
    flag: [
      { flag: '--allow-origin <origin>', about: 'origin of a web page that may call the proxy; repeat for another' },
    ],
  }),
  /** How long requests in flight may take to end once `close` is called. @default 30_000 */
  drainMs: setting(ms('Milliseconds that open requests get when it stops'), { default: 30_000 }),
  /** How long a client may take to send a whole request. @default 120_000 */
  requestTimeoutMs: setting(ms('Milliseconds that a client may take to send a request'), { default: 120_000 }),
  /** Until an upstream begins to answer. @default 600_000 */
  upstreamTimeoutMs: setting(ms('Milliseconds that an upstream may take to begin its answer'), {
    default: 600_000,
    live: true,
  }),
  /** Silence inside an answer. Models may think for minutes without a byte. @default 600_000 */
  upstreamIdleMs: setting(ms('Milliseconds without a byte after which an answer is given up'), {
    default: 600_000,
    live: true,
  }),
  /** PEM file with further certificate authorities; NODE_EXTRA_CA_CERTS works as everywhere. */
  caFile: setting(text('PEM file with additional certificate authorities'), {
    flag: '--ca-file <file>',
    env: 'PLIMSOLL_CA_FILE',
    live: true,
  }),
}

const capacity = {
  contextWindow: tokens('Total token capacity'),
  contextWindowBufferTokens: tokens('Safety margin', 0),
}
const answers = { maxOutputTokens: tokens('Reserved for the answer') }
const aiAgentModel = group('A model as ai-agent describes it', {
  ...capacity,
  ...answers,
  tokenizer: text('Tokenizer id: tiktoken:…, anthropic, claude:…, gemini, approximate'),
})

/** What only files and the command line know: programs say it otherwise. */
export const FILES = {
  $schema: setting(text('JSON Schema of this file'), {}),
  override: setting(OVERRIDE, {}),
  providers: setting(
    map(
      'ai-agent: providers by name',
      group('A provider', { ...capacity, models: map('Models by name', aiAgentModel) }),
    ),
    {},
  ),
  defaults: setting(
    group('ai-agent: defaults', {
      ...capacity,
      ...answers,
      toolResponseMaxBytes: bytes('Larger outputs are stored and shown as a handle'),
      toolsAllowed: list('Only these tools', text('A tool')),
      toolsDenied: list('All but these tools', text('A tool')),
    }),
    {},
  ),
  /** Up to 0.2.0 a proxy could be several processes; the key stays so that such a file opens, and `proxy` says what to do instead. */
  workers: setting(count('1; for more processes start several proxies on one Postgres', 1), { flag: '--workers <n>' }),
  instructions: setting(
    group('AGENTS.md', {
      trustProject: on('Read the instruction files of the project'),
      globalDir: text('Folder of the global instruction file'),
      maxBytes: bytes('Most bytes of all instruction files together'),
    }),
    {},
  ),
}

export const SETTINGS = { ...LIBRARY, ...GATEWAY, ...PROXY, ...FILES }

export type Settings = Readonly<Record<string, Setting>>

/** Settings as options in code. */
export type OptionsOf<S extends Settings> = {
  readonly [K in keyof S]?: S[K] extends Setting<infer C> ? C : never
}

/** The names of those that may change while requests are under way. */
export type LiveIn<S extends Settings> = {
  [K in keyof S]: S[K]['where'] extends { readonly live: true } ? K : never
}[keyof S]

/** Settings as a file says them, read and checked. */
export type FileOf<S extends Settings> = {
  readonly [K in keyof S as S[K]['where'] extends { readonly file: false } ? never : K]?: S[K]['where'] extends {
    readonly file: Schema<infer F>
  }
    ? F
    : S[K] extends Setting<infer C>
      ? C
      : never
}

/** What holds options in code. */
export const optionsSchema = <S extends Settings>(settings: S): Schema<OptionsOf<S>> =>
  group('', fieldsOf(settings)) as unknown as Schema<OptionsOf<S>>

/** The same where there are further options beside the settings. */
export const fieldsOf = <S extends Settings>(settings: S): { readonly [K in keyof S]: S[K]['code'] } =>
  Object.fromEntries(Object.entries(settings).map(([key, one]) => [key, one.code])) as {
    readonly [K in keyof S]: S[K]['code']
  }

/** What holds a settings file. */
export const fileSchema = <S extends Settings>(settings: S): Schema<FileOf<S>> =>
  group(
    'Plimsoll',
    Object.fromEntries(
      Object.entries(settings).flatMap(([key, { code: own, where }]) =>
        where.file === false ? [] : [[key, where.file ?? own] as const],
      ),
    ),
  ) as unknown as Schema<FileOf<S>>

/** What some settings are in an object that may say more. */
export const those = <S extends Settings, T extends object>(settings: S, of: T): Pick<T, keyof S & keyof T> =>
  Object.fromEntries(Object.entries(of).filter(([key]) => Object.hasOwn(settings, key))) as Pick<T, keyof S & keyof T>

/** Settings with a variable of their own, and the variables that are no setting. */
export const variablesOf = (settings: Settings): readonly Variable[] => [
  ...VARIABLES,
  ...Object.values(settings).flatMap(({ code: own, where: { env, flag, file } }) => {
    const same = typeof flag === 'string' ? `Same as \`${flag.split(' ')[0]}\`. ` : ''
    return env === undefined
      ? []
      : [{ name: env, about: same + (v.getDescription(file === undefined || file === false ? own : file) ?? '') }]
  }),
]

/** Variables of ours that are no setting. */
export const VARIABLES: readonly Variable[] = [
  {
    name: 'PLIMSOLL_HOME',
    about: 'Folder of the store, artifacts, learned limits and the updated model list. Default: `~/.plimsoll`.',
  },
  {
    name: 'PLIMSOLL_SECRET',
    about: 'Secret that handles and tenant ids are made with. Default: one that the store keeps.',
  },
  { name: 'PLIMSOLL_KEY', about: 'Encrypts the store and artifacts: 64 hexadecimal digits, or 32 bytes of base64.' },
  { name: 'PLIMSOLL_KEY_FILE', about: 'A file that holds the same key.' },
  { name: 'PLIMSOLL_DEBUG', about: 'Any value: unexpected errors are printed with their stack.' },
]

/** An environment variable that Plimsoll reads. */
export interface Variable {
  readonly name: string
  readonly about: string
}

/** By preset, the variables that its design defines. */
export const PRESET_VARIABLES: Readonly<Record<string, readonly string[]>> = {
  autosre: [
    'SRE_AGENT_TOKEN_BUDGET',
    'SRE_AGENT_LARGE_PAYLOAD_ENABLED',
    'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS',
    'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS',
  ],
  'cyber-autoagent': [
    'CYBER_CONTEXT_LIMIT',
    'CYBER_PROMPT_TELEMETRY_THRESHOLD',
    'CYBER_PROMPT_CACHE_RELAX',
    'CYBER_PROMPT_CACHE_HINT',
    'CYBER_TOOL_COMPRESS_TRUNCATE',
    'CYBER_TOOL_MAX_RESULT_CHARS',
    'CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD',
    'CYBER_CONVERSATION_WINDOW',
    'CYBER_CONVERSATION_PRESERVE_FIRST',
    'CYBER_CONVERSATION_PRESERVE_LAST',
  ],
  'ai-agent': ['CONTEXT_DEBUG'],
}
