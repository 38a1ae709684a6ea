import type { Link } from '../../core/chain.ts'
import type { Handle } from '../../core/handles.ts'
import type { Item } from '../../core/item.ts'
import type { ToolBudgetRule } from '../../core/policy.ts'
import { RECORD_VERSION } from '../../core/records.ts'
import type { PrepareContext, Standing, NewEdit, Resolved, TakenIn, View } from '../prepare/context.ts'
import { asCounted, fixedCountOf, textTokensOf, tokensOf, isOver } from '../prepare/counting.ts'
import {
  isLarge,
  budgetOf,
  countedFor,
  draftResult,
  sizesOf,
  type ResultDraft,
  type ResultScale,
} from './result-forms.ts'
import { keyOf, standingPlan, placedKeyOf } from '../prepare/standing.ts'
import { NOTHING_USED, type BudgetGrant, type BudgetSnapshot } from './tool-budget.ts'
import { wasSent } from '../session/branch.ts'
import { storedText } from '../epoch/cascade/draft.ts'
import { storeTexts } from '../session/log.ts'
import { keepAlive } from '../store-admin/retention.ts'
import { squeeze } from '../epoch/cascade/squeeze.ts'
import { viewOf } from '../prepare/view.ts'
import { ownTexts } from '../epoch/declare-epoch.ts'
import { countItems, draftOf } from '../epoch/draft-of.ts'
import { yieldNow } from '../../util/yield-now.ts'

/**
 * Results too large for the window, or for what their turn has left, are shown as preview + handle before they are sent for the first
 * time; their exact bytes are stored before any view mentions them. Everything is told from the transcript and the edits that stand: every
 * process decides the same.
 */
export async function takeIn(resolved: Resolved): Promise<TakenIn> {
  const { context, found } = resolved
  const { deps, branch, conversation, links, known } = context
  const fresh = links.slice(known.links).filter(({ index, chain }) => {
    const { kind, sealed } = conversation.items[index]!
    return kind === 'result' && sealed !== true && !found.firstSend.has(index) && !wasSent(branch, chain)
  })
  const turns = fresh.length === 0 ? [] : turnsIn(context, found, fresh)
  const suspects = turns.filter((turn) => needsLook(context, turn))
  const proposed = suspects.length === 0 ? [] : await shortened(context, found, turns, suspects)
  const originals = proposed.flatMap(({ index, about }) =>
    about === undefined ? [] : [{ ...storedText(conversation.items[index]!), about }],
  )
  // What cannot be kept is not cut. Where it does not fit whole, it is shortened with the rest; the client's own history has it.
  const edits = originals.length === 0 || (await storeTexts(deps, branch, originals)) ? proposed : []
  const firstSend = new Map([...found.firstSend, ...edits.map(({ index, record }) => [index, record] as const)])
  const standing = edits.length === 0 ? found : { ...found, firstSend }
  if (standing.epoch !== undefined || firstSend.size > 0) await keepAlive(deps, branch, standing)
  return { ...resolved, standing, edits, seen: edits.length === 0 ? resolved.seen : undefined }
}

async function shortened(
  context: PrepareContext,
  standing: Standing,
  all: readonly ResultTurn[],
  suspects: readonly ResultTurn[],
): Promise<readonly NewEdit[]> {
  const { deps, branch, conversation, limit, readers } = context
  const withinWindow = deps.policy.intake.budget?.withinWindow === true
  const weighed = withinWindow ? asCounted(context) : context
  // What left whole once may only be touched by an epoch. Only results that may have to be shortened need the question.
  const sent = await deps.sessions.seen(
    branch.tenant,
    suspects.flatMap((turn) => turn.fresh.map((link) => link.identity)),
  )
  const turns = hasSessionLimit(deps.policy.intake.budget ?? {}) ? all : suspects
  const countText = textTokensOf(weighed)
  const scale: ResultScale = {
    limitTokens: limit.tokens,
    countTokens: (text) => countedFor(deps.policy, text, countText(text)),
    readers,
  }
  const base = withinWindow ? tokensWithout(weighed, standing, turns) : 0
  let taken = 0
  const budget = budgetOf(deps.policy, scale, NOTHING_USED, () => limit.tokens - base - taken)
  const count = budgetCounter(weighed)
  const countItem = tokensOf(weighed)
  const edits: NewEdit[] = []
  for (const turn of turns) {
    const old = turn.fresh.filter(({ identity }) => sent.has(identity))
    const open = turn.fresh.filter(({ identity }) => !sent.has(identity))
    // The window does not empty between turns.
    taken += budget.snapshot().turn?.all ?? 0
    budget.nextTurn()
    // What is shown already counts as well.
    for (const item of [...turn.others, ...old.map(({ index }) => conversation.items[index]!)]) {
      const { callId = '', toolName: tool = 'tool', text: full } = item
      await budget.reserve({ callId, tool, full, fullTokens: count(item), always: true })
    }
    const drafts = open.map(({ index }) => {
      const item = conversation.items[index]!
      const { callId = String(index), text, toolName: tool } = item
      const handle = (): Handle => deps.addressOf(branch.tenant, Buffer.from(text))
      const tokens = countedFor(deps.policy, text, countItem(item))
      return draftResult(deps, branch, scale, { callId, tool, text, tokens, budgetTokens: count(item), handle })
    })
    const grants = await budget.reserveBatch(drafts.map(({ forms }) => forms))
    for (const [i, link] of open.entries()) {
      const edit = editOf(context, link, drafts[i]!, grants[i]!)
      if (edit !== undefined) edits.push(edit)
    }
  }
  return edits
}

/** Results between two answers of the model: those that were never sent, and the rest as it stands. */
interface ResultTurn {
  readonly fresh: readonly Link[]
  readonly others: readonly Item[]
}

/** Turns with fresh results, in order; with a budget for the session, every turn with results. */
function turnsIn(context: PrepareContext, standing: Standing, fresh: readonly Link[]): ResultTurn[] {
  const { deps, conversation } = context
  const { items } = conversation
  const { budget } = deps.policy.intake
  // Without a budget each result stands for itself.
  if (budget === undefined) return fresh.map((link) => ({ fresh: [link], others: [] }))
  const byIndex = new Map(fresh.map((link) => [link.index, link]))
  const countsAll = hasSessionLimit(budget)
  const turns: ResultTurn[] = []
  let own: Link[] = []
  let others: Item[] = []
  const close = (): void => {
    if (own.length > 0 || (countsAll && others.length > 0)) turns.push({ fresh: own, others })
    own = []
    others = []
  }
  // What is new is at the end: nothing before the turn of the first fresh result is looked at.
  let from = countsAll ? 0 : fresh[0]!.index
  while (from > 0 && !endsTurn(items[from - 1]!)) from--
  for (let index = from; index < items.length; index++) {
    const item = items[index]!
    const link = byIndex.get(index)
    if (link !== undefined) own.push(link)
    else if (item.kind === 'result') others.push(asShown(item, index, standing))
    else if (endsTurn(item)) close()
  }
  close()
  return turns
}

const endsTurn = ({ role, kind }: Item): boolean => role === 'assistant' && kind !== 'result'

const hasSessionLimit = ({ sessionTokens, tools = {} }: ToolBudgetRule): boolean =>
  sessionTokens !== undefined || Object.values(tools).some((limits) => limits.sessionTokens !== undefined)

/** What the results of a transcript take as they are shown, for the limits of a session; nothing where there are none. */
export function toolUseOf(context: PrepareContext, standing: Standing): BudgetSnapshot {
  const { deps, conversation } = context
  const { budget } = deps.policy.intake
  if (budget === undefined || !hasSessionLimit(budget)) return NOTHING_USED
  const count = budgetCounter(context)
  const tools: Record<string, number> = {}
  let session = 0
  for (const [index, item] of conversation.items.entries()) {
    if (item.kind !== 'result') continue
    const tokens = count(asShown(item, index, standing))
    session += tokens
    tools[item.toolName ?? 'tool'] = (tools[item.toolName ?? 'tool'] ?? 0) + tokens
  }
  return { session, tools }
}

const asShown = (item: Item, index: number, { firstSend }: Standing): Item => {
  const edit = firstSend.get(index)
  if (edit === undefined) return item
  const { media: _, ...rest } = item
  return { ...rest, text: edit.text }
}

/** Whether anything in a turn may have to be shortened; most turns are small and need no more than this. */
function needsLook(context: PrepareContext, { fresh, others }: ResultTurn): boolean {
  const { deps, conversation, limit } = context
  const { budget } = deps.policy.intake
  const count = tokensOf(context)
  const { maxTokens } = sizesOf(deps.policy.intake, limit.tokens)
  let sum = others.reduce((tokens, item) => tokens + count(item), 0)
  for (const { index } of fresh) {
    const item = conversation.items[index]!
    const tokens = count(item)
    if (tokens > maxTokens || isLarge(deps.policy, item.text)) return true
    sum += tokens
  }
  if (budget === undefined) return false
  const { turnShare = Infinity, turnTokens = Infinity, sessionTokens, tools, withinWindow } = budget
  if (sessionTokens !== undefined || tools !== undefined || withinWindow === true) return fresh.length > 0
  return sum > Math.min(turnTokens, turnShare * limit.tokens)
}

/**
 * What a result takes of a budget: its text alone, as views are counted, so that a result weighs the same on the day it is first sent and
 * on every later one. Pictures beside it count as well.
 */
const budgetCounter = (context: PrepareContext): ((item: Item) => number) => {
  const count = tokensOf(context)
  const countText = textTokensOf(context)
  return (item) =>
    Math.ceil(countedFor(context.deps.policy, item.text, item.media === undefined ? countText(item.text) : count(item)))
}

/** Tokens of the view without the results of these turns. */
function tokensWithout(context: PrepareContext, standing: Standing, turns: readonly ResultTurn[]): number {
  const { deps, conversation, links } = context
  const count = tokensOf(context)
  const own = new Set(
    turns.flatMap(({ fresh, others }) => [
      ...fresh.map(({ index }) => conversation.items[index]!.id),
      ...others.map(({ id }) => id),
    ]),
  )
  const edits = new Map(
    standingPlan(standing, conversation.items, links).flatMap((edit) =>
      edit.op === 'insert' ? [] : [[edit.id, edit]],
    ),
  )
  let sum = fixedCountOf(context).high
  for (const item of conversation.items) {
    const edit = edits.get(item.id)
    if (own.has(item.id) || edit?.op === 'drop') continue
    const shown = edit?.op === 'replace' ? { ...item, text: edit.text } : item
    sum += countedFor(deps.policy, shown.text, count(shown))
  }
  return sum
}

function editOf(
  { deps, branch, conversation, limit }: PrepareContext,
  link: Link,
  draft: ResultDraft,
  grant: BudgetGrant,
): NewEdit | undefined {
  const { text: original } = conversation.items[link.index]!
  if (draft.isWhole(grant)) return undefined
  const { derived } = draft
  const record: NewEdit['record'] = {
    v: RECORD_VERSION,
    at: deps.clock.now(),
    agent: branch.agent,
    type: 'edit',
    key: keyOf(conversation.items, link),
    text: grant.text,
    reason: grant.reason ?? 'larger than one result may be',
    handle: derived?.handles[0] ?? deps.addressOf(branch.tenant, Buffer.from(original)),
    cause: grant.isWindow === true ? 'window' : undefined,
    limit: grant.isWindow === true ? limit.tokens : undefined,
  }
  return {
    index: link.index,
    record,
    original,
    about: derived === undefined ? draft.presented(grant).about : undefined,
  }
}

/** No new item is shown with fewer tokens. */
const FLOOR_TOKENS = 40
/** The plan adds up upper bounds; each try asks for a little more. */
const TRIES = [1, 1.5, 3]
/** Room for what is counted by the request and not by the item. */
const SLACK_TOKENS = 32

/**
 * The last way before an error: where another rewrite of sent bytes would be one too many in a row, what is new is shown as preview
 * or line + handle before its first send; what intake has just made a preview of, as a shorter one. Undefined when that is not enough.
 */
export async function squeezeNew(
  context: PrepareContext,
  standing: Standing,
  before: View,
  intake: readonly NewEdit[],
): Promise<{ readonly edits: readonly NewEdit[]; readonly standing: Standing; readonly view: View } | undefined> {
  const { deps, branch, limit, links, conversation } = context
  const fresh = await neverSent(context, standing, new Set(intake.map(({ index }) => index)))
  if (fresh.size === 0) return undefined
  const draft = draftOf(context, standing)
  const pause = yieldNow()
  await countItems(draft, pause)
  const sparing = { gone: (index: number): boolean => !fresh.has(index), shown: new Map<number, string>() }
  const excess = Math.max(0, before.load.count.high - limit.tokens) + SLACK_TOKENS
  for (const times of TRIES) {
    await pause()
    // What people wrote is not cut for the margin of an unknown model.
    const options = { floorTokens: FLOOR_TOKENS, spareWords: !isOver(before.estimate, limit) }
    const proposal = await squeeze(draft, excess * times, sparing, options)
    const made = proposal.edits.flatMap((edit): NewEdit[] => {
      if (edit.op !== 'replace' || edit.handle === undefined) return []
      const link = links[edit.at]!
      const { text, reason, handle } = edit
      const key = placedKeyOf(conversation.items, link)
      const at = deps.clock.now()
      const record = { v: RECORD_VERSION, at, agent: branch.agent, type: 'edit', key, text, reason, handle } as const
      return [{ index: link.index, record, original: conversation.items[link.index]!.text }]
    })
    const firstSend = new Map([...standing.firstSend, ...made.map(({ index, record }) => [index, record] as const)])
    const next: Standing = { ...standing, firstSend }
    const view = viewOf(context, next)
    if (isOver(view.load, limit) && (times !== TRIES.at(-1) || isOver(view.estimate, limit))) continue
    await storeTexts(deps, branch, ownTexts(context, proposal))
    const again = new Set(made.map(({ index }) => index))
    return { edits: [...intake.filter(({ index }) => !again.has(index)), ...made], standing: next, view }
  }
  return undefined
}

/** Indexes of items that no request has shown yet; what left whole once may only be touched by an epoch. */
async function neverSent(
  { deps, branch, links }: PrepareContext,
  { firstSend }: Standing,
  justShown: ReadonlySet<number>,
): Promise<ReadonlySet<number>> {
  const fresh = links.filter(
    ({ chain, index }) => !wasSent(branch, chain) && (justShown.has(index) || !firstSend.has(index)),
  )
  const seen = await deps.sessions.seen(
    branch.tenant,
    fresh.map((link) => link.identity),
    { session: branch.session },
  )
  return new Set(fresh.filter((link) => !seen.has(link.identity)).map((link) => link.index))
}
