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
const steps = object('Numbers of cascade steps, by step', {
  fold: object('Folds old steps into one message', {
    tailShare: share('Newest steps that stay whole'),
    summaryShare: share('The message that stands for the rest'),
    modelShare: share('Its part for a model’s own account'),
  }),
  squeeze: object('Shows the largest items as preview + handle', {
    floorTokens: tokens('No item is shown with fewer'),
    above: share('Acts above this share of the limit'),
    to: share('Goes down to this share'),
    tokens: tokens('Both come to at most so many'),
    minimum: count('Histories with fewer items are left alone'),
  }),
  native: object('The provider’s own context management', {
    compactAt: share('It compacts from here on'),
    clearToolUsesAt: share('It clears old tool results from here on'),
    keepToolUses: count('Newest tool uses that it leaves alone'),
    keepThinkingTurns: count('Turns whose thinking it keeps', 1),
  }),
  'strip-reasoning': object('Takes reasoning of finished steps out', {
    keep: count('Newest finished turns that keep theirs'),
  }),
  'collapse-duplicates': object('Points repeated results at the newest', { minTokens: tokens('Smaller ones stay') }),
  'compress-results': object('Compresses old results', {
    fromChars: count('From this size on'),
    toChars: count('To this size'),
    preserveFirst: count('First messages left alone'),
    preserveLast: count('Last messages left alone'),
  }),
  offload: object('Old results become digests', {
    minTokens: tokens('From this size on'),
    digestTokens: tokens('Size of a digest'),
    preserveFirst: count('First messages left alone'),
    preserveLast: count('Last messages left alone'),
  }),
  window: object('A window over the history', {
    size: count('Acts from this many on', 1),
    target: share('Goes down to this share of it'),
    preserveFirst: count('First messages that stay'),
    preserveLast: count('Last messages that stay'),
  }),
  summarise: object('One message stands for a part of the history', {
    tail: count('Newest messages or items that stay whole'),
    minimum: count('Shorter histories are left alone'),
    maxTokens: tokens('Size of the summary'),
  }),
  emergency: object('First message, newest messages, bullets between', {
    keep: count('Newest messages that stay'),
    keepHard: count('The same above the harder level'),
    bulletChars: count('Size of the bullets'),
    charsPerToken: { kind: 'number', about: 'The brake’s own estimate', unit: 'factor', min: 0.1, max: 20 },
  }),
})

const override = object('Numbers that differ from the policy', {
  water: object('When reduction starts and where it ends', {
    high: share('Reduction starts here'),
    low: share('and aims at this'),
    warn: share('A warning is sent from here on'),
    rest: share('New tokens before the next unforced reduction'),
    highTokens: tokens('High water is never above this'),
    lowTokens: tokens('Low water is never above this'),
    messages: count('Reduction also starts from this many messages on', 1),
    cacheRelax: share('Later by this much with a warm cache', 0.3),
  }),
  buffer: object('Held back from the window', {
    fraction: share('Share of the window'),
    min: tokens('At least'),
    max: tokens('At most'),
  }),
  intake: object('What happens to a result before it is first sent', {
    maxShare: share('Larger results are shown as preview + handle'),
    previewShare: share('Size of such a preview'),
  }),
  budget: object('What tool results may take together', {
    turnShare: share('Results of one turn, of the limit'),
    turnTokens: tokens('Results of one turn'),
    sessionTokens: tokens('Results of a session'),
    withinWindow: { kind: 'switch', about: 'No more than the window has left' },
    minPreviewTokens: tokens('Smaller previews give way to the handle'),
    tools: {
      kind: 'map',
      about: 'Single tools, by name',
      of: object('A tool', { turnTokens: tokens('In one turn'), sessionTokens: tokens('In a session') }),
    },
  }),
  retention: object('Stored outputs that no session references', {
    keep: count('The newest so many stay'),
    cleanAt: count('From so many on', 1),
  }),
  guard: object('Triggers of the design’s guard', {
    items: count('Items of a list or object'),
    chars: count('Characters'),
    bytes: bytes('Bytes'),
    lines: count('Lines'),
    shownChars: count('What is shown of a stored text'),
  }),
  estimator: object('The design’s formula', {
    defaultFactor: { kind: 'number', about: 'Until usage is known', unit: 'factor', min: 0.1, max: 20 },
  }),
  caution: {
    kind: 'number',
    about: 'Upper bounds on models that nobody knows, times this',
    unit: 'factor',
    min: 1,
    max: 10,
  },
  defaultWindow: tokens('Window of unknown models', 1),
  tokenBudget: tokens('Tokens of a session'),
  passes: count('Plans and summarizer calls per reduction', 1, 20),
  timeMs: count('Milliseconds of one reduction', 1),
  summaries: object('How a model writes summaries', {
    via: text('On the request’s own cached prefix, or with a prompt of its own', ['in-band', 'out-of-band']),
    calls: count('Calls of a model per reduction', 0, 20),
    parts: { kind: 'switch', about: 'A history that is too long for one call is read in parts' },
    backgroundFrom: share('A summary is written in the background from here on'),
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
  name: text('What events call it'),
  scope: text('Whose spending is added up', ['call', 'session', 'agent', 'key', 'tenant', 'day']),
  usd: usd('US dollars'),
  tokens: tokens('Tokens, input and output', 1),
  warn: share('Reported once from this share on'),
  closing: share('Kept for the closing answer'),
})

const rates = object('US dollars per million tokens', {
  input: usd('Input'),
  output: usd('Output'),
  cacheRead: usd('Input from the cache'),
  cacheWrite: usd('Input written to the cache'),
  cacheWriteLong: usd('The same for an hour'),
})

const known = object('What is known about a model, over the catalogue', {
  window: tokens('Its window', 1),
  inputLimit: tokens('The prompt alone', 1),
  maxOutputTokens: tokens('The longest answer', 1),
  tokenizer: text('Tokenizer family: o200k, cl100k, claude, gemini, llama3, …'),
  price: rates,
})

const upstream: Shape = {
  kind: 'object',
  about: 'Where requests go',
  required: ['url'],
  short: 'url',
  needs: { wire: 'model' },
  fields: {
    url: text('Its address'),
    model: text('Asks for this model instead of the client’s'),
    window: tokens('Its window', 1),
    wire: text('The API format that it speaks, where that is not the client’s', WIRES),
    headers: {
      kind: 'map',
      about: 'Sent instead of the client’s own; $NAME stands for an environment variable',
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
    policy: text('Preset, or a policy of this file'),
    window: tokens('Overrides the model’s window', 1),
    store: text('memory:, sqlite:…, postgres://…'),
    artifacts: text('memory:, file:…, postgres://…, s3://…'),
    logFile: text('Log lines of the preset’s own design are appended here'),
    logLevel: text('Events from this level on are written to standard error as JSON lines', LOG_LEVELS),
    summarizer: object('A model that writes summaries', {
      format: text('Its wire', WIRES),
      model: text('Its name'),
      baseUrl: text('Where it is, when not at its vendor'),
      apiKeyEnv: text('The environment variable that holds its key'),
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
      about: 'What differs, by agent name',
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
      toolResponseMaxBytes: bytes('Larger outputs become handles'),
      toolsAllowed: { kind: 'list', about: 'Only these tools', of: text('A tool') },
      toolsDenied: { kind: 'list', about: 'All but these tools', of: text('A tool') },
    }),
    port: count('proxy: where it listens', 0, 65_535),
    host: text('proxy: on which address'),
    upstreams: {
      kind: 'map',
      about: 'proxy: upstreams by path prefix',
      keys: { pattern: '^[a-z][a-z0-9-]*$', words: 'a path prefix like openai or my-models' },
      of: { kind: 'one-or-more', about: 'In the order in which they are tried', of: upstream },
    },
    observe: { kind: 'switch', about: 'proxy: report only, change nothing' },
    tools: { kind: 'switch', about: 'proxy: add tools that bring back what was taken out' },
    maxBodyBytes: bytes('proxy: largest request body'),
    memoryBytes: bytes('proxy: what all caches of a process may hold together', 2 ** 24),
    caFile: text('proxy: certificates to trust'),
    redact: { kind: 'switch', about: 'Take secrets out of what is stored' },
    tenants: text('proxy: whose content a request is: credential, one or header:<name>'),
    allowedHosts: { kind: 'list', about: 'proxy: further names that it is called by', of: text('A host name') },
    allowedOrigins: { kind: 'list', about: 'proxy: web pages that may call it', of: text('An origin: https://…') },
    workers: count('proxy: processes', 1),
    drainMs: count('proxy: milliseconds for open requests at the end'),
    requestTimeoutMs: count('proxy: milliseconds for a request to come in'),
    upstreamTimeoutMs: count('proxy: milliseconds until the provider answers'),
    upstreamIdleMs: count('proxy: milliseconds between two pieces of an answer'),
    instructions: object('AGENTS.md', {
      trustProject: { kind: 'switch', about: 'Read the project’s own files' },
      globalDir: text('Where the global file is'),
      maxBytes: bytes('All of them together'),
    }),
  },
}
