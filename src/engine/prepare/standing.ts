import { epochEditsOf, planOfEpoch, declaredCount, isDeclaredOn, type Anchors } from '../../core/epochs.ts'
import { withPairedDrops, openStepStart, turnsOf } from '../../core/turns.ts'
import type { Epoch, FirstSendEdit } from '../../core/records.ts'
import { coverage } from '../epoch/cascade/plan-epoch.ts'
import type { Opened, PrepareContext, Resolved, Standing } from './context.ts'
import { wasSent, type Branch } from '../session/branch.ts'
import { alignChain, firstSendKey, type Link } from '../../core/chain.ts'
import type { Edit, Plan } from '../../core/edits.ts'
import type { Item } from '../../core/item.ts'
import { nextRound } from '../../util/yield-now.ts'
import type { FoundEpoch } from '../../ports/session-store.ts'

/** Where the client rewrote what our epoch covers, moves the epoch or lets it go, never silently. */
export function resolveStanding(opened: Opened): Resolved {
  const { standing, moved } = anchored(opened.context, opened.found)
  return { ...opened, found: standing, moved, seen: moved === undefined ? opened.seen : undefined }
}

function anchored(
  context: PrepareContext,
  standing: Standing,
): { readonly standing: Standing; readonly moved?: Epoch } {
  const { deps, branch, links, emit } = context
  const { items } = context.conversation
  const known = branch.standing.epoch
  if (standing.epoch !== undefined) branch.standing.take(standing.epoch)
  if (known === undefined || standing.epoch?.id === known.id) return { standing }
  // Another epoch of ours stands here, or a rewind went back to something sent before: what was sent then is sent again.
  const end = links.at(-1)?.chain ?? ''
  if (standing.epoch !== undefined || wasSent(branch, end) || branch.log.handedOut.has(end)) return { standing }
  const { anchors, matched } = reanchor(known, links)
  if (anchors === undefined) {
    emit({ type: 'epoch-orphaned', epoch: known.id, matched })
    branch.standing.take(undefined)
    return { standing }
  }
  const plan = withPairedDrops(planOfEpoch(known, items, links, anchors), items)
  const edits = epochEditsOf(plan, items, links)
  const covered = links.slice(0, Math.max(1, coverage(edits)))
  const { chain: cover } = covered.at(-1)!
  const moved: Epoch = {
    ...known,
    at: deps.clock.now(),
    id: `ep_${deps.hash(`${cover}:${known.id}`).slice(0, 16)}`,
    cover,
    count: covered.length,
    cut: covered.length,
    declaredAt: { count: links.length, chain: end },
    identities: covered.map((link) => link.identity),
    edits,
    reason: `${known.id} re-applied: the client changed a part of what it covers`,
  }
  emit({ type: 'epoch-reanchored', epoch: moved.id, matched })
  return { standing: { ...standing, epoch: moved }, moved }
}

/** An epoch survives a client that rewrote some of its own history when this share of the covered items is still in order. */
const REANCHOR_SHARE = 0.9

/**
 * Asks the store about what the last request did not have. An epoch that another session declares later for a prefix that this
 * one has sent already is not taken up: what was sent once stays as it is.
 */
export async function findStanding(context: PrepareContext): Promise<Standing> {
  const { deps, branch, conversation, links, known } = context
  const { items } = conversation
  const { tenant, session, log, requests } = branch
  const trail = requests.trail?.decisions === log.decisions ? requests.trail : undefined
  const fresh = links.slice(known.links)
  const found = await inParts(
    fresh.map((link) => link.chain),
    (chains) => deps.sessions.findEpochs(tenant, chains),
  )
  const kept = (trail?.epochs ?? []).filter(({ epoch }) => epoch.count <= known.links)
  const epochs = found.length === 0 ? kept : [...kept, ...found]
  const spares = sparesOpenStep(items, links)
  const mayStand = epochs.filter(({ epoch: one, undoneIn }) => !undoneIn.includes(session) && spares(one))
  const epoch = mayStand.length === 0 ? undefined : epochFor(branch, links, mayStand)
  const firstSend = new Map<number, FirstSendEdit>()
  for (const [index, edit] of trail?.firstSend ?? []) if (index < known.items) firstSend.set(index, edit)
  for (const [index, edit] of await editsOf(context, fresh)) firstSend.set(index, edit)
  return { epoch, epochs, firstSend }
}

/**
 * A client that rewound to just behind a cut has its open step in what the epoch takes out: the step is needed whole. Where the history is
 * there on which the epoch was declared, the step that was open then is spared, and any later one stands behind it.
 */
function sparesOpenStep(items: readonly Item[], links: readonly Link[]): (epoch: Epoch) => boolean {
  let start: number | undefined
  return (epoch) => {
    if (isDeclaredOn(epoch, links[declaredCount(epoch) - 1]?.chain ?? '')) return true
    const from = (start ??= openStepStart(items, turnsOf(items)))
    return !epoch.edits.some((edit) => edit.op === 'drop' && (links[edit.to - 1]?.index ?? -1) >= from)
  }
}

async function editsOf(
  { deps, branch, conversation: { items } }: PrepareContext,
  links: readonly Link[],
): Promise<(readonly [number, FirstSendEdit])[]> {
  const editable = links.filter((link) => isEditable(items[link.index]!))
  if (editable.length === 0) return []
  const keys: string[] = []
  for (const link of editable) keys.push(...keysOf(items, link))
  const edits = await inParts(keys, (some) => deps.sessions.findEdits(branch.tenant, some))
  if (edits.length === 0) return []
  const byKey = new Map(edits.map((edit) => [edit.key, edit]))
  return editable.flatMap((link) => {
    const edit = keysOf(items, link)
      .map((key) => byKey.get(key))
      .find((found) => found !== undefined)
    return edit === undefined ? [] : [[link.index, edit] as const]
  })
}

/** Names that a store is asked about at once. */
const MOST_ASKED = 4_000

async function inParts<T>(
  names: readonly string[],
  ask: (some: readonly string[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  if (names.length <= MOST_ASKED) return ask(names)
  const found: T[] = []
  for (let from = 0; from < names.length; from += MOST_ASKED) {
    found.push(...(await ask(names.slice(from, from + MOST_ASKED))))
    await nextRound()
  }
  return found
}

export const keyOf = (items: readonly Item[], link: Link): string =>
  firstSendKey(items[link.index]!.callId, link.identity)

/**
 * A result belongs to its call. A message or a picture may come again in another conversation, where there is room for it: an edit
 * that only this place asked for has the place in its key.
 */
export const placedKeyOf = (items: readonly Item[], { index, identity, chain }: Link): string =>
  firstSendKey(items[index]!.callId ?? `at ${chain}`, identity)

/** Keys under which an edit of this item may stand. */
const keysOf = (items: readonly Item[], link: Link): readonly string[] =>
  items[link.index]!.callId === undefined ? [keyOf(items, link), placedKeyOf(items, link)] : [keyOf(items, link)]

const isEditable = (item: Item): boolean => item.kind === 'result' || item.kind === 'user' || item.kind === 'media'

/**
 * The epoch that stands for a history. One that was declared for this very history wins; a history that was sent before gets what
 * stood then, so that whoever asks again or rewinds gets the same bytes; for a new one it is the newest. What another session declares
 * for a history that this one has sent without it is not taken up.
 */
function epochFor({ log }: Branch, links: readonly Link[], found: readonly FoundEpoch[]): Epoch | undefined {
  const end = links.at(-1)?.chain ?? ''
  const epochs = found.map(({ epoch }) => epoch)
  const own = epochs.filter(({ id }) => log.epochs.has(id))
  const declared = newestOf(own.filter((epoch) => isDeclaredOn(epoch, end)))
  if (declared !== undefined) return declared
  const before = log.handedOut.get(end)
  if (before !== undefined) return epochs.find(({ id }) => id === before.epoch)
  const sent = links.findLastIndex(({ chain }) => log.handedOut.has(chain)) + 1
  return newestOf(epochs.filter((epoch) => epoch.count > sent || log.epochs.has(epoch.id)))
}

function newestOf(epochs: readonly Epoch[]): Epoch | undefined {
  let best: Epoch | undefined
  for (const epoch of epochs) {
    const [count, most] = [declaredCount(epoch), best === undefined ? -1 : declaredCount(best)]
    if (best === undefined || count > most || (count === most && isLater(epoch, best))) best = epoch
  }
  return best
}

/** A clock may say the same for both. */
const isLater = (epoch: Epoch, than: Epoch): boolean =>
  epoch.replaces === than.id || (epoch.at > than.at && than.replaces !== epoch.id)

/** Where a known epoch stands in a chain that it no longer matches; no anchors when too little of it or its cut is left. */
export function reanchor(epoch: Epoch, links: readonly Link[]): { anchors?: Anchors; matched: number } {
  const { placed, matched } = alignChain(epoch.identities, links)
  const cutFound = epoch.cut === 0 || placed[epoch.cut - 1] !== undefined
  return matched >= epoch.count * REANCHOR_SHARE && cutFound ? { anchors: placed, matched } : { matched }
}

/** The plan of a standing: an item that the epoch edits is not edited again by its first-send edit. */
export function standingPlan(standing: Standing, items: readonly Item[], links: readonly Link[]): Plan {
  const { epoch } = standing
  const ofEpoch = epoch === undefined ? [] : planOfEpoch(epoch, items, links)
  const edited = new Set(ofEpoch.filter((edit) => edit.op !== 'insert').map((edit) => edit.id))
  return [...ofEpoch, ...firstSendPlan(standing, items, 0).filter((edit) => !edited.has(edit.id))]
}

/** The first-send edits of the items from some place on. */
function firstSendPlan({ firstSend }: Standing, items: readonly Item[], from: number): Plan {
  const plan: Edit[] = []
  for (const [index, { text, reason, handle }] of firstSend) {
    const item = index < from ? undefined : items[index]
    if (item !== undefined) plan.push({ op: 'replace', id: item.id, text, reason, handle })
  }
  return plan
}
