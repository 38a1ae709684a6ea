import { applyEdits } from '../../core/edits.ts'
import { declaredCount } from '../../core/epochs.ts'
import type { Item } from '../../core/item.ts'
import { releasedThinking } from '../epoch/bound-thinking.ts'
import type { PrepareContext } from '../prepare/context.ts'
import type { EpochView, Shown } from './branch-memo.ts'
import { firstSendPlan, standingPlan, type Standing } from '../prepare/standing.ts'

/** Applies what stands. Behind an epoch only what came since is looked at. */
export function shownItems(context: PrepareContext, standing: Standing): Shown {
  const { items } = context.conversation
  const view = epochViewOf(context, standing)
  if (view === undefined) return shownUnder(context, standing, items)
  const from = view.covered.length
  const edits = firstSendPlan(standing, items, from)
  const since = applyEdits({ items: items.slice(from) }, edits, context.deps.memo.edited)
  // A plan drops each covered item by its id: it is as long as the history, and nearly always the epoch's own.
  const plan = edits.length === 0 ? view.plan : view.plan.concat(edits)
  return { plan, items: view.items.concat(since.items), stale: view.stale }
}

function epochViewOf(context: PrepareContext, standing: Standing): EpochView | undefined {
  const { deps, branch, conversation, links } = context
  const { epoch } = standing
  // Thinking that was issued before the epoch goes with it, so the view reaches as far as the history did then.
  const behind = epoch === undefined ? undefined : links[Math.max(epoch.count, declaredCount(epoch))]
  if (epoch === undefined || behind === undefined) return undefined
  const known = branch.memo.epochView
  if (
    known?.epoch === epoch.id &&
    deps.memo.prefixes.shared(known.covered, conversation.items) === known.covered.length &&
    isSame(known.firstSend, firstSendIn(standing, known.covered.length))
  )
    return known
  const covered = conversation.items.slice(0, behind.index + 1)
  const firstSend = firstSendIn(standing, covered.length)
  const view = { epoch: epoch.id, covered, firstSend, ...shownUnder(context, standing, covered) }
  branch.memo.keepEpochView(view)
  return view
}

/** Texts of the first-send edits that the covered items have: the last of these items may be new, and get its edit late. */
function firstSendIn({ firstSend }: Standing, count: number): readonly string[] {
  const texts: string[] = []
  for (const [index, { text }] of firstSend) if (index < count) texts.push(text)
  return texts
}

const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((text, i) => text === others[i])

function shownUnder(context: PrepareContext, standing: Standing, items: readonly Item[]): Shown {
  const { links } = context
  const edits = standingPlan(standing, items, links)
  const { drops, stale } = bindsThinking(context)
    ? releasedThinking(standing.epoch, edits, items, links, context.offer.unbinds)
    : { drops: [], stale: false }
  const plan = [...edits, ...drops]
  return { plan, items: applyEdits({ items }, plan, context.deps.memo.edited).items, stale }
}

const bindsThinking = ({ deps, target }: PrepareContext): boolean =>
  deps.catalogue.resolve(target.model).info.bindsThinking
