import { recordOf, type Fields } from '../../core/values.ts'
import type { Rates } from '../../core/price.ts'
import type { CatalogueEntry } from './entry.ts'

/** Public model data in the form of models.dev: providers, each with its models, prices per million tokens. */
export function readModelsDev(data: unknown): (CatalogueEntry & { readonly provider: string })[] {
  return Object.entries(fields(data)).flatMap(([provider, entry]) =>
    Object.entries(fields(fields(entry)['models'])).flatMap(([id, model]) => {
      const { limit, cost, modalities, reasoning } = fields(model)
      const window = number(fields(limit)['context'])
      if (window === undefined || window <= 0) return []
      const input = number(fields(limit)['input'])
      const maxOutputTokens = number(fields(limit)['output'])
      const rates = ratesOf(fields(cost))
      const above = ratesOf(fields(fields(cost)['context_over_200k']))
      return [
        {
          id: MAKERS.has(provider) ? id : `${provider}/${id}`,
          provider: MAKERS.get(provider) ?? provider,
          window,
          ...(input !== undefined && input < window && { inputLimit: input }),
          ...(maxOutputTokens !== undefined && maxOutputTokens > 0 && { maxOutputTokens }),
          ...(rates !== undefined && { rates }),
          ...(above !== undefined && { tiers: [{ above: 200_000, ...above }] }),
          reasoning: reasoning === true,
          modalities: ['text', ...inputs(modalities)],
        },
      ]
    }),
  )
}

/** Providers that made what they sell, under the names that the compaction ranks. */
const MAKERS = new Map([
  ['openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['google', 'gemini'],
  ['mistral', 'mistral'],
  ['deepseek', 'deepseek'],
  ['xai', 'xai'],
  ['alibaba', 'dashscope'],
  ['moonshotai', 'moonshot'],
  ['zai', 'zai'],
])

function ratesOf(cost: Fields): Rates | undefined {
  const input = number(cost['input'])
  const output = number(cost['output'])
  if (input === undefined || output === undefined) return undefined
  const cacheRead = number(cost['cache_read'])
  const cacheWrite = number(cost['cache_write'])
  return {
    input,
    output,
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  }
}

function inputs(modalities: unknown): string[] {
  const listed = fields(modalities)['input']
  return Array.isArray(listed)
    ? listed.filter((name): name is string => typeof name === 'string' && name !== 'text')
    : []
}

function fields(value: unknown): Fields {
  return recordOf(value) ?? {}
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
