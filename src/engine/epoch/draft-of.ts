import type { Link } from '../../core/chain.ts'
import type { Handle } from '../../core/handles.ts'
import type { Item } from '../../core/item.ts'
import { newestUserIndex, openStepStart, turnsOf, type Turns } from '../../core/turns.ts'
import type { PresentOptions } from '../deps.ts'
import type { PrepareContext, Standing } from '../prepare/context.ts'
import { fixedCountOf, missedOf, textTokensOf, tokensOf } from '../prepare/counting.ts'
import { derivedFrom } from '../tool-results/derived.ts'
import { keptTokens, linkPlaces, shownOf, type Draft } from './cascade/draft.ts'
import { bytesAfter } from './cascade/plan-epoch.ts'
import { lowWater, planRoom } from './thresholds.ts'
import type { Pause } from '../../util/yield-now.ts'

/** The request as plans see it, with the numbers to reach. `preserve`: identities that stay in view like pins, this time. */
export function draftOf(context: PrepareContext, standing: Standing, preserve: ReadonlySet<string> = new Set()): Draft {
  const { deps, branch, conversation, links, limit, gauge } = context
  const estimate = deps.meter.design?.estimate
  // First-send edits stay: the draft sees those items as the model did.
  const items = conversation.items.map((item, index) => {
    const edit = standing.firstSend.get(index)
    // Whatever a plan writes, it writes from this: summaries, previews and what their handles open.
    // A fold takes out what was said; what was recalled beside it goes with it.
    if (edit === undefined || edit.cause === 'recall')
      return deps.redact === undefined ? item : { ...item, text: deps.redact(item.text) }
    const { media: _, ...rest } = item
    return { ...rest, text: edit.text, edited: true as const }
  })
  const origins = originsOf(context, standing)
  const fixed = fixedCountOf(context)
  // Likely tokens, without any margin.
  const missed = missedOf(context)
  const likelyCounts: Counts = {
    tokensOf: (item) => deps.meter.countItem(gauge, item).tokens + missed(item),
    countText: (text) => deps.meter.countText(gauge, text).tokens,
  }
  const likely = deps.policy.water.lowBy === 'tokens' ? { ...once(likelyCounts), fixedTokens: fixed.tokens } : undefined
  const turns = turnsOf(items)
  const { keep, pinned, openFrom } = protectedItems(items, links, turns, new Set([...branch.log.pins, ...preserve]))
  const bound = {
    ...once({ tokensOf: tokensOf(context), countText: textTokensOf(context) }),
    fixedTokens: fixed.high,
  }
  const counts = likely ?? bound
  const dumps = new Map<number, number>()
  for (const index of keep) {
    const tokens = items[index]!.kind === 'user' ? bound.tokensOf(items[index]!) : 0
    const shown = shownOf(tokens, limit.tokens - fixed.high)
    if (shown < tokens) dumps.set(index, shown / tokens)
  }
  const kept = keptTokens({ items, keep, openFrom, dumps, ...counts })
  const open = items.slice(openFrom).reduce((sum, item) => sum + counts.tokensOf(item), 0)
  const room = planRoom(deps.policy, limit, kept + open)
  return {
    items,
    links,
    places: linkPlaces({ items, links }),
    turns,
    keep,
    dumps,
    pinned,
    openFrom,
    ...bound,
    missedOf: missed,
    limitTokens: room,
    windowTokens: limit.window,
    estimate: estimate && ((left) => estimate({ ...conversation, items: left }, context.target.model)),
    lowTokens: lowWater(deps.policy, { ...limit, tokens: room }, counts.fixedTokens, kept),
    likely,
    bytes: bytesAfter(Buffer.byteLength(context.text), conversation.items, standing.firstSend),
    limitBytes: limit.bytes,
    handleOf: (content) =>
      typeof content === 'string'
        ? (origins(content)?.handle ?? deps.addressOf(branch.tenant, Buffer.from(content)))
        : deps.addressOf(branch.tenant, content),
    presentLong: async (text, options) =>
      origins(text)?.present(options) ?? (await (deps.presentLong ?? deps.present)(text, options)).text,
    readers: context.epochReaders(),
    hasTools: conversation.tools.length > 0 || conversation.items.some(({ kind }) => kind === 'call'),
    describeResult: deps.describeResult,
    isAgain: standing.epoch !== undefined,
    hasModel: deps.summarizer !== undefined || context.send !== undefined,
    asksInBand: deps.policy.summaries?.via === 'in-band' && context.send !== undefined,
  }
}

type Counts = Pick<Draft, 'tokensOf' | 'countText'>

/** A plan asks for the size of every item and of every short text many times over. */
function once({ tokensOf, countText }: Counts): Counts {
  const known = new Map<Item | string, number>()
  const count = <T extends Item | string>(of: T, size: (of: T) => number): number => {
    const tokens = known.get(of) ?? size(of)
    known.set(of, tokens)
    return tokens
  }
  return {
    tokensOf: (item) => count(item, tokensOf),
    countText: (text) => (text.length > SHORT_CHARACTERS ? countText(text) : count(text, countText)),
  }
}

/** Longer texts are mostly records that are being written, each of them once. */
const SHORT_CHARACTERS = 2_000

/** Items between two looks at the clock. */
const PAUSE_EVERY = 256

/** Counts what a plan will ask for, a part at a time: of a long history a single step would count all of it at once. */
export async function countItems({ items, tokensOf, likely }: Draft, pause: Pause): Promise<void> {
  for (const [index, item] of items.entries()) {
    tokensOf(item)
    likely?.tokensOf(item)
    if (index % PAUSE_EVERY === 0) await pause()
  }
}

/** What a text of the draft was made from, when it is a view or a reader's answer. */
interface TextOrigin {
  readonly handle: Handle
  present(options: PresentOptions): string
}

/** A view that is shortened once more points at the whole and is made from it where it is at hand; never a handle of a handle. */
function originsOf(context: PrepareContext, { firstSend }: Standing): (text: string) => TextOrigin | undefined {
  const { deps, branch, conversation } = context
  const known = new Map<string, TextOrigin | undefined>()
  for (const [index, { text, handle }] of firstSend) {
    if (handle === undefined) continue
    const original = conversation.items[index]!.text
    const derived = derivedFrom(deps, branch, original)
    known.set(text, {
      handle,
      present: (options) =>
        derived?.shorten(options.budgetTokens, options.countTokens) ??
        deps.present(deps.redact?.(original) ?? original, { ...options, handle }).text,
    })
  }
  return (text) => {
    if (known.has(text)) return known.get(text)
    const derived = derivedFrom(deps, branch, text)
    const origin: TextOrigin | undefined = derived && {
      handle: derived.handles[0]!,
      present: ({ budgetTokens, countTokens }) => derived.shorten(budgetTokens, countTokens),
    }
    known.set(text, origin)
    return origin
  }
}

/** Longer answers than this are not kept for the sake of the question that they end with. */
const QUESTION_CHARACTERS = 2_000

/**
 * The task (first user message), the newest user message with the question that it answers, the open tool step, pending
 * calls of the newest step, pins, and instructions that stand inside the history.
 */
function protectedItems(
  items: readonly Item[],
  links: readonly Link[],
  turns: Turns,
  pins: ReadonlySet<string>,
): Pick<Draft, 'keep' | 'pinned' | 'openFrom'> {
  const chained = new Set(links.map((link) => link.index))
  const openFrom = openStepStart(items, turns)
  const keep = new Set<number>()
  const task = items.findIndex((item, index) => item.kind === 'user' && chained.has(index))
  if (task >= 0) keepMessage(items, task, keep)
  const newest = newestUserIndex(items, (_, index) => !chained.has(index))
  if (newest >= 0) {
    keepMessage(items, newest, keep)
    const before = items[newest - 1]
    if (before?.kind === 'assistant' && before.text.length <= QUESTION_CHARACTERS) keep.add(newest - 1)
  }
  // The provider's own compaction is all that it knows of what stood before.
  const compaction = items.findLastIndex(({ standsForPrefix }) => standsForPrefix === true)
  const pinned = new Set([
    ...items.flatMap(({ kind }, index) => (kind === 'instruction' || index === compaction ? [index] : [])),
    ...links.filter(({ identity }) => pins.has(identity)).map(({ index }) => index),
  ])
  for (let index = openFrom; index < items.length; index++) keep.add(index)
  return { keep: new Set([...keep, ...pinned]), pinned, openFrom }
}

/** Pictures and documents beside a user's words belong to them; results in the same message do not. */
function keepMessage(items: readonly Item[], index: number, keep: Set<number>): void {
  const { message } = items[index]!
  const isOther = (item: Item): boolean => item.message !== message
  const end = items.findIndex((item, i) => i > index && isOther(item))
  const from = items.findLastIndex((item, i) => i < index && isOther(item)) + 1
  for (let i = from; i < (end < 0 ? items.length : end); i++) {
    const { role, kind } = items[i]!
    if (role === 'user' && (kind === 'user' || kind === 'media')) keep.add(i)
  }
}
