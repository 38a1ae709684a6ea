import type * as v from 'valibot'
import { AIMS, type GuardRule, type Policy, type ToolBudgetRule, type WaterRule } from '../core/policy.ts'
import {
  any,
  count,
  data,
  factor,
  group,
  list,
  map,
  number,
  on,
  oneOf,
  share,
  text,
  tokens,
  bytes,
  type Schema,
} from './values.ts'

/** The numbers of a policy: those that a settings file may change (`override`), and whole policies in code. `core/policy.ts` explains each. */
const water = {
  high: share('Compaction starts above this'),
  low: share('Compaction aims at this'),
  warn: share('A warning event is sent above this'),
  rest: share('New tokens that must be added before the next compaction that the limit does not force'),
  highTokens: tokens('Upper bound of high, in tokens'),
  lowTokens: tokens('Upper bound of low, in tokens'),
}

const budget: Schema<ToolBudgetRule> = group('Tokens that tool results may use together', {
  turnShare: share('Results of one turn, as a share of the limit'),
  turnTokens: tokens('Results of one turn, in tokens', 0),
  sessionTokens: tokens('Results of a session, in tokens', 0),
  withinWindow: on('Limit results to the free part of the window'),
  minPreviewTokens: tokens('Smallest preview; below it only the handle is shown', 0),
  tools: map(
    'Bounds of single tools, by name',
    group('A tool', {
      turnTokens: tokens('Its results in one turn', 0),
      sessionTokens: tokens('Its results in a session', 0),
    }),
  ),
})

const numbers = {
  caution: factor('Factor on token counts of models that are not in the catalogue', 1, 10),
  defaultWindow: tokens('Window of unknown models'),
  tokenBudget: tokens('Tokens that a session may use', 0),
  passes: count('Most plans and summarizer calls per compaction', 1, 20),
  timeMs: number('Most milliseconds for one compaction', 'ms', { min: 1 }),
}

/** The numbers of cascade steps that may be changed, by step name. */
const steps = group('Settings of single reduction steps, by step', {
  fold: group('Replaces old steps by one message, the record', {
    tailShare: share('Share of the limit for the newest steps, which stay whole'),
    summaryShare: share('Share of the limit for the record'),
    modelShare: share('Share of the record that the summarizer writes'),
  }),
  squeeze: group('Shows the largest items as a preview with a handle', {
    floorTokens: tokens('Smallest size that an item is shortened to', 0),
    above: share('Starts above this share of the limit'),
    to: share('Stops at this share of the limit'),
  }),
  'squeeze-budget': group('AutoSRE: shortens items until the history fits a working context', {
    tokens: tokens('Size of the working context', 0),
    minimum: count('Histories with fewer items are not changed'),
    floorTokens: tokens('Smallest size that an item is shortened to', 0),
  }),
  'compress-results': group('Truncates old results', {
    fromChars: count('Truncates results of at least this many characters'),
    toChars: count('Characters that stay'),
    preserveFirst: count('First messages that are not changed'),
    preserveLast: count('Last messages that are not changed'),
  }),
  window: group('Keeps only the newest part of the history', {
    size: count('Starts at this many messages', 1),
    target: share('Share of that size that is kept'),
    preserveFirst: count('First messages that stay'),
    preserveLast: count('Last messages that stay'),
  }),
  summarise: group('Replaces a part of the history by a summary', {
    tail: count('Newest messages or items that stay whole'),
    minimum: count('Shorter histories are not changed'),
    maxTokens: tokens('Largest summary', 0),
  }),
  emergency: group('Keeps the first and the newest messages, and a list of those between', {
    keep: count('Newest messages that are kept'),
    keepHard: count('Newest messages that are kept above the second threshold'),
    bulletChars: count('Most characters of the list'),
    charsPerToken: factor('Characters per token in the estimate that this step uses', 0.1, 20),
  }),
})

const STEPS = [
  'fold',
  'squeeze',
  'squeeze-budget',
  'compress-results',
  'window',
  'summarise',
  'emergency',
  'final',
] as const

const native = group('The provider’s own context management, in API formats that have it', {
  compactAt: share('Share of the limit from which the provider compacts'),
  clearToolUsesAt: share('Share of the limit from which the provider clears old tool results'),
  keepToolUses: count('Newest tool uses that the provider keeps'),
  keepThinkingTurns: count('Newest turns whose thinking the provider keeps', 1),
})

/** The numbers of a policy that a file may replace. */
export const OVERRIDE = group('Numbers of the policy to change', {
  water: group('Thresholds of compaction, as shares of the limit', water),
  buffer: group('Part of the window that is not used', {
    fraction: share('Share of the window'),
    min: tokens('Smallest buffer', 0),
    max: tokens('Largest buffer', 0),
  }),
  intake: group('What happens to a result before it is first sent', {
    maxShare: share('Results above this share of the limit are shown as a preview with a handle'),
    previewShare: share('Size of the preview, as a share of the limit'),
  }),
  budget,
  retention: group('Removal of stored outputs that no session refers to', {
    keep: count('How many of the newest are kept'),
    cleanAt: count('Removal starts at this many', 1),
  }),
  guard: group('When the guard of a preset shortens a result', {
    items: count('More items in a list or object than this'),
    chars: count('More characters than this'),
    bytes: bytes('More bytes than this'),
    lines: count('More lines than this'),
    shownChars: count('Characters that are shown of a stored text'),
    files: text('Cyber-AutoAgent: folder in which stored outputs are also files for a shell; empty for none'),
    sandbox: on('AutoSRE: analyse large data; false asks the model for code'),
  }),
  estimator: group('Token estimate of a preset', {
    defaultFactor: factor('Factor of the estimate until usage is known', 0.1, 20),
  }),
  native,
  ...numbers,
  summaries: group('How a model writes summaries', {
    via: oneOf(
      'in-band: after the prefix of the request, which the provider has cached; out-of-band: with a prompt of its own',
      ['in-band', 'out-of-band'],
    ),
    calls: count('Most model calls per compaction', 0, 20),
    backgroundFrom: share('Share of the limit from which a summary is written in the background'),
  }),
  steps,
})

export type Override = v.InferOutput<typeof OVERRIDE>

const ADVICE =
  "A policy must be complete. To change single numbers, start from a preset: { ...plimsoll, water: { ...plimsoll.water, high: 0.8 } } with plimsoll from 'plimsoll/policies'."

/** Infinity means no limit. */
const unlimited = number('', 'share', { unbounded: true })
const kept = number('', 'count', { unbounded: true })
const amount = number('', 'factor', { words: 'an amount' })

const GUARD: Schema<GuardRule> = group('', {
  items: data<number>(),
  chars: data<number>(),
  bytes: data<number>(),
  lines: data<number>(),
  shownChars: data<number>(),
  files: text(),
  sandbox: on(),
})

/** A whole policy in code. `satisfies` checks the names against the type. */
export const POLICY: Schema<Policy> = group(
  '',
  {
    name: text(),
    water: group(
      '',
      {
        ...water,
        lowOf: oneOf('', ['whole', 'history']),
        lowBy: oneOf('', ['high', 'tokens']),
      } satisfies Record<keyof WaterRule, Schema>,
      { required: ['high', 'low', 'warn', 'rest'], advice: ADVICE },
    ),
    buffer: group(
      '',
      { fraction: share(), min: tokens('', 0), max: number('', 'tokens', { unbounded: true }) },
      { required: ['fraction', 'min', 'max'], advice: ADVICE },
    ),
    intake: group(
      '',
      { maxShare: unlimited, previewShare: unlimited, guard: GUARD, budget: data<ToolBudgetRule>() },
      { required: ['maxShare', 'previewShare'], advice: ADVICE },
    ),
    cascade: list('', group('', { step: oneOf('', STEPS) }, { required: ['step'], rest: data() })) as Schema<
      Policy['cascade']
    >,
    design: any<Policy['design']>(),
    native,
    estimator: group('', { defaultFactor: amount, tokenizers: data<Readonly<Record<string, string>>>() }),
    models: data<Policy['models']>(),
    retention: group('', { keep: kept, cleanAt: kept }, { required: ['keep', 'cleanAt'] }),
    prices: data<Policy['prices']>(),
    tools: group('', { allow: list('', text()), deny: list('', text()) }),
    stop: share(),
    recallShare: share(),
    reserve: data<Policy['reserve']>(),
    lowerOutput: group('', { minTokens: tokens('', 0), minShare: share() }, { required: ['minTokens', 'minShare'] }),
    aim: oneOf('', AIMS),
    priceGate: on(),
    summaries: data<Policy['summaries']>(),
    ...numbers,
    caution: amount,
    passes: count(),
    timeMs: number('', 'ms', { whole: false }),
  } satisfies Record<keyof Policy, Schema>,
  { required: ['name', 'water', 'buffer', 'intake', 'cascade'], advice: ADVICE },
)
