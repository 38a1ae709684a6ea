import { PlimsollError } from '../../core/errors.ts'
import type { Rates } from '../../core/price.ts'
import { numberOf } from '../../core/values.ts'
import { boundedText } from '../bounded-text.ts'
import { type CatalogueEntry, normaliseId, writeEntry } from './entry.ts'

export interface UpdateOptions {
  /** Another URL with data in the same form. @default LiteLLM's list */
  readonly url?: string
  /** @default the global fetch */
  readonly fetch?: (url: string, init: { signal: AbortSignal }) => Promise<Response>
  /** @default 20000 */
  readonly timeoutMs?: number
}

export interface CatalogueUpdate {
  /** For `bundledCatalogue({ lines })`; store them and pass them in at the next start. */
  readonly lines: string
  readonly models: number
  readonly url: string
}

const LITELLM = 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json'

/** Public catalogues have a few megabytes. */
const MAX_BYTES = 64 * 1024 * 1024

/** Fewer models than this are an error page or another format, not a catalogue. */
const LEAST_MODELS = 100

/** Fetches current public data and builds the compact catalogue from it. Rejects with `upstream`; the bundled one then stays in use. */
export async function fetchCatalogue(options: UpdateOptions = {}): Promise<CatalogueUpdate> {
  const { url = LITELLM, fetch: get = fetch, timeoutMs = 20_000 } = options
  const read = readLiteLlm((await load(get, url, timeoutMs)) as LiteLlmData)
  if (read.length < LEAST_MODELS) {
    throw new PlimsollError('upstream', `The answer of ${url} has only ${read.length} models.`, {
      advice: 'Use another --url.',
      fields: { url },
    })
  }
  const entries = compactEntries(read)
  return { lines: entries.map(writeEntry).join('\n'), models: entries.length, url }
}

async function load(get: NonNullable<UpdateOptions['fetch']>, url: string, timeoutMs: number): Promise<unknown> {
  try {
    const response = await get(url, { signal: AbortSignal.timeout(timeoutMs) })
    if (!response.ok) throw new Error(`HTTP ${response.status}`)
    return JSON.parse(await boundedText(response, MAX_BYTES)) as unknown
  } catch (cause) {
    throw new PlimsollError('upstream', `Could not fetch the catalogue from ${url}.`, {
      advice: 'The bundled catalogue stays in use. Check the network and try again.',
      fields: { url },
      retryable: true,
      cause,
    })
  }
}

/** The order of sources for a model with several sellers: its maker first, then the large clouds. */
const MAKERS = [
  'openai',
  'anthropic',
  'gemini',
  'mistral',
  'deepseek',
  'xai',
  'dashscope',
  'moonshot',
  'zai',
  'minimax',
  'cohere_chat',
  'cohere',
  'amazon_nova',
  'vertex_ai-language-models',
  'bedrock_converse',
  'bedrock',
  'azure',
  'azure_ai',
  'groq',
  'cerebras',
  'together_ai',
  'fireworks_ai',
  'openrouter',
]

const rankOf = (provider: string): number => {
  const rank = MAKERS.indexOf(provider)
  return rank === -1 ? MAKERS.length : rank
}

/**
 * Omits entries that resolution finds anyway: keeps one per normalised id, the maker's if there is one, and the
 * offers with another window or price.
 */
export function compactEntries(entries: readonly (CatalogueEntry & { readonly provider: string })[]): CatalogueEntry[] {
  const groups = new Map<string, (CatalogueEntry & { readonly provider: string })[]>()
  for (const entry of entries) {
    const key = normaliseId(entry.id)
    groups.set(key, [...(groups.get(key) ?? []), entry])
  }
  const kept: CatalogueEntry[] = []
  for (const [key, group] of groups) {
    const ordered = [...group].sort(
      (a, b) =>
        rankOf(a.provider) - rankOf(b.provider) || closeness(a.id, key) - closeness(b.id, key) || compare(a.id, b.id),
    )
    const canonical = {
      ...ordered[0]!,
      canonical: true as const,
      id: plainId(key, ordered),
      window: safeWindow(key, ordered[0]!.window),
    }
    kept.push(strip(canonical))
    for (const entry of ordered) {
      if (!sameOffer(entry, canonical) && entry.id !== canonical.id) kept.push(strip(entry))
    }
  }
  return kept.sort((a, b) => compare(a.id, b.id))
}

/** The maker's spelling without a path or a date: "gemini-2.5-pro"; else the normalised one. */
function plainId(key: string, ordered: readonly (CatalogueEntry & { readonly provider: string })[]): string {
  const rank = rankOf(ordered[0]!.provider)
  const names = ordered
    .filter(({ provider }) => rankOf(provider) === rank)
    .map(({ id }) => id.slice(id.lastIndexOf('/') + 1).toLowerCase())
  return names.find((name) => name.replaceAll('.', '-') === key) ?? key
}

/** These have a million tokens only behind a beta header (Claude Code writes `[1m]`); the price data names the larger window. */
const LONG_BY_REQUEST = /^claude-(3|sonnet-4(-5)?$)/
const CLAUDE_WINDOW = 200_000

const safeWindow = (key: string, window: number): number =>
  LONG_BY_REQUEST.test(key) ? Math.min(window, CLAUDE_WINDOW) : window

/** Undated names before dated ones: "gpt-4o" speaks for its snapshots. */
const closeness = (id: string, key: string): number => Math.abs(id.length - key.length)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const offerOf = ({ window, maxOutputTokens, rates, tiers }: CatalogueEntry): string =>
  JSON.stringify([window, maxOutputTokens, rates, tiers])

const sameOffer = (a: CatalogueEntry, b: CatalogueEntry): boolean => offerOf(a) === offerOf(b)

function strip(entry: CatalogueEntry & { readonly provider?: string }): CatalogueEntry {
  const { provider: _, ...rest } = entry
  return rest
}

/** Public price data in LiteLLM's form: an object of models with one field per price. */
export type LiteLlmData = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** GPT-5's prompt is limited to 272,000 tokens inside a window of 400,000. */
const GPT5_INPUT = 272_000

/** Entries of chat models, in the order of the data. Models without a window or with another purpose are left out. */
export function readLiteLlm(data: LiteLlmData): (CatalogueEntry & { readonly provider: string })[] {
  return Object.entries(data).flatMap(([id, fields]) => {
    const mode = fields['mode']
    const input = numberOf(fields['max_input_tokens']) ?? numberOf(fields['max_tokens'])
    if (id === 'sample_spec' || (mode !== 'chat' && mode !== 'responses' && mode !== 'completion')) return []
    if (input === undefined || input <= 0 || id.includes('commitment')) return []
    const provider = typeof fields['litellm_provider'] === 'string' ? fields['litellm_provider'] : ''
    const maxOutputTokens = numberOf(fields['max_output_tokens'])
    const rates = ratesOf(fields, '')
    const tiers = tiersOf(fields, rates)
    const cacheMinimum = numberOf(fields['prompt_cache_min_tokens'])
    return [
      {
        id,
        provider,
        ...windowOf(provider, input, maxOutputTokens),
        maxOutputTokens,
        rates,
        tiers: tiers.length > 0 ? tiers : undefined,
        cacheMinimum,
        reasoning: fields['supports_reasoning'] === true,
      },
    ]
  })
}

function windowOf(
  provider: string,
  input: number,
  output: number | undefined,
): { window: number; inputLimit?: number } {
  if (input === GPT5_INPUT && output !== undefined) return { window: input + output, inputLimit: input }
  // Google limits prompt and answer separately.
  if (provider === 'gemini' || provider === 'vertex_ai-language-models') return { window: input, inputLimit: input }
  return { window: input }
}

function ratesOf(fields: Readonly<Record<string, unknown>>, suffix: string, base?: Rates): Rates | undefined {
  const input = perMillion(fields[`input_cost_per_token${suffix}`]) ?? base?.input
  const output = perMillion(fields[`output_cost_per_token${suffix}`]) ?? base?.output
  if (input === undefined || output === undefined) return undefined
  const cacheRead =
    perMillion(
      fields[`cache_read_input_token_cost${suffix}`] ??
        (suffix === '' ? fields['input_cost_per_token_cache_hit'] : undefined),
    ) ?? base?.cacheRead
  const cacheWrite = perMillion(fields[`cache_creation_input_token_cost${suffix}`]) ?? base?.cacheWrite
  const cacheWriteLong =
    perMillion(fields[`cache_creation_input_token_cost_above_1hr${suffix}`]) ?? base?.cacheWriteLong
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    cacheWriteLong,
  }
}

function tiersOf(fields: Readonly<Record<string, unknown>>, base: Rates | undefined): (Rates & { above: number })[] {
  if (base === undefined) return []
  const named = [128, 200, 256, 272].flatMap((thousands) => {
    const suffix = `_above_${thousands}k_tokens`
    if (fields[`input_cost_per_token${suffix}`] === undefined) return []
    // A tier has no free writes that the base would bill, but Gemini's tier names a write price that its base lacks.
    const rates = ratesOf(fields, suffix, base)
    return rates === undefined ? [] : [{ above: thousands * 1000, ...withoutNewWrite(rates, base) }]
  })
  return named.length > 0 ? named : rangesOf(fields['tiered_pricing'])
}

function withoutNewWrite(rates: Rates, base: Rates): Rates {
  if (base.cacheWrite !== undefined) return rates
  const { cacheWrite: _, cacheWriteLong: __, ...rest } = rates
  return rest
}

/** Alibaba's ranges: the first is the base, the others are tiers. */
function rangesOf(value: unknown): (Rates & { above: number })[] {
  if (!Array.isArray(value)) return []
  return value.slice(1).flatMap((range: Record<string, unknown>) => {
    const rates = ratesOf(range, '')
    const above = Array.isArray(range['range']) ? numberOf(range['range'][0]) : undefined
    return rates === undefined || above === undefined ? [] : [{ above, ...rates }]
  })
}

function perMillion(value: unknown): number | undefined {
  const rate = numberOf(value)
  return rate === undefined ? undefined : Number((rate * 1_000_000).toPrecision(8))
}
