import type { CatalogueEntry } from './entry.ts'

/** What the public price data lacks and is known otherwise. */
export const SUPPLEMENT: readonly (CatalogueEntry & { readonly provider: string })[] = [
  {
    // Prices of Fable 5, except that cached input is read at 0.025 times the input price.
    id: 'claude-fable-5-1',
    provider: 'anthropic',
    window: 1_000_000,
    maxOutputTokens: 128_000,
    rates: { input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5, cacheWriteLong: 20 },
    cacheMinimum: 512,
    reasoning: true,
    modalities: ['text', 'image', 'pdf'],
  },
]
