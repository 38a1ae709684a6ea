import { type CacheLife, DAY, HOUR, MINUTE, SHORT_LIFE } from '../../core/cache.ts'
import type { PriceModel, Rates } from '../../core/price.ts'
import type { ModelInfo } from '../../ports/catalogue.ts'

/**
 * A catalogue entry is one line, so that a new price is a one-line diff:
 * `id|window|input limit|max output|rates|tiers|cache minimum|flags`, rates being `in,out,read,write,write-1h` in dollars per
 * million, tiers `above:rates`, flags `c` canonical and `r` reasoning; other flags of older lists are not read.
 */
export interface CatalogueEntry {
  readonly id: string
  readonly window: number
  readonly inputLimit?: number
  readonly maxOutputTokens?: number
  readonly rates?: Rates
  readonly tiers?: readonly (Rates & { readonly above: number })[]
  readonly cacheMinimum?: number
  readonly reasoning: boolean
  /** Speaks for every spelling of its normalised id; the others are offers that differ from it. */
  readonly canonical?: true
}

export function writeEntry(entry: CatalogueEntry): string {
  return [
    entry.id,
    entry.window,
    entry.inputLimit ?? '',
    entry.maxOutputTokens ?? '',
    entry.rates === undefined ? '' : writeRates(entry.rates),
    (entry.tiers ?? []).map((tier) => `${tier.above}:${writeRates(tier)}`).join(';'),
    entry.cacheMinimum ?? '',
    (entry.canonical === true ? 'c' : '') + (entry.reasoning ? 'r' : ''),
  ].join('|')
}

export function readEntry(line: string): CatalogueEntry | undefined {
  const [id, window, inputLimit, maxOutput, rates, tiers, cacheMinimum, flags = ''] = line.split('|')
  if (id === undefined || id === '' || !(Number(window) > 0)) return undefined
  return {
    id,
    window: Number(window),
    inputLimit: numberIn(inputLimit),
    maxOutputTokens: numberIn(maxOutput),
    rates: rates ? readRates(rates) : undefined,
    tiers: tiers ? tiers.split(';').map(readTier) : undefined,
    cacheMinimum: numberIn(cacheMinimum),
    canonical: flags.includes('c') ? true : undefined,
    reasoning: flags.includes('r'),
  }
}

/** The model's facts, from its line and its id. */
export function infoOf(entry: CatalogueEntry): ModelInfo {
  const name = normaliseId(entry.id)
  return {
    id: entry.id,
    window: entry.window,
    inputLimit: entry.inputLimit,
    maxOutputTokens: entry.maxOutputTokens,
    price: entry.rates === undefined ? undefined : priceOf(entry, entry.rates, name),
    tokenizer: tokenizerOf(name),
    reasoning: entry.reasoning,
    bindsThinking: bindsThinking(name),
    stopsAtWindow: stopsAtWindow(name) ? true : undefined,
  }
}

function priceOf(entry: CatalogueEntry, rates: Rates, name: string): PriceModel {
  return {
    ...rates,
    tiers: entry.tiers,
    cacheMinimum: entry.cacheMinimum,
    caching: rates.cacheRead === undefined ? 'none' : cachingOf(name),
    cacheLife: LIVES.find(([pattern]) => pattern.test(name))?.[1],
  }
}

function writeRates({ input, output, cacheRead, cacheWrite, cacheWriteLong }: Rates): string {
  return [input, output, cacheRead, cacheWrite, cacheWriteLong]
    .map((rate) => rate ?? '')
    .join(',')
    .replace(/,+$/, '')
}

const numberIn = (field = ''): number | undefined => (field === '' ? undefined : Number(field))

function readRates(text: string): Rates {
  const [input, output, read, write, writeLong] = text.split(',')
  return {
    input: Number(input),
    output: Number(output ?? 0),
    cacheRead: numberIn(read),
    cacheWrite: numberIn(write),
    cacheWriteLong: numberIn(writeLong),
  }
}

function readTier(text: string): Rates & { above: number } {
  const [above, rates] = text.split(':')
  return { above: Number(above), ...readRates(rates ?? '') }
}

/** Which tokenizer a model uses, by its normalised id. The first pattern that fits decides. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  // Opus 4.7 brought a tokenizer that is about 1.4 times heavier; every later Claude has it.
  [/claude.*(opus-4-[7-9]|(opus|sonnet|haiku)-[5-9]|fable|mythos)/, 'claude-2026'],
  [/claude/, 'claude'],
  [/gemini|gemma|palm|bison/, 'gemini'],
  [/gpt-3-5|gpt-35|gpt-4($|-(0\d{3}|1106|32k|turbo|vision))|text-embedding/, 'cl100k'],
  [/gpt|chatgpt|codex|(^|-)o[134]($|-)|computer-use/, 'o200k'],
  [/llama-?4/, 'llama4'],
  [/llama-?2|codellama|vicuna/, 'llama2'],
  [/llama/, 'llama3'],
  [/qwen|qwq|qvq/, 'qwen'],
  [/deepseek/, 'deepseek'],
  [/mistral|mixtral|codestral|devstral|magistral|ministral|pixtral|voxtral/, 'mistral'],
  [/grok/, 'grok'],
  [/kimi|moonshot/, 'kimi'],
  [/glm/, 'glm'],
  [/command|cohere/, 'cohere'],
  [/nova/, 'nova'],
  [/minimax/, 'minimax'],
]

export function tokenizerOf(normalisedId: string): string {
  return FAMILIES.find(([pattern]) => pattern.test(normalisedId))?.[1] ?? 'unknown'
}

/** From Fable 5.1 on, thinking blocks are bound to everything before them. */
function bindsThinking(normalisedId: string): boolean {
  return /claude-fable-(5-[1-9]|[6-9])/.test(normalisedId)
}

/**
 * How long a model's provider keeps a prompt where the request does not say, by what the vendors document. Their in-memory caches end between five
 * minutes and an hour after the last use; the newer ones are kept for a day at most. The first pattern that fits decides.
 */
const LIVES: readonly (readonly [RegExp, CacheLife])[] = [
  [/claude|nova/, SHORT_LIFE],
  // From 5.6 on a prompt is kept for half an hour at least, and 5.5 knows only the retention of a day.
  [/gpt-5-([6-9]|\d\d)(-|$)|gpt-[6-9](-|$)/, { least: 30 * MINUTE, most: DAY }],
  [/gpt-5-5/, { least: 10 * MINUTE, most: DAY }],
  // Which of two retentions is the default depends on the organisation.
  [/gpt-5|gpt-4-1|codex/, { least: 5 * MINUTE, most: DAY }],
  [/gpt|chatgpt|(^|-)o[134]($|-)/, { least: 5 * MINUTE, most: HOUR }],
  [/gemini/, { least: 5 * MINUTE, most: DAY }],
  // On disk, for hours to days.
  [/deepseek/, { least: HOUR, most: 7 * DAY }],
]

/** From 4.5 on, Claude's answers end with `model_context_window_exceeded`. */
const stopsAtWindow = (normalisedId: string): boolean =>
  /claude-((opus|sonnet|haiku)-(4-[5-9]|[5-9])|fable|mythos)/.test(normalisedId)

/** Anthropic caches up to marks in the request; the others cache the longest common prefix by themselves. */
function cachingOf(normalisedId: string): 'marks' | 'automatic' {
  return /claude|nova/.test(normalisedId) ? 'marks' : 'automatic'
}

/**
 * Brings the many spellings of a model id to one: vendor paths (`openrouter/anthropic/…`), clouds (`us.anthropic.…-v1:0`,
 * `publishers/anthropic/models/…@20250929`, Bedrock ARNs), dates, variants behind a colon, dots for dashes, and Claude's two
 * word orders.
 */
export function normaliseId(id: string): string {
  let name = id
    .trim()
    .toLowerCase()
    .replace(/\[1m\]$/, '')
  if (name.startsWith('ft:')) name = name.slice(3).split(':')[0]!
  name = name.slice(name.lastIndexOf('/') + 1)
  name = name.replace(/@.*$/, '')
  // Geographic profiles of Bedrock, then the vendor in front of its model.
  name = name.replace(/^(us-gov|us|eu|apac|ap|au|jp|ca|sa|global)\./, '')
  name = name.replace(
    /^(anthropic|amazon|meta|mistral|cohere|ai21|deepseek|qwen|openai|google|moonshotai?|minimax|zai|nvidia|writer)\./,
    '',
  )
  // A cloud's own revision; behind a family alone it is the model's generation.
  name = name
    .replace(/-v\d+:\d+$/, '')
    .replace(/(?<=\d.*)-v\d+$/, '')
    .replace(/:\d+$/, '')
  name = name.replace(/:(free|beta|nitro|floor|online|extended|thinking|exacto|latest|cloud)$/, '')
  name = name.replace(/^(anthropic|databricks|meta|openai|google)-(?=claude|llama|gpt|gemini)/, '')
  name = name.replaceAll('.', '-').replaceAll('_', '-').replaceAll(':', '-')
  name = name.replace(/-(latest|default|preview|exp)$/, '')
  name = name
    .replace(/-20\d\d-?\d\d-?\d\d$/, '')
    .replace(/-preview-\d\d-\d{2,4}$/, '')
    .replace(/-(001|002)$/, '')
  name = name.replace(/-(latest|preview)$/, '')
  // "claude-4-5-sonnet" is "claude-sonnet-4-5"; Claude 3 keeps its number in front.
  name = name.replace(/^claude-([4-9](?:-\d)?)-(opus|sonnet|haiku)/, 'claude-$2-$1')
  // The zero of "claude-sonnet-4-0" is no version of its own.
  return name.replace(/^(claude-(?:opus|sonnet)-4)-0$/, '$1')
}

/** Shorter and shorter heads of an id at its dashes: a deployment called `gpt-4o-mini-prod` is still a `gpt-4o-mini`. */
export function* headsOf(normalised: string): Generator<string> {
  let end = normalised.lastIndexOf('-')
  while (end > 2) {
    yield normalised.slice(0, end)
    end = normalised.lastIndexOf('-', end - 1)
  }
}

const isVersion = (word: string): boolean => /^[a-z]{0,2}\d{1,2}$/.test(word)

/**
 * Whether a model of this name is another generation than the head that it begins with: `claude-haiku-5-5` is no `claude`, and `claude-opus-4-9` no
 * `claude-opus-4`. What stands behind a whole name is the name of a deployment.
 */
export function isOtherGeneration(name: string, head: string): boolean {
  const tail = name.slice(head.length + 1).split('-')
  if (!/\d/.test(head)) return tail.some(isVersion)
  return isVersion(head.slice(head.lastIndexOf('-') + 1)) && /^\d{1,2}$/.test(tail[0]!)
}

/** A name as family, generation, version within it, and kind: those that share all but the version are siblings. */
export function generationOf(name: string): { readonly siblings: string; readonly version: number } | undefined {
  const words = name.split('-')
  const at = words.findIndex(isVersion)
  if (at < 0) return undefined
  const minor = /^\d{1,2}$/.test(words[at + 1] ?? '') ? words[at + 1] : undefined
  const kind = words.slice(minor === undefined ? at + 1 : at + 2)
  return { siblings: [...words.slice(0, at + 1), '', ...kind].join('-'), version: Number(minor ?? 0) }
}
