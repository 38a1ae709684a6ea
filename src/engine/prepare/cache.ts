import { cacheStateAt, type CacheLife, type CacheState } from '../../core/cache.ts'
import type { Item } from '../../core/item.ts'
import type { UsageSeen } from '../../core/records.ts'
import {
  type CachedCall,
  type CacheExpectation,
  expectCache,
  isKnownUsage,
  type LeavingCall,
  nominalLife,
  placeIn,
  sentPrompt,
} from '../../meter/index.ts'
import type { PrepareContext, View } from './context.ts'

/**
 * Whether the provider still holds what the call before left in its cache, and how long it keeps it. Undefined before the first answer, and where
 * another model or endpoint gave it.
 */
export function standingCache(
  context: PrepareContext,
): { readonly state: CacheState; readonly life: CacheLife } | undefined {
  const call = callBefore(context)
  const { deps, target } = context
  if (call === undefined || call.model !== target.model || call.endpoint !== target.endpoint) return undefined
  const ageSeconds = Math.max(0, deps.clock.now() - call.at) / 1_000
  return { state: cacheStateAt(ageSeconds, deps.cacheLives.life(call, call.life)), life: call.life }
}

/** What is expected of a request as it leaves. */
export function expectedCache(context: PrepareContext, view: View, epoch: string | undefined): CacheExpectation {
  const { deps, codec, target, gauge } = context
  const { model, endpoint } = target
  const call: LeavingCall = {
    at: deps.clock.now(),
    model,
    endpoint,
    epoch,
    prompt: sentPrompt(codec, view.conversation),
    price: deps.catalogue.resolve(model).info.price,
    asked: view.conversation.settings.cacheLife,
    redact: deps.redact,
    placeOf: (part) => placeIn(codec, view.conversation, part),
    sizeOf: (item) => deps.meter.countItem(gauge, item as Item).tokens,
  }
  return expectCache(deps.cacheLives, call, callBefore(context))
}

/** The last call of this conversation, first of all one of the same model. */
export const callBefore = ({ deps, branch, links, target }: PrepareContext): CachedCall | undefined =>
  branch.caches.before(lineOf(links), target) ??
  loggedCall(branch.log.lastUsage, deps.catalogue.resolve(target.model).info.price)

/** A conversation is known by how it begins; side calls of a client begin with something else. */
export const lineOf = (links: readonly { readonly chain: string }[]): string => links[0]?.chain ?? ''

/** A call that another process made: what it sent is not at hand, what its provider answered is. */
function loggedCall(record: UsageSeen | undefined, price: Parameters<typeof nominalLife>[1]): CachedCall | undefined {
  if (record === undefined || !isKnownUsage(record.usage)) return undefined
  const { at, model, endpoint, epoch, usage, cache, removed, response } = record
  return { at, model, endpoint, epoch, usage, removed, response, life: cache?.life ?? nominalLife(undefined, price) }
}
