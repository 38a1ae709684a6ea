import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'

/**
 * What an answer sealed, in tokens by seal. The provider says how many its reasoning took, and several thoughts share them by the length of
 * their ciphertexts; a compaction took what is left of the output beside what can be read.
 */
export function sealedTokensIn(
  items: readonly Item[],
  usage: Usage | undefined,
  count: (item: Item) => number,
): Readonly<Record<string, number>> | undefined {
  if (usage === undefined) return undefined
  const sealed = items.filter(({ seal }) => seal !== undefined)
  // Hardly any answer seals anything, and then nobody need count it.
  if (sealed.length === 0) return undefined
  const thoughts = sealed.filter(({ kind }) => kind === 'reasoning')
  const compactions = sealed.filter(({ standsForPrefix }) => standsForPrefix === true)
  const readable = items.filter(({ kind, seal }) => seal === undefined && kind !== 'reasoning')
  const rest = usage.output - usage.reasoning - readable.reduce((sum, item) => sum + count(item), 0)
  const shares = [...sharesOf(thoughts, usage.reasoning), ...sharesOf(compactions, rest)]
  return shares.length === 0 ? undefined : Object.fromEntries(shares)
}

function sharesOf(items: readonly Item[], tokens: number): (readonly [string, number])[] {
  // A provider that says nothing about its reasoning did not say that there was none.
  if (tokens <= 0) return []
  const all = items.reduce((sum, { sealedCharacters = 0 }) => sum + sealedCharacters, 0)
  return items.map(({ seal, sealedCharacters = 0 }) => [seal!, Math.round((tokens * sealedCharacters) / all)])
}
