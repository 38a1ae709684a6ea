import type { Link } from '../../core/chain.ts'
import type { Handle } from '../../core/handles.ts'
import type { Item } from '../../core/item.ts'
import type { ToolBudgetRule } from '../../core/policy.ts'
import { RECORD_VERSION, type FirstSendEdit } from '../../core/records.ts'
import type { PrepareContext, Standing, NewEdit, Resolved, TakenIn } from '../prepare/context.ts'
import { fixedTokensOf, textTokensOf, tokensOf } from '../prepare/counting.ts'
import {
  isLarge,
  budgetOf,
  countedFor,
  draftResult,
  sizesOf,
  type ResultDraft,
  type ResultScale,
} from './result-forms.ts'
import { keyOf, standingPlan } from '../prepare/standing.ts'
import {
  NOTHING_USED,
  type BudgetGrant,
  type BudgetSnapshot,
  type ResultForms,
  type ToolBudget,
} from './tool-budget.ts'
import { wasSent } from '../session/branch.ts'
import { storedText } from '../epoch/cascade/draft.ts'
import { storeTexts } from '../session/log.ts'
import { keepAlive } from '../store-admin/retention.ts'

/** Shortens new results that are too large. Their exact bytes are stored before any view mentions them. */
export async function takeIn(resolved: Resolved): Promise<TakenIn> {
  const { context, found } = resolved
  const { deps, branch, conversation } = context
  const edits = await newFirstSendEdits(context, found)
  if (edits.length === 0) {
    if (found.epoch !== undefined || found.firstSend.size > 0) await keepAlive(deps, branch, found)
    return { ...resolved, standing: found, edits }
  }
  const originals = edits.flatMap(({ index, about }) =>
    about === undefined ? [] : [{ ...storedText(conversation.items[index]!), about }],
  )
  await storeTexts(deps, branch, originals)
  const added = edits.map(({ index, record }) => [index, record] as const)
  const standing = { ...found, firstSend: new Map([...found.firstSend, ...added]) }
  await keepAlive(deps, branch, standing)
  return { ...resolved, standing, edits, seen: undefined }
}

/**
 * Results too large for the window, or for what their turn has left, are shown as preview + handle before they are sent for the first
 * time. Everything is told from the transcript and the edits that stand: every process decides the same.
 */
function newFirstSendEdits(
  context: PrepareContext,
  standing: Standing,
): readonly NewEdit[] | Promise<readonly NewEdit[]> {
  const { branch, conversation, links, known } = context
  const fresh = links.slice(known.links).filter(({ index, chain }) => {
    const item = conversation.items[index]!
    return mayShorten(item) && !standing.firstSend.has(index) && !wasSent(branch, chain)
  })
  if (fresh.length === 0) return []
  const all = turnsIn(context, standing, fresh)
  const suspects = all.filter((turn) => needsLook(context, turn))
  return suspects.length === 0 ? [] : shortened(context, standing, all, suspects)
}

async function shortened(
  context: PrepareContext,
  standing: Standing,
  all: readonly ResultTurn[],
  suspects: readonly ResultTurn[],
): Promise<readonly NewEdit[]> {
  const { deps, branch, conversation } = context
  // What left whole once may only be touched by an epoch. Only results that may have to be shortened need the question.
  const sent = await deps.sessions.seen(
    branch.tenant,
    suspects.flatMap((turn) => turn.fresh.map((link) => link.identity)),
  )
  const turns = hasSessionLimit(deps.policy.intake.budget ?? {}) ? all : suspects
  const { scale, budget, reserve } = openBudget(context, standing, turns)
  const edits: NewEdit[] = []
  for (const turn of turns) {
    const old = turn.fresh.filter(({ identity }) => sent.has(identity))
    const open = turn.fresh.filter(({ identity }) => !sent.has(identity))
    await budget.nextTurn()
    await reserve([...turn.others, ...old.map(({ index }) => conversation.items[index]!)])
    const drafts = open.map((link) => draftOf(context, scale, link))
    const grants = await budget.reserveBatch(drafts.map(({ forms }) => forms))
    for (const [i, link] of open.entries()) {
      const edit = editOf(context, link, drafts[i]!, grants[i]!)
      if (edit !== undefined) edits.push(edit)
    }
  }
  return edits
}

const mayShorten = (item: Item): boolean => item.kind === 'result' && item.sealed !== true

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

interface OpenBudget {
  readonly scale: ResultScale
  readonly budget: ToolBudget
  /** Counts what is shown already. */
  reserve(items: readonly Item[]): Promise<void>
}

function openBudget(context: PrepareContext, standing: Standing, turns: readonly ResultTurn[]): OpenBudget {
  const { deps, limit, readers } = context
  const countText = textTokensOf(context)
  const scale: ResultScale = {
    limitTokens: limit.tokens,
    countTokens: (text) => countedFor(deps.policy, text, countText(text)),
    readers,
  }
  let taken = 0
  const base = deps.policy.intake.budget?.withinWindow === true ? tokensWithout(context, standing, turns) : 0
  const budget = budgetOf(deps.policy, scale, NOTHING_USED, () => limit.tokens - base - taken)
  const count = budgetCounter(context)
  return {
    scale,
    budget: {
      ...budget,
      // The window does not empty between turns.
      nextTurn: async () => {
        taken += budget.snapshot().turn?.all ?? 0
        await budget.nextTurn()
      },
    },
    reserve: async (items) => {
      for (const item of items) await budget.reserve({ ...formsOf(item), fullTokens: count(item), always: true })
    },
  }
}

const counterOf = (context: PrepareContext): ((item: Item) => number) => {
  const count = tokensOf(context)
  return (item) => countedFor(context.deps.policy, item.text, count(item))
}

/**
 * What a result takes of a budget: its text alone, as views are counted, so that a result weighs the same on the day it is first sent and
 * on every later one. Pictures beside it count as well.
 */
const budgetCounter = (context: PrepareContext): ((item: Item) => number) => {
  const count = counterOf(context)
  const countText = textTokensOf(context)
  return (item) =>
    item.media === undefined
      ? Math.ceil(countedFor(context.deps.policy, item.text, countText(item.text)))
      : Math.ceil(count(item))
}

const formsOf = ({ callId = '', toolName = 'tool', text }: Item): ResultForms => ({
  callId,
  tool: toolName,
  full: text,
})

/** Tokens of the view without the results of these turns. */
function tokensWithout(context: PrepareContext, standing: Standing, turns: readonly ResultTurn[]): number {
  const { conversation, links } = context
  const count = counterOf(context)
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
  let sum = fixedTokensOf(context)
  for (const item of conversation.items) {
    const edit = edits.get(item.id)
    if (own.has(item.id) || edit?.op === 'drop') continue
    sum += count(edit?.op === 'replace' ? { ...item, text: edit.text } : item)
  }
  return sum
}

function draftOf(context: PrepareContext, scale: ResultScale, { index }: Link): ResultDraft {
  const { deps, branch, conversation } = context
  const item = conversation.items[index]!
  let handle: Handle | undefined
  return draftResult(deps, branch, scale, {
    callId: item.callId ?? String(index),
    text: item.text,
    tokens: counterOf(context)(item),
    budgetTokens: budgetCounter(context)(item),
    handle: () => (handle ??= deps.addressOf(branch.tenant, Buffer.from(item.text))),
    ...(item.toolName !== undefined && { tool: item.toolName }),
  })
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
  const record: FirstSendEdit = {
    v: RECORD_VERSION,
    at: deps.clock.now(),
    agent: branch.agent,
    type: 'edit',
    key: keyOf(conversation.items, link),
    text: grant.text,
    reason: grant.reason ?? 'larger than one result may be',
    handle: derived?.handles[0] ?? deps.addressOf(branch.tenant, Buffer.from(original)),
    ...(grant.isWindow === true && { cause: 'window', limit: limit.tokens }),
  }
  return {
    index: link.index,
    record,
    original,
    ...(derived === undefined && { about: draft.presented(grant).about }),
  }
}
