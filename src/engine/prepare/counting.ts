import type { Conversation } from '../../core/conversation.ts'
import { type Count, isChained } from '../../core/count.ts'
import { type Item, mediaBytes } from '../../core/item.ts'
import type { Load, Limit, Target } from '../../core/target.ts'
import {
  occupancy,
  occupancyByDifference,
  occupancyOfChained,
  type Anchor,
  type Measurement,
  type Occupancy,
  LONG_TEXT,
  textPieces,
  type TargetRef,
} from '../../meter/index.ts'
import type { Measured } from '../learning/calibrations.ts'
import { declared } from '../readers/offered-tools.ts'
import type { CountedLoad, PrepareContext, View, Weighing } from './context.ts'
import type { Suspect } from '../learning/item-sizes.ts'
import type { OpenTurn } from '../session/branch.ts'
import { issuerKey } from '../session/branch-log.ts'
import { modelName } from '../../core/model-name.ts'
import { nextRound } from '../../util/yield-now.ts'
import type { EngineDeps } from '../deps.ts'
import type { ModelRule } from '../../core/policy.ts'

/** The last measured call on the same model. */
interface Past {
  readonly last?: Measured
  /** Where a whole request has a difference to it: counts of two kinds, and a request that brought only what was new, have none. */
  readonly whole?: Measured
}

function pastOf({ branch, target, gauge }: Weighing): Past {
  const last = branch.log.measuredOn.get(issuerKey(target))
  if (last === undefined) return {}
  const isAlike = last.chained !== true && (last.exact === true) === (gauge.estimated !== true)
  return { last, whole: isAlike ? last : undefined }
}

/** The last measured call, if this transcript continues from it under the same epoch. Looked for from the end: it is the last request's. */
const anchorIn = ({ last }: Past, { links }: PrepareContext, epoch: string | undefined): Anchor | undefined =>
  last?.epoch === epoch && links.findLast(({ chain }) => chain === last?.chain) ? last : undefined

/** From the last measured call: what came since it where nothing was rewritten, else what differs from it. */
function occupancyFrom(
  context: PrepareContext,
  conversation: Conversation,
  measurement: Measurement,
  { last, whole }: Past,
  anchor?: Anchor,
  epoch?: string,
): Occupancy {
  const { deps, branch, gauge } = context
  const { head, tools } = measurement.parts
  const base = isChained(conversation.settings) ? last : anchor
  const isComparable = base === undefined || (base.exact === true) === (gauge.estimated !== true)
  // Where instructions and tools were counted in another way then, their numbers do not tell whether they changed.
  const comparable = isComparable ? base : { ...base, standing: head + tools }
  if (isChained(conversation.settings))
    return occupancyOfChained(deps.meter, gauge, conversation, measurement, comparable)
  const grown = occupancy(deps.meter, gauge, conversation, measurement, comparable, epoch)
  const { items } = conversation
  // What was measured holds what we missed in it.
  if (grown.measured !== undefined) return withMore(grown, missedIn(context, items.slice(grown.measuredItems)))
  const once = whole && { ...whole, prompt: whole.prompt - branch.sizes.inLast }
  const differs = occupancyByDifference(deps.meter, gauge, conversation, measurement, once)
  return withMore(differs, missedIn(context, items))
}

export function occupancyOf(
  context: PrepareContext,
  conversation: Conversation,
  measurement: Measurement,
  epoch: string | undefined,
): Occupancy {
  const past = pastOf(context)
  return occupancyFrom(context, conversation, measurement, past, anchorIn(past, context, epoch), epoch)
}

/** What is known of a view's load, and the same with the margin of an unknown model: a guess may cost a reduction, not the request. */
export function loadsOf(
  context: PrepareContext,
  conversation: Conversation,
  measurement: Measurement,
  epoch: string | undefined,
): Pick<View, 'estimate' | 'load'> {
  const { deps, target, gauge } = context
  const { design } = deps.meter
  const past = pastOf(context)
  const anchor = anchorIn(past, context, epoch)
  const counted = occupancyFrom(context, conversation, measurement, past, anchor, epoch)
  const input = { target, gauge, conversation, measurement, occupancy: counted, last: past.whole, anchor }
  const load = design?.load(input) ?? counted
  // A design has numbers of its own, from the provider's count of the same prompt.
  const more = design === undefined ? 0 : missedIn(context, conversation.items.slice(counted.measuredItems ?? 0))
  return {
    estimate: withMore(design?.certain(input) ?? load, more),
    load: withMore(loadWithMargin(load, conversation, marginFor(context)), more),
  }
}

/** Tokens that an item holds beyond its count, by what the provider said. */
export const missedOf = ({ branch, links }: PrepareContext): ((item: Item) => number) =>
  branch.sizes.within(links) ?? (() => 0)

function missedIn(context: PrepareContext, items: readonly Item[]): number {
  const missed = context.branch.sizes.within(context.links)
  return missed === undefined ? 0 : items.reduce((sum, item) => sum + missed(item), 0)
}

const withMore = <T extends Load>(load: T, more: number): T =>
  more === 0
    ? load
    : { ...load, count: { ...load.count, tokens: load.count.tokens + more, high: load.count.high + more } }

/**
 * Items of a view that no call has measured, with the links that say whose they are: those behind the last measured call, and what we inserted since.
 * All of them where there are none.
 */
function unmeasuredIn(context: PrepareContext, { conversation }: View, epoch: string | undefined): Suspect[] {
  const { deps, gauge, links, conversation: asked } = context
  const { last } = pastOf(context)
  const measured = links.findLastIndex(({ chain }) => chain === last?.chain) + 1
  const suspectsFrom = (from: number, isOursNew: boolean): Suspect[] => {
    const chains = new Map(links.slice(from).map(({ index, chain }) => [asked.items[index]!.id, chain]))
    return conversation.items.flatMap((item): Suspect[] => {
      const isOurs = item.message < 0 && item.edited !== true
      const chain = isOurs && isOursNew ? links[0]?.chain : chains.get(item.id)
      if (chain === undefined || item.edited === true) return []
      return [{ item, chain, count: deps.meter.countItem(gauge, item, conversation.format) }]
    })
  }
  const fresh = suspectsFrom(measured, last?.epoch !== epoch)
  return fresh.length > 0 ? fresh : suspectsFrom(0, true)
}

/** A tokenizer that is this much heavier than we count is another one; more than that is in something that we do not see. */
const MOST_HEAVIER = 2

/** One refused prompt is as long as the window: it says as much as several answers, and a second one should not be needed. */
const REFUSAL_WEIGHT = 5
/** Behind a compaction the text is of another make. */
const REFUSAL_MARGIN = 0.05

/**
 * What a refusal said is laid on the items of the refused view. Where no answer ever said how the model counts, and nothing odd is in view, the refusal
 * is the first to say it: of all text.
 */
export function settleRefusal(context: PrepareContext, view: View, epoch: string | undefined): void {
  const { branch, deps, gauge } = context
  const { calibration } = branch.log
  const { estimate, measurement } = view
  branch.sizes.settle(unmeasuredIn(context, view, epoch), (excess) => {
    const real = estimate.count.tokens + excess
    const isKnown = pastOf(context).last !== undefined
    if (isKnown || calibration === undefined || real > MOST_HEAVIER * estimate.count.tokens) return false
    // Before it was refused the request may have been counted exactly, and will be again.
    for (const estimated of [true, false])
      calibration.observe({
        target: { ...gauge, estimated },
        estimated: measurement.byClass,
        real: real * (1 + REFUSAL_MARGIN),
        at: deps.clock.now(),
        weight: REFUSAL_WEIGHT,
      })
    return true
  })
}

/** What the usage of a request may tell about the size of its items: files that show none, and what a refusal spoke of. */
export function suspectsIn(
  context: PrepareContext,
  view: View,
  epoch: string | undefined,
): Pick<OpenTurn, 'suspects' | 'missed'> {
  const { items } = view.conversation
  const missed = missedIn(context, items)
  const isOpen = (item: Item): boolean => {
    const isMeasured = context.branch.sizes.isMeasured(item)
    return isMeasured === undefined ? item.media !== undefined && item.sealed !== true : !isMeasured
  }
  if (isChained(context.conversation.settings) || !items.some(isOpen)) return { suspects: [], missed }
  const suspects = unmeasuredIn(context, view, epoch).filter(
    ({ item, count }) => isOpen(item) && (item.media === undefined || (count.unsure ?? 0) > 0),
  )
  return { suspects, missed }
}

/** Tokens outside the history, likely and at most. */
export function fixedCountOf(context: PrepareContext): Count {
  const { deps, gauge, conversation } = context
  const bare = { ...declared(conversation, context.offer.withEpoch), items: [] }
  const measurement = deps.meter.measure(gauge, bare, 0)
  const { count } = measurement
  const past = pastOf(context)
  const factor = deps.meter.design?.factor(past.whole)
  const load =
    factor === undefined
      ? occupancyFrom(context, bare, measurement, past)
      : { ...measurement, count: { ...count, high: count.high * factor } }
  return loadWithMargin(load, bare, marginFor(context)).count
}

/** Upper bound of an item's tokens on the request's model. A picture has no text to be careful about. */
export const tokensOf = (context: PrepareContext): ((item: Item) => number) => {
  const { deps, gauge } = context
  const factor = deps.meter.design?.factor(pastOf(context).whole) ?? 1
  const margin = marginFor(context)
  const missed = missedOf(context)
  return (item) => {
    const high = deps.meter.countItem(gauge, item).high * factor + missed(item)
    if (item.media === undefined) return worst(high, Buffer.byteLength(item.text), margin.text)
    return high * Math.max(margin.media, item.text === '' ? 1 : margin.text)
  }
}

/** The same of a text. */
export const textTokensOf = (context: Weighing): ((text: string) => number) => {
  const { deps, gauge } = context
  const factor = deps.meter.design?.factor(pastOf(context).whole) ?? 1
  const margin = marginFor(context)
  return (text) => worst(deps.meter.countText(gauge, text).high * factor, Buffer.byteLength(text), margin.text)
}

/** Four bytes to a token is what designs without a tokenizer assume; the fitted estimate is lower on repetitive text. */
const BYTES_PER_TOKEN = 4

/** Where our estimate is not fitted to a tokenizer, what one kind of text showed of it may be off by this much on another. */
const MEASURED_MARGIN = 1.8

/** A request without the margin of an unknown model: what a design decides, it decides by what was counted. */
export const asCounted = <C extends Weighing>(context: C): C => ({
  ...context,
  deps: { ...context.deps, policy: { ...context.deps.policy, caution: 1 } },
})

/** How much more than estimated the parts of a request may be; 1 means that the estimate stands. */
interface UnknownModelMargin {
  readonly text: number
  readonly media: number
}

/**
 * On a model that no catalogue knows and that was not measured yet: some tokenizers make more than twice as many tokens, and the rule by
 * which it counts pictures is unknown. Reported usage makes the margin smaller for text and ends it for pictures.
 */
function marginFor({ deps, branch, target, gauge }: Weighing): UnknownModelMargin {
  const { caution = 1 } = deps.policy
  if (caution === 1 || deps.catalogue.resolve(target.model).match !== 'default') return { text: 1, media: 1 }
  // Small prompts say little about a tokenizer: the margin fades with what was seen, as far as it does, with one whole sample.
  const learned = branch.log.calibration?.predict(gauge, {})
  const text = Math.max(MEASURED_MARGIN, caution ** (1 - (learned?.evidence ?? 0)))
  return { text, media: learned?.media === undefined ? caution : 1 }
}

/** The margin is about what was only estimated: the part that the provider measured stands as it is. */
function loadWithMargin(
  load: CountedLoad,
  { items, settings }: Pick<Conversation, 'items' | 'settings'>,
  margin: UnknownModelMargin,
): Load {
  if (margin.text === 1 && margin.media === 1) return load
  const { measured, measuredItems = 0, mediaHigh = 0, count, bytes } = load
  // What a client wrote beyond any name of a model is sent, and no part of the prompt.
  const { model = '' } = settings
  const nameBytes = Buffer.byteLength(model) - Buffer.byteLength(modelName(model))
  const guessed =
    measured === undefined
      ? bytes - nameBytes - items.reduce((sum, item) => sum + mediaBytes(item), 0)
      : items.slice(measuredItems).reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  const known = measured ?? 0
  const words = Math.max(0, count.high - known - mediaHigh)
  return {
    ...load,
    count: { ...count, high: known + worst(words, guessed, margin.text) + mediaHigh * margin.media },
  }
}

const worst = (high: number, bytes: number, margin: number): number =>
  margin === 1 ? high : Math.max(high, bytes / BYTES_PER_TOKEN) * margin

/** Characters that are counted in a few milliseconds, and what a further item costs beside its text. */
export const SLICE_CHARACTERS = 256 * 1024
const ITEM_CHARACTERS = 128

/**
 * Counts what is new and large about a request before anything asks for its load, a part at a time, so that other requests get their turn: the
 * meter remembers each part and the question is answered at once.
 */
export async function countAhead(
  { meter }: Pick<EngineDeps, 'meter'>,
  gauge: TargetRef,
  conversation: Conversation,
  known: number,
): Promise<void> {
  const { items } = conversation
  let waiting = 0
  let counted = known
  for (let at = known; at < items.length; at++) {
    const { text } = items[at]!
    waiting += ITEM_CHARACTERS + Math.min(text.length, LONG_TEXT)
    if (waiting > SLICE_CHARACTERS) {
      meter.measureItems(gauge, items.slice(counted, at), conversation.format)
      await nextRound()
      waiting = 0
      counted = at
    }
    if (text.length <= LONG_TEXT) continue
    for (const piece of textPieces(text)) {
      meter.countText(gauge, piece)
      await nextRound()
    }
  }
}

/** What fits. A policy that holds back a share of the window first has to know the window. */
export function limitFor(
  deps: Pick<EngineDeps, 'meter' | 'policy' | 'codecs' | 'catalogue'>,
  given: Target,
  { format, settings }: Pick<Conversation, 'format' | 'settings'>,
  needed = 0,
): Limit {
  const { meter, policy, codecs } = deps
  const { reserve = 'request', defaultWindow, models = [], stop } = policy
  const { model, provider } = given
  const providers = new Set(models.flatMap((rule) => rule.provider ?? []))
  const fitting = models.filter(
    (rule) =>
      (rule.model === undefined || rule.model === model) &&
      // A target without a provider is known by a model that a rule names, or has the only provider that there are rules for.
      (rule.provider === undefined ||
        rule.provider === provider ||
        (provider === undefined && (rule.model === model || providers.size === 1))),
  )
  // The last rule decides each number.
  const rule: ModelRule = Object.assign({}, ...fitting)
  const { bufferTokens } = rule
  const buffer = bufferTokens === undefined ? policy.buffer : { fraction: 0, min: bufferTokens, max: bufferTokens }
  const set = given.window ?? rule.window
  let target: Target = {
    ...given,
    // A server gives a request the window that it asks for; a smaller one that was set holds.
    window: settings.window === undefined ? set : Math.min(settings.window, set ?? settings.window),
    maxOutputTokens: given.maxOutputTokens ?? rule.maxOutputTokens,
  }
  const bare = (): Limit => meter.limitOf(target, { ...settings, maxOutputTokens: 0 }, buffer)
  if (defaultWindow !== undefined && target.window === undefined && bare().source === 'default')
    target = { ...target, window: defaultWindow }
  let asked = settings
  if (reserve === 'request') {
    const maxOutputTokens = heldForAnswer(deps, { format, settings }, target, bare().window, needed)
    asked = { ...settings, maxOutputTokens }
  } else if (reserve === 'quarter') {
    const quarter = (): number => Math.floor(bare().window / 4)
    asked = { ...settings, maxOutputTokens: settings.maxOutputTokens ?? target.maxOutputTokens ?? quarter() }
  } else {
    // What the policy holds back stands in the place of the request's own reserve.
    const { maxOutputTokens = 0 } = settings
    const own = codecs.get(format)?.traits.windowHoldsAnswer === true ? maxOutputTokens : 0
    const held = reserve === 'wire' ? own : Math.max(own, Math.floor(bare().window * reserve))
    asked = { ...settings, maxOutputTokens: held }
  }
  const limit = meter.limitOf(target, asked, buffer)
  return stop === undefined ? limit : { ...limit, tokens: Math.min(limit.tokens, Math.floor(limit.window * stop)) }
}

export const isOver = (load: Load, limit: Limit): boolean => load.count.high > limit.tokens || load.bytes > limit.bytes

/**
 * Whether it does not fit by the least that it may be. What only may be too large, although everything that may be reduced was, is the
 * provider's to decide, and an overflow is recovered.
 */
export const isCertainlyOver = ({ count, bytes }: Load, limit: Limit): boolean =>
  count.low > limit.tokens || bytes > limit.bytes

/**
 * The output cap with which a request leaves: what its prompt leaves of the window, where that is less than was asked for and the provider refuses
 * both together. Undefined where the client's own stays.
 */
export function loweredCap(
  { deps, codec, limit, target, conversation }: PrepareContext,
  { load }: View,
): number | undefined {
  const { maxOutputTokens: asked, thinkingBudget = 0 } = conversation.settings
  if (asked === undefined || deps.policy.lowerOutput === undefined) return undefined
  if (!refusesTogether(deps, codec.format, target)) return undefined
  // The vendor refuses a cap that the thinking alone would use up.
  const least = Math.max(1, limit.outputReserve, thinkingBudget === 0 ? 0 : thinkingBudget + 1)
  const left = Math.max(least, Math.floor(limit.window - load.count.high))
  return left < asked ? left : undefined
}

/** Whether a prompt and an output cap that are larger than the window together are refused; some stop the answer at the end of the window instead. */
const refusesTogether = (
  { codecs, catalogue }: Pick<EngineDeps, 'codecs' | 'catalogue'>,
  format: string,
  target: Target,
): boolean =>
  target.learned?.holdsOutput === true ||
  (codecs.get(format)?.traits.windowHoldsAnswer === true && catalogue.resolve(target.model).info.stopsAtWindow !== true)

/** Tokens held back for the answer: what this conversation's answers have needed, which is seldom what a client asks for at most. */
function heldForAnswer(
  deps: Pick<EngineDeps, 'codecs' | 'catalogue' | 'policy'>,
  { format, settings }: Pick<Conversation, 'format' | 'settings'>,
  target: Target,
  window: number,
  needed: number,
): number | undefined {
  const { maxOutputTokens: asked, thinkingBudget = 0 } = settings
  const { lowerOutput } = deps.policy
  if (lowerOutput === undefined || asked === undefined) return asked
  const { minTokens, minShare } = lowerOutput
  const thought = thinkingBudget > 0 && refusesTogether(deps, format, target) ? thinkingBudget + 1 : 0
  return Math.min(asked, Math.max(Math.min(minTokens, Math.floor(window * minShare)), needed, thought))
}
