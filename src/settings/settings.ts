import * as v from 'valibot'
import { type EventSink, LOG_LEVELS } from '../core/events.ts'
import { AIMS, type Policy } from '../core/policy.ts'
import type { PriceModel } from '../core/price.ts'
import type { ModelOverride } from '../drivers/catalogue/catalogue.ts'
import type { EmbedChoice } from '../drivers/open-embed.ts'
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
 * Every setting once: its type, unit, default and description, and where it may be set. From here come the types and checks of options and settings
 * files, environment variables, flags, the JSON Schema and the pages of docs/reference.
 * The file is longer than others because it is one table of all settings.
 * A setting's description is for files, flags and pages; a comment above it is for editors, where options in code can do more.
 */
export interface Setting<C = unknown, W extends Where = Where> {
  readonly code: Schema<C>
  readonly where: W
}

/** Where a setting may be set, other than in code, and its default. */
export interface Where {
  /** The schema in a file, if it differs; false: not allowed in a file. @default the schema in code */
  readonly file?: Schema | false
  /** `--window <tokens>`, or several flags that are combined. @default none */
  readonly flag?: string | readonly Flag[]
  /** @default none */
  readonly env?: string
  /** @default none; the default is then not shown */
  readonly default?: string | number | boolean
  /** Can change while requests are running. @default false */
  readonly live?: boolean
}

/** A flag with its own description, or with text that differs from a file's. */
export interface Flag {
  readonly flag: string
  readonly about: string
  /** The value of the text; undefined when the text is not valid. `expected` describes valid text. */
  readonly read?: (text: string) => unknown
  readonly expected?: string
}

export const setting = <C, const W extends Where>(schema: Schema<C>, where: W): Setting<C, W> => ({
  code: schema,
  where,
})

/** An option that can only be set in code. */
const inCode = <C>(schema: Schema<C>): Setting<C, { readonly file: false }> => ({
  code: schema,
  where: { file: false },
})

/** A preset's name, or the name of your own policy. */
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

const QUOTA = group(
  'A share of a window',
  {
    window: text('The window, as plimsoll usage shows it: 5h, 7d, requests, tokens …'),
    share: share('Share of it at which requests stop'),
    agents: text('Only these: sub (all but the main agent), or the name of one'),
  },
  { required: ['window', 'share'] },
)

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
  stopsAtWindow: on(),
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

const KNOWN_MODEL = group('Facts about a model; they override the catalogue', {
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

const EMBED = group(
  'A model for search by meaning, behind an endpoint like OpenAI’s /v1/embeddings (Ollama’s too)',
  {
    model: text('Its name'),
    baseUrl: text('What /embeddings is appended to, such as http://127.0.0.1:11434/v1'),
    apiKeyEnv: text('Name of the environment variable with its key'),
  },
  { required: ['model', 'baseUrl'] },
)

/** Options of the engine. */
export const LIBRARY = {
  /** `false` disables the cache of earlier work, to prove that it changes no byte. @default true */
  memo: inCode(on()),
  /** A preset's name or your own policy. @default 'plimsoll' */
  policy: setting(policy, {
    file: text('Name of a preset, or of a policy in the settings file'),
    flag: '--policy <name>',
    default: 'plimsoll',
    live: true,
  }),
  /**
   * What compactions are for. `room`: nothing changes before it must. `thrift`: a compaction is made whenever it pays back, whatever room there is.
   * @default 'room'
   */
  aim: setting(
    oneOf('What compactions are for: room (nothing changes before it must) or thrift (whenever it pays back)', AIMS),
    {
      flag: '--aim <name>',
      env: 'PLIMSOLL_AIM',
      default: 'room',
      live: true,
    },
  ),
  /** Overrides the model's window, in tokens. */
  window: setting(tokens('Context window, such as 200000 or 200k. Overrides the window of the model'), {
    flag: '--window <tokens>',
    env: 'PLIMSOLL_WINDOW',
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
      file: text('Where sessions are stored: sqlite:./plimsoll.db, postgres://user@host/database or memory:'),
      flag: '--store <url>',
      env: 'PLIMSOLL_STORE',
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
      file: text('Where large outputs are stored: file:./artifacts, postgres://…, s3://bucket/prefix or memory:'),
      flag: '--artifacts <url>',
      default: 'beside the store',
    },
  ),
  /** The key of handles and tenant ids. @default PLIMSOLL_SECRET, else one that the store keeps */
  secret: inCode(binary()),
  /** Appends the log lines that the preset's design defines to this file. @default none */
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
  /** Writes summaries: a driver, a model over HTTP, a function from prompt to text, or `mechanical` for no model. @default 'mechanical' */
  summarizer: setting(summarizer, {
    file: group('A model that writes summaries', {
      format: oneOf('Its API format', WIRES),
      model: text('Its name'),
      baseUrl: text('Its base URL, if it is not that of the vendor'),
      apiKeyEnv: text('Name of the environment variable with its key'),
      window: tokens('Its window'),
    }),
  }),
  /** Search by meaning beside words: a function from texts to vectors, or an endpoint like OpenAI's `/v1/embeddings`. @default words alone */
  embed: setting(either<EmbedChoice>('a function or { model, baseUrl }', code(), EMBED), { file: EMBED }),
  /** The model that reads artifacts for `artifact_extract`, in the same forms. @default the summarizer */
  extraction: inCode(summarizer),
  /** Limits on spending. When one is used up, the agent is asked for a final answer; after that its requests are refused. */
  budgets: setting(list('', BUDGET), {
    file: list('Limits on spending', SPENDING),
    flag: [
      budgetIn(
        'usd',
        '--budget-usd <amount[/scope]>',
        `limit in dollars per ${SCOPES}; repeat for another (default scope: day)`,
      ),
      budgetIn('tokens', '--budget-tokens <n[/scope]>', 'the same limit in tokens'),
    ],
    live: true,
  }),
  /** Facts about models that override the catalogue: windows, output caps, tokenizers, prices. */
  models: setting(map('', MODEL), { file: map('Models by id', KNOWN_MODEL) }),
  /** Your own policies, by the name that a request may ask for. */
  policies: setting(map('', POLICY), {
    file: map(
      'Policies of your own, by name',
      group('A policy', { extends: text('The preset that it starts from'), override: OVERRIDE }),
    ),
    live: true,
  }),
  /** Settings of single agents, by name. */
  agents: setting(map('', group('', { policy, aim: oneOf('', AIMS), window: tokens() })), {
    file: map(
      'Settings of single agents, by name',
      group('An agent', {
        policy: text('Its policy'),
        aim: oneOf('What its compactions are for', AIMS),
        window: tokens('Its window'),
        override: OVERRIDE,
      }),
    ),
    live: true,
  }),
  /**
   * `auto`: behind a person's new message stand the passages out of view that match it clearly better than what is in view, once something was
   * compacted. @default { auto: true }
   */
  recall: setting(
    group('How what left view is found again', {
      auto: on(
        'Add passages out of view that match a new message of a person, at most 1.5 % of the window (default: true)',
      ),
    }),
    {},
  ),
  /**
   * Removes secrets from archive, artifacts and summaries: values of environment variables, and known token formats. Stored content is then not
   * byte-exact where it contained a secret. @default false
   */
  redact: setting(
    either<boolean | RedactionOptions>(
      'true, false or { environment, values, patterns }',
      on(),
      group('', { environment: any(), values: map('', text()), patterns: list('', any()) }),
    ),
    { file: on('Take secrets out of what is stored'), flag: '--redact', env: 'PLIMSOLL_REDACT' },
  ),
  /** Answers `artifact_query`; false disables it. @default sql.js, where that optional package is installed */
  sql: inCode(either<SqlEngine | false>('an SQL engine or false', on(), driver('', 'query'))),
  /** Runs the code of `artifact_run`; false disables it. @default QuickJS, where the optional package quickjs-wasi is installed */
  sandbox: inCode(either<Sandbox | false>('a sandbox or false', on(), driver('', 'run'))),
  /** Functions that describe a tool's result in one sentence, by tool name, for views and notices. Eight tools of AutoSRE are built in. */
  toolSummaries: inCode(map<ToolSummary>('', code())),
  /** Your code, called after a tool result, before and after an epoch, and at each verdict. */
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
   * Asks the provider why a prompt was not read from its cache: `diagnostics` in requests to Anthropic, `comparison_response_id` in those to OpenAI's
   * Responses from GPT-5.6 on, unless the client asked itself. @default false
   */
  cacheDiagnostics: setting(
    on('Ask Anthropic and OpenAI Responses (GPT-5.6 on) why a prompt was not read from their cache'),
    {
      flag: '--cache-diagnostics',
      env: 'PLIMSOLL_CACHE_DIAGNOSTICS',
      default: false,
    },
  ),
  /**
   * Sets cache marks on API formats that have them (Anthropic) when the client set none. Without it, an unedited request is sent as the same bytes.
   * @default false
   */
  cacheMarks: inCode(on()),
  /**
   * Counts exactly, with the model's own vocabulary, where one is installed; loading it takes time. True: always. False: never. @default only when an
   * estimate cannot decide whether a request is above high water
   */
  exactTokens: inCode(on()),
  /** Calls the provider's count endpoint when an estimate cannot decide and there is no exact tokenizer. @default never */
  countTokens: inCode(code<CountTokens>()),
  catalogue: inCode(driver<Catalogue>('a catalogue with resolve() and search()', 'resolve', 'search')),
  clock: inCode(driver<Clock>('a clock with now()', 'now')),
  onEvent: inCode(code<EventSink>()),
  /** Spans and metrics for the OpenTelemetry SDK of the program, if it has registered one. False: never. @default true */
  telemetry: inCode(on()),
  /**
   * The most bytes that all caches of this process may use together. Less makes requests slower and changes no byte. @default each cache has a bound
   * of its own, about 150 MB together, more for a few large conversations
   */
  memoryBytes: setting(
    bytes('Most memory that all caches of a process may use together, such as 256m or 1GiB', 2 ** 24),
    {
      flag: '--memory <size>',
    },
  ),
}

/** Options of requests through the gateway: the proxy, and `plimsoll.fetch`. */
export const GATEWAY = {
  /** Reports what would be done and changes nothing. @default false */
  observe: setting(on('Report what would be done, but change nothing'), {
    flag: '--observe',
    default: false,
    live: true,
  }),
  /** Adds `recall` and the artifact readers to requests that have tools; the gateway answers their calls. @default true */
  tools: setting(on('Add tools to requests with which the model reads what was removed'), {
    flag: [{ flag: '--no-tools', about: 'add no tools to requests' }],
    default: true,
    live: true,
  }),
  /** Leaves room in windows of providers: `{ window: '5h', share: 0.8, agents: 'sub' }` stops sub-agents at 80 % of the five-hour window. */
  quotas: setting(list('Where requests stop, as shares of the windows that providers tell of', QUOTA), { live: true }),
  /** Largest request body that the gateway accepts, after decompression. @default 64 MiB */
  maxBodyBytes: setting(bytes('Largest request body, such as 64MiB'), {
    flag: '--max-body <bytes>',
    default: '64MiB',
    live: true,
  }),
  /**
   * The tenant of a request: `credential`, one tenant per credential; `one`, a single tenant, for a person or team whose tokens are renewed;
   * `header:<name>`, the value of that header, when only a gateway that sets it can call. @default 'credential'
   */
  tenants: setting(
    textLike(
      "'credential', 'one' or 'header:<name>'",
      /^(?:credential|one|header:\s*[\w!#$%&'*+.^`|~-]+)$/,
      'Whose data a request belongs to: credential (one tenant per API key), one, or header:<name>',
    ),
    { flag: '--tenants <rule>', env: 'PLIMSOLL_TENANTS', default: 'credential', live: true },
  ),
  /** The `fetch` that `plimsoll.fetch` calls. @default the global fetch */
  fetch: inCode(code<(input: string | URL | Request, init?: RequestInit) => Promise<Response>>()),
}

const URL_WORDS = 'Its base URL'
const upstreamFields = {
  url: text(URL_WORDS),
  /** The model to ask for instead of the client's. */
  model: text('Model to ask for instead of the one in the request'),
  window: tokens('Its window'),
  /** The API format of the upstream, if it is not the client's; needs `model`, and a credential in `headers`. */
  wire: oneOf('Its API format, if it is not that of the client', WIRES),
  /** Sent instead of the client's headers, e.g. another credential. */
  headers: map(
    'Headers to send instead of those of the client; $NAME stands for an environment variable',
    text('A header'),
  ),
}

/** An upstream that requests may go to. */
const UPSTREAM = group('An upstream', upstreamFields, { required: ['url'] })
export type UpstreamConfig = v.InferOutput<typeof UPSTREAM>

/** By path prefix: one upstream, or several in the order in which they are tried. No other upstream is ever called. */
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

/** Options of the proxy server. */
export const PROXY = {
  /** Port to listen on; 0 picks a free one. @default 4141 */
  port: setting(number('Port to listen on; 0 picks a free one', 'count', { max: 65_535, words: 'a port' }), {
    flag: '--port <n>',
    // Without LISTEN it is a name that Kubernetes sets in every container for a service called plimsoll.
    env: 'PLIMSOLL_LISTEN_PORT',
    default: 4141,
  }),
  /** @default '127.0.0.1' */
  host: setting(text('Address to listen on. Any address but loopback needs PLIMSOLL_TOKEN'), {
    flag: '--host <address>',
    default: '127.0.0.1',
  }),
  /** Base URLs by path prefix: `anthropic`, `openai`, `gemini`. No other upstream is ever called. */
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
  /** The token that clients must send, as `x-plimsoll-token` or as `/t/<token>` before the path. Required on any address but loopback. */
  token: setting(text('Token that callers of the proxy must send. Needed on any address but loopback'), {
    file: false,
    env: 'PLIMSOLL_TOKEN',
  }),
  /** A token that gives access to all tenants on the control routes. Others see only their own content. */
  operatorToken: setting(text('Token that gives access to all tenants on the control routes and the dashboard'), {
    file: false,
    env: 'PLIMSOLL_OPERATOR_TOKEN',
  }),
  /** Additional host names that a proxy on loopback answers to, e.g. behind a reverse proxy. */
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
  /** How long running requests may take after `close` is called. @default 30_000 */
  drainMs: setting(ms('Milliseconds that running requests may take when the proxy stops'), { default: 30_000 }),
  /** How long a client may take to send a whole request. @default 120_000 */
  requestTimeoutMs: setting(ms('Milliseconds that a client may take to send a whole request'), { default: 120_000 }),
  /** How long an upstream may take to begin its answer. @default 600_000 */
  upstreamTimeoutMs: setting(ms('Milliseconds that an upstream may take to begin its answer'), {
    default: 600_000,
    live: true,
  }),
  /** How long an upstream may pause inside an answer. Models may think for minutes without a byte. @default 600_000 */
  upstreamIdleMs: setting(ms('Milliseconds without a byte after which an answer is cancelled'), {
    default: 600_000,
    live: true,
  }),
  /** PEM file with additional certificate authorities; NODE_EXTRA_CA_CERTS works too. */
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
const answers = {
  maxOutputTokens: tokens('Reserved for the answer'),
  tokenizer: text('Tokenizer id: tiktoken:…, anthropic, claude:…, gemini, approximate'),
}
const aiAgentModel = group('A model as ai-agent describes it', {
  ...capacity,
  ...answers,
})

/** Settings of files and the command line only. */
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
  /** Up to 0.2.0 a proxy could run several processes. The key stays so that such files open; `proxy` says what to do instead. */
  workers: setting(count('Must be 1. For more processes, start several proxies on one Postgres store', 1), {
    flag: '--workers <n>',
  }),
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

export type LiveIn<S extends Settings> = {
  [K in keyof S]: S[K]['where'] extends { readonly live: true } ? K : never
}[keyof S]

/** Settings of a file, as checked and converted. */
export type FileOf<S extends Settings> = {
  readonly [K in keyof S as S[K]['where'] extends { readonly file: false } ? never : K]?: S[K]['where'] extends {
    readonly file: Schema<infer F>
  }
    ? F
    : S[K] extends Setting<infer C>
      ? C
      : never
}

export const optionsSchema = <S extends Settings>(settings: S): Schema<OptionsOf<S>> =>
  group('', fieldsOf(settings)) as unknown as Schema<OptionsOf<S>>

/** The schemas of settings by name, for an object with further options. */
export const fieldsOf = <S extends Settings>(settings: S): { readonly [K in keyof S]: S[K]['code'] } =>
  Object.fromEntries(Object.entries(settings).map(([key, one]) => [key, one.code])) as {
    readonly [K in keyof S]: S[K]['code']
  }

export const fileSchema = <S extends Settings>(settings: S): Schema<FileOf<S>> =>
  group(
    'Plimsoll',
    Object.fromEntries(
      Object.entries(settings).flatMap(([key, { code: own, where }]) =>
        where.file === false ? [] : [[key, where.file ?? own] as const],
      ),
    ),
  ) as unknown as Schema<FileOf<S>>

/** The members of an object that are settings. */
export const those = <S extends Settings, T extends object>(settings: S, of: T): Pick<T, keyof S & keyof T> =>
  Object.fromEntries(Object.entries(of).filter(([key]) => Object.hasOwn(settings, key))) as Pick<T, keyof S & keyof T>
