import type { CacheSeen } from '../../core/cache.ts'
import type { PriceModel } from '../../core/price.ts'
import type { Usage } from '../../core/usage.ts'
import {
  type CachedCall,
  cachedCall,
  CacheLives,
  expectCache,
  isKnownUsage,
  type SentPrompt,
  seenCache,
} from '../../meter/index.ts'
import type { InspectSource } from './measures.ts'

/** What the provider's cache did at one call of a recording. */
export interface RecordedCache {
  readonly call: number
  readonly usage: Usage
  readonly seen: CacheSeen
}

/** Four characters make a token, more or less: enough to say whether most of a prompt is still the same. */
const CHARACTERS_PER_TOKEN = 4

/** Predicts each call from those before it, and holds that against the usage that the recording has. Calls without usage or time are left out. */
export function recordedCache(
  { calls, messages, system, model: recorded = 'unknown' }: InspectSource,
  priceOf: (model: string) => PriceModel | undefined,
  lives = new CacheLives(),
): readonly RecordedCache[] {
  const found: RecordedCache[] = []
  const head = system === undefined ? [] : [{ text: system }]
  const partsOf = messages.map(({ parts, line }) => parts.map((item) => ({ text: item.text, item, line })))
  let before: CachedCall | undefined
  for (const { at, usage, index, from, to, model = recorded } of calls) {
    if (at === undefined || !isKnownUsage(usage)) continue
    const own = partsOf.slice(from, to).flat()
    const prompt: SentPrompt = { parts: [...head, ...own], settings: new Map(), marks: [] }
    const placeOf = (part: number): string => {
      const line = own[part - head.length]?.line
      return line === undefined ? (part < head.length ? 'system' : 'the end') : `line ${line}`
    }
    const sizeOf = ({ text }: { readonly text: string }): number => text.length / CHARACTERS_PER_TOKEN
    const expectation = expectCache(lives, { at, model, prompt, price: priceOf(model), sizeOf, placeOf }, before)
    if (before !== undefined) found.push({ call: index, usage, seen: seenCache(lives, expectation, usage) })
    before = cachedCall(expectation, { usage, at })
  }
  return found
}
