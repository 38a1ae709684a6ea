import type { CatalogueEntry } from './entry.ts'
import { normaliseId } from './normalise.ts'

/** Whose word counts for a model that many sell: its maker first, then the large clouds. */
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
 * Leaves out what resolution would find anyway: one entry per normalised id, from the maker where there is one, plus those
 * offers that differ from it in window or price.
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
