import type { CacheSeen } from '../../core/cache.ts'
import type { Usage } from '../../core/usage.ts'
import type { Conversation } from '../../core/conversation.ts'
import { codecs } from '../../formats/registry.ts'
import {
  type CachedCall,
  cachedCall,
  CacheLives,
  expectCache,
  isKnownUsage,
  seenCache,
  sentPrompt,
} from '../../meter/index.ts'
import type { Catalogue } from '../../ports/catalogue.ts'
import type { Recording } from '../transcripts/recording.ts'

/** What the provider's cache did at one call of a recording. */
export interface RecordedCache {
  readonly call: number
  readonly line: number
  readonly usage: Usage
  readonly seen: CacheSeen
}

/** Four characters make a token, more or less: enough to say whether most of a prompt is still the same. */
const CHARACTERS_PER_TOKEN = 4

/** Predicts each call from those before it, and holds that against the usage that the recording has. Calls without usage or time are left out. */
export function recordedCache(
  recording: Recording,
  catalogue: Catalogue,
  lives = new CacheLives(),
): readonly RecordedCache[] {
  const codec = codecs.get(recording.wire)!
  const found: RecordedCache[] = []
  let before: CachedCall | undefined
  let conversation: Conversation | undefined
  for (const call of recording.calls) {
    const { at, usage, index, line } = call
    if (at === undefined || !isKnownUsage(usage)) continue
    conversation = codec.decode(call.body(), conversation)
    const model = call.model ?? recording.model ?? conversation.settings.model ?? 'unknown'
    const leaving = {
      at,
      model,
      prompt: sentPrompt(codec, conversation),
      price: catalogue.resolve(model).info.price,
      asked: conversation.settings.cacheLife,
      sizeOf: ({ text }: Conversation['items'][number]) => text.length / CHARACTERS_PER_TOKEN,
    }
    const expectation = expectCache(lives, leaving, before)
    if (before !== undefined) found.push({ call: index, line, usage, seen: seenCache(lives, expectation, usage) })
    before = cachedCall(expectation, usage, at)
  }
  return found
}
