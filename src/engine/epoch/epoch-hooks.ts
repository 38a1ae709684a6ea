import type { Epoch } from '../../core/records.ts'
import type { PrepareContext, View } from '../prepare/context.ts'
import { tokensOf } from '../prepare/counting.ts'
import { callHook, PRESERVE_SHARE, type BeforeEpochInfo, type HookPlace } from '../hooks.ts'
import { highWater, isHigh } from './thresholds.ts'

export const placeOf = ({ branch: { tenant, session, agent } }: Pick<PrepareContext, 'branch'>): HookPlace => ({
  tenant,
  session,
  agent,
})

export type EpochCause = BeforeEpochInfo['cause']

/** What a `beforeEpoch` hook wants, as far as the promises allow; undefined: the epoch waits. */
export async function askBeforeEpoch(
  context: PrepareContext,
  { load }: View,
  cause: EpochCause,
): Promise<{ readonly preserve: ReadonlySet<string> } | undefined> {
  const { deps, links, conversation, limit, target, emit } = context
  if (deps.hooks?.beforeEpoch === undefined) return { preserve: new Set() }
  const count = tokensOf(context)
  const items = links.map(({ identity, index }) => {
    const item = conversation.items[index]!
    return { identity, kind: item.kind, tokens: Math.ceil(count(item)) }
  })
  const answer = await callHook(
    deps.hooks,
    'beforeEpoch',
    {
      ...placeOf(context),
      model: target.model,
      cause,
      load: load.count.high,
      limit: limit.tokens,
      bytes: load.bytes,
      items,
    },
    emit,
  )
  if (answer?.defer === true && (cause === 'high-water' || cause === 'background')) return undefined
  return { preserve: affordable(context, items, answer?.preserve ?? []) }
}

/** Wishes in their order, while they fit into their share. */
function affordable(
  { limit, emit }: PrepareContext,
  items: BeforeEpochInfo['items'],
  wanted: readonly string[],
): ReadonlySet<string> {
  const sizes = new Map(items.map(({ identity, tokens }) => [identity, tokens]))
  const preserve = new Set<string>()
  let left = PRESERVE_SHARE * limit.tokens
  let refused = 0
  for (const identity of new Set(wanted)) {
    const tokens = sizes.get(identity)
    if (tokens === undefined || tokens > left) refused++
    else {
      preserve.add(identity)
      left -= tokens
    }
  }
  if (refused > 0)
    emit({
      type: 'warning',
      topic: 'hooks',
      message: `beforeEpoch: ${refused} items are unknown or too large to preserve`,
    })
  return preserve
}

export async function tellAfterEpoch(
  context: PrepareContext,
  cause: EpochCause,
  { id, count }: Epoch,
  before: View,
  after: View,
): Promise<void> {
  const { deps, limit, target, emit } = context
  const info = {
    ...placeOf(context),
    model: target.model,
    epoch: id,
    cause,
    before: before.load.count.high,
    after: after.load.count.high,
    limit: limit.tokens,
    covered: count,
  }
  await callHook(deps.hooks, 'afterEpoch', info, emit)
}

/** One event for each time that the load comes to high water, by the same arithmetic that starts a reduction. */
export function noteHighWater({ deps, branch, limit, emit }: PrepareContext, { load }: View): void {
  const { policy } = deps
  const { cacheIsWarm } = branch.log
  if (!branch.requests.rose(isHigh(policy, limit, load, cacheIsWarm))) return
  const { by = 'high' } = policy.water
  emit({ type: 'compaction-needed', load: load.count[by], threshold: highWater(policy, limit, cacheIsWarm) })
}
