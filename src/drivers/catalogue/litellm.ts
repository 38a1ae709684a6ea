import type { Rates } from '../../core/price.ts'
import type { CatalogueEntry } from './entry.ts'

/** Public price data in LiteLLM's form: an object of models with one field per price. */
export type LiteLlmData = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** GPT-5's prompt is limited to 272,000 tokens inside a window of 400,000. */
const GPT5_INPUT = 272_000

/** Entries of chat models, in the order of the data. Models without a window or with another purpose are left out. */
export function readLiteLlm(data: LiteLlmData): (CatalogueEntry & { readonly provider: string })[] {
  return Object.entries(data).flatMap(([id, fields]) => {
    const mode = fields['mode']
    const input = number(fields['max_input_tokens']) ?? number(fields['max_tokens'])
    if (id === 'sample_spec' || (mode !== 'chat' && mode !== 'responses' && mode !== 'completion')) return []
    if (input === undefined || input <= 0 || id.includes('commitment')) return []
    const provider = typeof fields['litellm_provider'] === 'string' ? fields['litellm_provider'] : ''
    const maxOutputTokens = number(fields['max_output_tokens'])
    const rates = ratesOf(fields, '')
    const tiers = tiersOf(fields, rates)
    const cacheMinimum = number(fields['prompt_cache_min_tokens'])
    return [
      {
        id,
        provider,
        ...windowOf(provider, input, maxOutputTokens),
        ...(maxOutputTokens !== undefined && { maxOutputTokens }),
        ...(rates !== undefined && { rates }),
        ...(tiers.length > 0 && { tiers }),
        ...(cacheMinimum !== undefined && { cacheMinimum }),
        reasoning: fields['supports_reasoning'] === true,
        modalities: modalitiesOf(fields),
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
  // Google limits the prompt and the answer apart.
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
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(cacheWriteLong !== undefined && { cacheWriteLong }),
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
    const above = Array.isArray(range['range']) ? number(range['range'][0]) : undefined
    return rates === undefined || above === undefined ? [] : [{ above, ...rates }]
  })
}

function modalitiesOf(fields: Readonly<Record<string, unknown>>): string[] {
  const listed = Array.isArray(fields['supported_modalities']) ? (fields['supported_modalities'] as unknown[]) : []
  return [
    'text',
    ...(fields['supports_vision'] === true || listed.includes('image') ? ['image'] : []),
    ...(fields['supports_pdf_input'] === true ? ['pdf'] : []),
    ...(fields['supports_audio_input'] === true || listed.includes('audio') ? ['audio'] : []),
    ...(fields['supports_video_input'] === true || listed.includes('video') ? ['video'] : []),
  ]
}

function perMillion(value: unknown): number | undefined {
  const rate = number(value)
  return rate === undefined ? undefined : Number((rate * 1_000_000).toPrecision(8))
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
