import { LOG_LEVELS } from '../../core/log-level.ts'
import { wires } from '../../formats/registry.ts'

/** The shape of a config file as data: one description validates it, writes its JSON Schema and knows its keys. */
export type Shape =
  | {
      readonly kind: 'object'
      readonly about: string
      readonly fields: Readonly<Record<string, Shape>>
      /** Keys that must be there. @default none */
      readonly required?: readonly string[]
      /** Text in its place is this field alone. @default only a group of keys will do */
      readonly short?: string
      /** Keys that make no sense without another one. */
      readonly needs?: Readonly<Record<string, string>>
    }
  /** Any key, one shape. */
  | { readonly kind: 'map'; readonly about: string; readonly of: Shape; readonly keys?: KeyRule }
  /** One, or a list of them; read as a list. */
  | { readonly kind: 'one-or-more'; readonly about: string; readonly of: Shape }
  | { readonly kind: 'list'; readonly about: string; readonly of: Shape }
  | { readonly kind: 'text'; readonly about: string; readonly oneOf?: readonly string[] }
  | { readonly kind: 'switch'; readonly about: string }
  | {
      readonly kind: 'number'
      readonly about: string
      readonly unit: Unit
      readonly min?: number
      readonly max?: number
    }

/** What the keys of a map look like, in a pattern and in words. */
export interface KeyRule {
  readonly pattern: string
  readonly words: string
}

/** `share`: 0 to 1, or with %. `tokens`, `count`, `chars`: whole numbers, or with k or M. `bytes`: or with KiB, MiB, kB, MB. `usd`: or with $. */
export type Unit = 'share' | 'tokens' | 'bytes' | 'chars' | 'count' | 'factor' | 'usd'

const WIRES = wires.map(({ id }) => id)

const share = (about: string, max = 1): Shape => ({ kind: 'number', about, unit: 'share', min: 0, max })
const tokens = (about: string, min = 0): Shape => ({ kind: 'number', about, unit: 'tokens', min })
const count = (about: string, min = 0, max?: number): Shape => ({
  kind: 'number',
  about,
  unit: 'count',
  min,
  ...(max !== undefined && { max }),
})
const bytes = (about: string, min = 1): Shape => ({ kind: 'number', about, unit: 'bytes', min })
const usd = (about: string): Shape => ({ kind: 'number', about, unit: 'usd', min: 0 })
const text = (about: string, oneOf?: readonly string[]): Shape => ({
  kind: 'text',
  about,
  ...(oneOf !== undefined && { oneOf }),
})
const object = (about: string, fields: Readonly<Record<string, Shape>>): Shape => ({ kind: 'object', about, fields })

/** What one step of a cascade may have changed, by the step's name. */
const steps = object('Settings of single reduction steps, by step', {
  fold: object('Replaces old steps by one message, the record', {
    tailShare: share('Share of the limit for the newest steps, which stay whole'),
    summaryShare: share('Share of the limit for the record'),
    modelShare: share('Share of the record that the summarizer writes'),
  }),
  squeeze: object('Shows the largest items as a preview with a handle', {
    floorTokens: tokens('Smallest size that an item is shortened to'),
    above: share('Starts above this share of the limit'),
    to: share('Stops at this share of the limit'),
    tokens: tokens('Upper bound of both shares, in tokens'),
    minimum: count('Histories with fewer items are not changed'),
  }),
  native: object('The provider’s own context management', {
    compactAt: share('Share of the limit from which the provider compacts'),
    clearToolUsesAt: share('Share of the limit from which the provider clears old tool results'),
    keepToolUses: count('Newest tool uses that the provider keeps'),
    keepThinkingTurns: count('Newest turns whose thinking the provider keeps', 1),
  }),
  'strip-reasoning': object('Removes the reasoning of finished steps', {
    keep: count('Newest finished turns that keep their reasoning'),
  }),
  'collapse-duplicates': object('Replaces a result that a newer one repeats by a reference', {
    minTokens: tokens('Smaller results are not changed'),
  }),
  'compress-results': object('Truncates old results', {
    fromChars: count('Truncates results of at least this many characters'),
    toChars: count('Characters that stay'),
    preserveFirst: count('First messages that are not changed'),
    preserveLast: count('Last messages that are not changed'),
  }),
  offload: object('Replaces old results by a digest with a handle', {
    minTokens: tokens('Replaces results of at least this size'),
    digestTokens: tokens('Size of a digest'),
    preserveFirst: count('First messages that are not changed'),
    preserveLast: count('Last messages that are not changed'),
  }),
  window: object('Keeps only the newest part of the history', {
    size: count('Starts at this many messages, items or tokens', 1),
    target: share('Share of that size that is kept'),
    preserveFirst: count('First messages that stay'),
    preserveLast: count('Last messages that stay'),
  }),
  summarise: object('Replaces a part of the history by a summary', {
    tail: count('Newest messages or items that stay whole'),
    minimum: count('Shorter histories are not changed'),
    maxTokens: tokens('Largest summary'),
  }),
  emergency: object('Keeps the first and the newest messages, with a list of what was between', {
    keep: count('Newest messages that are kept'),
    keepHard: count('Newest messages that are kept above the second threshold'),
    bulletChars: count('Most characters of the list'),
    charsPerToken: {
      kind: 'number',
      about: 'Characters per token in the estimate that this step uses',
      unit: 'factor',
      min: 0.1,
      max: 20,
    },
  }),
})

const override = object('Numbers of the policy to change', {
  water: object('Thresholds of compaction, as shares of the limit', {
    high: share('Compaction starts above this'),
    low: share('Compaction aims at this'),
    warn: share('A warning event is sent from here on'),
    rest: share('New tokens that must come before the next compaction that is not forced'),
    highTokens: tokens('Upper bound of high, in tokens'),
    lowTokens: tokens('Upper bound of low, in tokens'),
    messages: count('Compaction also starts at this many messages', 1),
    cacheRelax: share('Added to the thresholds while the prompt cache is warm', 0.3),
  }),
  buffer: object('Part of the window that is not used', {
    fraction: share('Share of the window'),
    min: tokens('Smallest buffer'),
    max: tokens('Largest buffer'),
  }),
  intake: object('What happens to a result before it is first sent', {
    maxShare: share('Results above this share of the limit are shown as a preview with a handle'),
    previewShare: share('Size of the preview, as a share of the limit'),
  }),
  budget: object('What tool results may take together', {
    turnShare: share('Results of one turn, as a share of the limit'),
    turnTokens: tokens('Results of one turn, in tokens'),
    sessionTokens: tokens('Results of a session, in tokens'),
    withinWindow: { kind: 'switch', about: 'Results may take only what the window has left' },
    minPreviewTokens: tokens('Smallest preview; below it only the handle is shown'),
    tools: {
      kind: 'map',
      about: 'Bounds of single tools, by name',
      of: object('A tool', {
        turnTokens: tokens('Its results in one turn'),
        sessionTokens: tokens('Its results in a session'),
      }),
    },
  }),
  retention: object('Removal of stored outputs that no session refers to', {
    keep: count('How many of the newest are kept'),
    cleanAt: count('Removal starts at this many', 1),
  }),
  guard: object('When the guard of a preset shortens a result', {
    items: count('More items in a list or object than this'),
    chars: count('More characters than this'),
    bytes: bytes('More bytes than this'),
    lines: count('More lines than this'),
    shownChars: count('Characters that are shown of a stored text'),
  }),
  estimator: object('Token estimate of a preset', {
    defaultFactor: {
      kind: 'number',
      about: 'Factor of the estimate until usage is known',
      unit: 'factor',
      min: 0.1,
      max: 20,
    },
  }),
  caution: {
    kind: 'number',
    about: 'Factor on token counts of models that are not in the catalogue',
    unit: 'factor',
    min: 1,
    max: 10,
  },
  defaultWindow: tokens('Window of unknown models', 1),
  tokenBudget: tokens('Tokens that a session may use'),
  passes: count('Most plans and summarizer calls per compaction', 1, 20),
  timeMs: count('Most milliseconds for one compaction', 1),
  summaries: object('How a model writes summaries', {
    via: text(
      'in-band: after the prefix of the request, which the provider has cached; out-of-band: with a prompt of its own',
      ['in-band', 'out-of-band'],
    ),
    calls: count('Most model calls per compaction', 0, 20),
    parts: { kind: 'switch', about: 'Read a history that is too long for one call in parts' },
    backgroundFrom: share('Share of the limit from which a summary is written in the background'),
  }),
  steps,
})

const model = object('A model as ai-agent describes it', {
  contextWindow: tokens('Total token capacity', 1),
  contextWindowBufferTokens: tokens('Safety margin'),
  maxOutputTokens: tokens('Reserved for the answer', 1),
  tokenizer: text('Tokenizer id: tiktoken:…, anthropic, claude:…, gemini, approximate'),
})

const budget = object('A limit on spending: in usd or in tokens', {
  name: text('Its name in events'),
  scope: text('Whose spending is added up', ['call', 'session', 'agent', 'key', 'tenant', 'day']),
  usd: usd('US dollars'),
  tokens: tokens('Tokens, input and output', 1),
  warn: share('Share of the budget at which an event is sent'),
  closing: share('Share of the budget that is kept for the closing answer'),
})

const rates = object('US dollars per million tokens', {
  input: usd('Input'),
  output: usd('Output'),
  cacheRead: usd('Input from the cache'),
  cacheWrite: usd('Input written to the cache'),
  cacheWriteLong: usd('Input written to the cache for an hour'),
})

const known = object('Facts about a model; they win over the catalogue', {
  window: tokens('Its window', 1),
  inputLimit: tokens('Largest prompt', 1),
  maxOutputTokens: tokens('Longest answer', 1),
  tokenizer: text('Tokenizer family: o200k, cl100k, claude, gemini, llama3, …'),
  price: rates,
})

const upstream: Shape = {
  kind: 'object',
  about: 'An upstream',
  required: ['url'],
  short: 'url',
  needs: { wire: 'model' },
  fields: {
    url: text('Its address'),
    model: text('Model to ask for instead of the one in the request'),
    window: tokens('Its window', 1),
    wire: text('Its API format, if it is not that of the client', WIRES),
    headers: {
      kind: 'map',
      about: 'Headers to send instead of those of the client; $NAME stands for an environment variable',
      of: text('A header'),
    },
  },
}

/** A config file. */
export const CONFIG: Shape & { kind: 'object' } = {
  kind: 'object',
  about: 'Plimsoll',
  fields: {
    $schema: text('JSON Schema of this file'),
    policy: text('Name of a preset, or of a policy in this file'),
    window: tokens('Context window; wins over that of the model', 1),
    store: text('memory:, sqlite:…, postgres://…'),
    artifacts: text('memory:, file:…, postgres://…, s3://…'),
    logFile: text('File for the log lines that the preset’s design defines'),
    logLevel: text('Write events from this level on to standard error as JSON lines', LOG_LEVELS),
    summarizer: object('A model that writes summaries', {
      format: text('Its API format', WIRES),
      model: text('Its name'),
      baseUrl: text('Its address, if it is not that of the vendor'),
      apiKeyEnv: text('Name of the environment variable with its key'),
      window: tokens('Its window', 1),
    }),
    budgets: { kind: 'list', about: 'Limits on spending', of: budget },
    models: { kind: 'map', about: 'Models by id', of: known },
    override,
    policies: {
      kind: 'map',
      about: 'Policies of your own, by name',
      of: object('A policy', { extends: text('The preset that it starts from'), override }),
    },
    agents: {
      kind: 'map',
      about: 'Settings of single agents, by name',
      of: object('An agent', { policy: text('Its policy'), window: tokens('Its window', 1), override }),
    },
    providers: {
      kind: 'map',
      about: 'ai-agent: providers by name',
      of: object('A provider', {
        contextWindow: tokens('Total token capacity', 1),
        contextWindowBufferTokens: tokens('Safety margin'),
        models: { kind: 'map', about: 'Models by name', of: model },
      }),
    },
    defaults: object('ai-agent: defaults', {
      contextWindow: tokens('Total token capacity', 1),
      contextWindowBufferTokens: tokens('Safety margin'),
      maxOutputTokens: tokens('Reserved for the answer', 1),
      toolResponseMaxBytes: bytes('Larger outputs are stored and shown as a handle'),
      toolsAllowed: { kind: 'list', about: 'Only these tools', of: text('A tool') },
      toolsDenied: { kind: 'list', about: 'All but these tools', of: text('A tool') },
    }),
    port: count('proxy: port to listen on', 0, 65_535),
    host: text('proxy: address to bind'),
    upstreams: {
      kind: 'map',
      about: 'proxy: upstreams by path prefix',
      keys: { pattern: '^[a-z][a-z0-9-]*$', words: 'a path prefix like openai or my-models' },
      of: { kind: 'one-or-more', about: 'One upstream, or several in the order in which they are tried', of: upstream },
    },
    observe: { kind: 'switch', about: 'proxy: report what would be done, but change nothing' },
    tools: { kind: 'switch', about: 'proxy: add tools that read back what was removed' },
    maxBodyBytes: bytes('proxy: largest request body'),
    memoryBytes: bytes('proxy: most that all caches of a process may hold together', 2 ** 24),
    caFile: text('proxy: PEM file with additional certificate authorities'),
    redact: { kind: 'switch', about: 'Take secrets out of what is stored' },
    tenants: text('proxy: whose data a request belongs to: credential (one tenant per API key), one, or header:<name>'),
    allowedHosts: { kind: 'list', about: 'proxy: additional host names that it answers to', of: text('A host name') },
    allowedOrigins: {
      kind: 'list',
      about: 'proxy: origins of web pages that may call it',
      of: text('An origin: https://…'),
    },
    workers: count('proxy: 1; for more processes start several proxies on one Postgres', 1),
    drainMs: count('proxy: milliseconds that open requests get when it stops'),
    requestTimeoutMs: count('proxy: milliseconds that a client may take to send a request'),
    upstreamTimeoutMs: count('proxy: milliseconds that an upstream may take to begin its answer'),
    upstreamIdleMs: count('proxy: milliseconds without a byte after which an answer is given up'),
    instructions: object('AGENTS.md', {
      trustProject: { kind: 'switch', about: 'Read the instruction files of the project' },
      globalDir: text('Folder of the global instruction file'),
      maxBytes: bytes('Most bytes of all instruction files together'),
    }),
  },
}
