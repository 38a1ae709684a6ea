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
import type { Limit } from '../../core/target.ts'
import type { FoundEpoch } from '../../ports/session-store.ts'

/** Where the client rewrote what our epoch covers, moves the epoch or lets it go, never silently. */
export function resolveStanding(opened: Opened): Resolved {
  const { context, found } = opened
  const { deps, branch, links, emit, conversation } = context
  const { items } = conversation
  const known = branch.log.epoch
  const unmoved = { ...opened, moved: undefined }
  if (found.epoch !== undefined) branch.log.stand(found.epoch)
  // Another epoch of ours stands here, or a rewind went back to something sent before: what was sent then is sent again.
  const end = links.at(-1)?.chain ?? ''
  if (known === undefined || found.epoch !== undefined || wasSent(branch, end) || branch.log.handedOut.has(end))
    return unmoved
  if (isTooDeep(context.limit, known)) return unmoved
  const { anchors, matched } = reanchor(known, links)
  if (anchors === undefined) {
    emit({ type: 'epoch-orphaned', epoch: known.id, matched })
    branch.log.stand(undefined)
    return unmoved
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
  return { ...opened, found: { ...found, epoch: moved }, moved, seen: undefined }
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
  const epochs = [...kept, ...found]
  const mayStand = epochs.filter(
    ({ epoch: one, undoneIn }) => !undoneIn.includes(session) && sparesOpenStep(one, context),
  )
  const epoch = mayStand.length === 0 ? undefined : epochFor(branch, links, madeFor(context.limit, mayStand))
  const firstSend = new Map<number, FirstSendEdit>()
  for (const [index, edit] of trail?.firstSend ?? []) if (index < known.items) firstSend.set(index, edit)
  const keys = fresh
    .filter(({ index }) => isEditable(items[index]!))
    .map((link) => [link.index, keysOf(items, link)] as const)
  const edits = await inParts(
    keys.flatMap(([, own]) => own),
    (some) => deps.sessions.findEdits(tenant, some),
  )
  const byKey = new Map(edits.map((edit) => [edit.key, edit]))
  for (const [index, own] of keys) {
    const edit = byKey.get(own.find((key) => byKey.has(key)) ?? '')
    if (edit !== undefined) firstSend.set(index, edit)
  }
  return { epoch, epochs, firstSend }
}

/**
 * A client that rewound to just behind a cut has its open step in what the epoch takes out: the step is needed whole. Where the history is there on
 * which the epoch was declared, the step that was open then is spared, and any later one stands behind it.
 */
function sparesOpenStep(epoch: Epoch, { links, conversation: { items } }: PrepareContext): boolean {
  if (isDeclaredOn(epoch, links[declaredCount(epoch) - 1]?.chain ?? '')) return true
  const from = openStepStart(items, turnsOf(items))
  return !epoch.edits.some((edit) => edit.op === 'drop' && (links[edit.to - 1]?.index ?? -1) >= from)
}

/** Names that a store is asked about at once. */
const MOST_ASKED = 4_000

async function inParts<T>(
  names: readonly string[],
  ask: (some: readonly string[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const found: T[] = []
  for (let from = 0; from < names.length; from += MOST_ASKED) {
    if (from > 0) await nextRound()
    found.push(...(await ask(names.slice(from, from + MOST_ASKED))))
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

/** An output cap that changes from request to request makes no other limit. */
const OTHER_LIMIT = 1.2

/** Whether an epoch was made where there was much less room: what it took out fits here. */
export const isTooDeep = (limit: Limit, epoch: Epoch): boolean =>
  (epoch.limit ?? limit.tokens) * OTHER_LIMIT < limit.tokens

/** Two models that share a history each have their own; one that was made for more room still saves a request the way there. */
function madeFor(limit: Limit, found: readonly FoundEpoch[]): readonly FoundEpoch[] {
  const fitting = found.filter(({ epoch }) => !isTooDeep(limit, epoch))
  const own = fitting.filter(({ epoch }) => (epoch.limit ?? limit.tokens) <= limit.tokens * OTHER_LIMIT)
  return own.length > 0 ? own : fitting
}

/**
 * The epoch that stands for a history. One that was declared for this very history wins; a history that was sent before gets what
 * stood then, so that a client that asks again or rewinds gets the same bytes; for a new one it is the newest. What another session declares
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

/** What was recalled for a message is a message of ours behind it. */
const RECALLED = 'recalled.'
export const isRecalled = ({ id, message }: Item): boolean => message < 0 && id.startsWith(RECALLED)

/** The plan of a standing: an item that the epoch edits is not edited again by its first-send edit. */
export function standingPlan({ epoch, firstSend }: Standing, items: readonly Item[], links: readonly Link[]): Plan {
  const plan: Edit[] = epoch === undefined ? [] : [...planOfEpoch(epoch, items, links)]
  const edited = new Set(plan.map((edit) => (edit.op === 'insert' ? undefined : edit.id)))
  const recalled: Edit[] = []
  for (const [index, { text, reason, handle, cause }] of firstSend) {
    const item = items[index]
    if (item === undefined || edited.has(item.id)) continue
    if (cause !== 'recall') plan.push({ op: 'replace', id: item.id, text, reason, handle })
    else {
      const before = items[index + 1]?.id
      recalled.push({ op: 'insert', id: `${RECALLED}${item.id}`, role: 'user', text, reason, before })
    }
  }
  // Behind its message comes first what belongs to it.
  return [...recalled, ...plan]
}
