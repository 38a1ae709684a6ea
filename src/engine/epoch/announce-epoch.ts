import type { EpochPrice } from '../../core/events.ts'
import type { Epoch } from '../../core/records.ts'
import { turnsOf } from '../../core/turns.ts'
import { callHook, PRESERVE_SHARE, type BeforeEpochInfo, type HookPlace } from '../hooks.ts'
import type { PrepareContext, View, Standing } from '../prepare/context.ts'
import { tokensOf } from '../prepare/counting.ts'
import { designOf } from '../presets/design.ts'
import { viewUnder } from './declare-epoch.ts'

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
  const { count: total, bytes } = load
  const info = { ...placeOf(context), model: target.model, cause, load: total.high, limit: limit.tokens, bytes, items }
  const answer = await callHook(deps.hooks, 'beforeEpoch', info, emit)
  if (answer?.defer === true && cause === 'high-water') return undefined
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
  const message = `beforeEpoch: ${refused} items are unknown or too large to preserve`
  if (refused > 0) emit({ type: 'warning', topic: 'hooks', message })
  return preserve
}

export interface DeclaredEpoch {
  readonly epoch: Epoch
  readonly view: View
}

/** An epoch that is recorded takes effect: the branch knows it, and events, hooks and log lines tell of it. */
export async function announceEpoch(
  context: PrepareContext,
  standing: Standing,
  before: View,
  epoch: Epoch,
  { why, forced, price }: { readonly why: EpochCause; readonly forced: boolean; readonly price?: EpochPrice },
): Promise<DeclaredEpoch> {
  const { branch, deps, limit, target, emit } = context
  const view = viewUnder(context, standing, epoch)
  branch.standing.take(epoch)
  const [loadBefore, loadAfter] = [before.load.count.high, view.load.count.high]
  const { id, count: covered, reason, recall } = epoch
  emit({
    type: 'epoch-declared',
    epoch: id,
    forced,
    reason,
    before: loadBefore,
    after: loadAfter,
    covered,
    recall,
    price,
  })
  nameOrphans(context)
  const about = { ...placeOf(context), model: target.model, epoch: id, cause: why, limit: limit.tokens, covered }
  await callHook(deps.hooks, 'afterEpoch', { ...about, before: loadBefore, after: loadAfter }, emit)
  designOf(deps.policy).log?.reduced?.(context, { before, after: view, epoch }).forEach(emit)
  return { epoch, view }
}

/** Calls that will not be answered any more: only those of the newest step can still be waited for. */
function nameOrphans({ conversation: { items }, emit }: PrepareContext): void {
  const { pending, steps } = turnsOf(items)
  const newest = steps.at(-1)?.from ?? 0
  for (const index of pending.filter((at) => at < newest)) {
    const { id: item, callId, toolName: tool } = items[index]!
    emit({ type: 'call-unanswered', item, callId, tool })
  }
}
