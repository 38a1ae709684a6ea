import type { Conversation } from '../../core/conversation.ts'
import { type Count, isChained } from '../../core/count.ts'
import { type Item, mediaBytes } from '../../core/item.ts'
import type { Load } from '../../core/target.ts'
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
import type { Measured } from '../learning/teach.ts'
import { declared } from '../readers/offered-tools.ts'
import type { CountedLoad, PrepareContext, View, Weighing } from './context.ts'
import { modelName } from '../../core/model-name.ts'
import { nextRound } from '../../util/yield-now.ts'
import type { EngineDeps } from '../deps.ts'

/** The last measured call on the same model, whatever became of its bytes. */
function lastOn({
  branch: {
    log: { measured: last },
  },
  target,
  gauge,
}: Weighing): Measured | undefined {
  // A request that brought only what was new has no difference to a whole one either.
  const isSame = last?.model === target.model && last.endpoint === target.endpoint && last.chained !== true
  // Counts of two kinds have no difference that would say something.
  return isSame && isExact(gauge) === (last.exact === true) ? last : undefined
}

const isExact = ({ estimated = false }: PrepareContext['gauge']): boolean => !estimated

/** The last measured call, if this transcript continues from it under the same epoch and on the same model. */
export function anchorFor({ branch, links, target }: PrepareContext, epoch: string | undefined): Anchor | undefined {
  const { measured: last } = branch.log
  if (last === undefined || last.model !== target.model || last.endpoint !== target.endpoint || last.epoch !== epoch)
    return undefined
  // Looked for from the end: it is the last request's.
  return links.findLast((link) => link.chain === last.chain) === undefined ? undefined : last
}

/** Instructions and tools were counted in another way then: whether they changed since cannot be told from their numbers. */
const comparable = (
  anchor: Anchor | undefined,
  measurement: Measurement,
  gauge: PrepareContext['gauge'],
): Anchor | undefined =>
  anchor === undefined || isExact(gauge) === (anchor.exact === true)
    ? anchor
    : { ...anchor, standing: measurement.parts.head + measurement.parts.tools }

/** The last measured call of a conversation that the provider holds, whichever way it was counted. */
function lastChained({ branch, target, gauge }: Weighing, measurement: Measurement): Anchor | undefined {
  const { measured: last } = branch.log
  return last?.model === target.model && last.endpoint === target.endpoint
    ? comparable(last, measurement, gauge)
    : undefined
}

/** From the last measured call: what came since it where nothing was rewritten, else what differs from it. */
export function occupancyOf(
  context: PrepareContext,
  conversation: Conversation,
  measurement: Measurement,
  anchor?: Anchor,
  epoch?: string,
): Occupancy {
  const { deps, gauge } = context
  if (isChained(conversation.settings))
    return occupancyOfChained(deps.meter, gauge, conversation, measurement, lastChained(context, measurement))
  const grown = occupancy(deps.meter, gauge, conversation, measurement, comparable(anchor, measurement, gauge), epoch)
  if (grown.measured !== undefined) return grown
  return occupancyByDifference(deps.meter, gauge, conversation, measurement, lastOn(context))
}

/** What is known of a view's load, and the same with the margin of an unknown model: a guess may cost a reduction, not the request. */
export function loadsOf(
  context: PrepareContext,
  conversation: Conversation,
  measurement: Measurement,
  { anchor, epoch }: { readonly anchor: Anchor | undefined; readonly epoch: string | undefined },
): Pick<View, 'estimate' | 'load'> {
  const { deps, target, gauge } = context
  const { design } = deps.meter
  const counted = occupancyOf(context, conversation, measurement, anchor, epoch)
  const careful = (load: CountedLoad): Load => loadWithMargin(load, conversation, marginFor(context))
  if (design === undefined) return { estimate: counted, load: careful(counted) }
  const input = { target, gauge, conversation, measurement, occupancy: counted, last: lastOn(context), anchor }
  const load = design.load(input)
  return { estimate: design.certain(input) ?? load, load: careful(load) }
}

/** Upper bound of the tokens outside the history: instructions, tools, framing. */
export const fixedTokensOf = (context: PrepareContext): number => fixedCountOf(context).high

/** Tokens outside the history, likely and at most. */
export function fixedCountOf(context: PrepareContext): Count {
  const { deps, gauge, conversation } = context
  const bare = { ...declared(conversation, context.offer.withEpoch), items: [] }
  const measurement = deps.meter.measure(gauge, bare, 0)
  const factor = deps.meter.design?.factor(lastOn(context))
  const load = factor === undefined ? occupancyOf(context, bare, measurement) : scaled(measurement, factor)
  return loadWithMargin(load, bare, marginFor(context)).count
}

const scaled = (measurement: Measurement, factor: number): Measurement => ({
  ...measurement,
  count: { ...measurement.count, high: measurement.count.high * factor },
})

/** Upper bound of an item's tokens on the request's model. */
export const tokensOf = (context: PrepareContext): ((item: Item) => number) => {
  const { deps, gauge } = context
  const factor = deps.meter.design?.factor(lastOn(context)) ?? 1
  const margin = marginFor(context)
  return (item) => itemWithMargin(item, deps.meter.countItem(gauge, item).high * factor, margin)
}

/** Likely tokens of an item and of a text, without any margin. */
export function likelyCounts({ deps, gauge }: PrepareContext): {
  readonly tokensOf: (item: Item) => number
  readonly countText: (text: string) => number
} {
  return {
    tokensOf: (item) => deps.meter.countItem(gauge, item).tokens,
    countText: (text) => deps.meter.countText(gauge, text).tokens,
  }
}

export const textTokensOf = (context: Weighing): ((text: string) => number) => {
  const { deps, gauge } = context
  const factor = deps.meter.design?.factor(lastOn(context)) ?? 1
  const margin = marginFor(context)
  return (text) => textWithMargin(text, deps.meter.countText(gauge, text).high * factor, margin)
}

/** Four bytes to a token is what designs without a tokenizer assume; the fitted estimate is lower on repetitive text. */
const BYTES_PER_TOKEN = 4

/** What one kind of text showed of a tokenizer that nobody fitted our estimate to may be off by this much on another. */
const MEASURED_MARGIN = 1.8

/** How much more than estimated the parts of a request may be; 1 means that the estimate stands. */
interface UnknownModelMargin {
  readonly text: number
  readonly media: number
}

/**
 * On a model that no catalogue knows and nobody has measured yet: some tokenizers make more than twice as many tokens, and nobody
 * knows by which rule it counts pictures. Reported usage makes it smaller for text and ends it for pictures.
 */
function marginFor({ deps, branch, target, gauge }: Weighing): UnknownModelMargin {
  const { caution = 1 } = deps.policy
  if (caution === 1 || deps.catalogue.resolve(target.model).match !== 'default') return { text: 1, media: 1 }
  // Small prompts say little about a tokenizer: the margin fades with what was seen, as far as it does, with one whole sample.
  const evidence = branch.log.calibration?.evidenceOf(gauge) ?? 0
  const isMediaKnown = branch.log.calibration?.mediaFactorOf(gauge) !== undefined
  return { text: Math.max(MEASURED_MARGIN, caution ** (1 - evidence)), media: isMediaKnown ? 1 : caution }
}

/** The margin is about what nobody has counted: the part that the provider measured stands as it is. */
function loadWithMargin(
  load: CountedLoad,
  { items, settings }: Pick<Conversation, 'items' | 'settings'>,
  margin: UnknownModelMargin,
): Load {
  if (margin.text === 1 && margin.media === 1) return load
  const { measured, measuredItems = 0, mediaHigh = 0, count, bytes } = load
  const guessed =
    measured === undefined
      ? bytes - nameBytes(settings) - items.reduce((sum, item) => sum + mediaBytes(item), 0)
      : items.slice(measuredItems).reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  const known = measured ?? 0
  const words = Math.max(0, count.high - known - mediaHigh)
  return {
    ...load,
    count: { ...count, high: known + worst(words, guessed, margin.text) + mediaHigh * margin.media },
  }
}

/** What a client wrote beyond any name of a model is sent, and no part of the prompt. */
const nameBytes = ({ model = '' }: Conversation['settings']): number =>
  Buffer.byteLength(model) - Buffer.byteLength(modelName(model))

/** An item's upper bound; a picture has no text to be careful about. */
function itemWithMargin(item: Item, high: number, margin: UnknownModelMargin): number {
  if (item.media === undefined) return textWithMargin(item.text, high, margin)
  return high * Math.max(margin.media, item.text === '' ? 1 : margin.text)
}

const textWithMargin = (text: string, high: number, margin: UnknownModelMargin): number =>
  worst(high, Buffer.byteLength(text), margin.text)

const worst = (high: number, bytes: number, margin: number): number =>
  margin === 1 ? high : Math.max(high, bytes / BYTES_PER_TOKEN) * margin

/** Characters that are counted in a few milliseconds, and what a further item costs beside its text. */
const SLICE_CHARACTERS = 256 * 1024
const ITEM_CHARACTERS = 128

/**
 * Counts what is new and large about a request before anything asks for its load, a part at a time, so that other requests get their turn: the
 * meter remembers each part and the question is answered at once. Most requests are shorter than one part.
 */
export async function countAhead(
  { meter }: Pick<EngineDeps, 'meter'>,
  gauge: TargetRef,
  conversation: Conversation,
  known: number,
): Promise<void> {
  const { items } = conversation
  let waiting = 0
  for (let at = known; at < items.length; at++) {
    const { text } = items[at]!
    waiting += ITEM_CHARACTERS + Math.min(text.length, LONG_TEXT)
    if (waiting > SLICE_CHARACTERS) {
      meter.measure(gauge, { ...conversation, items: items.slice(0, at) }, 0)
      await nextRound()
      waiting = 0
    }
    if (text.length <= LONG_TEXT) continue
    for (const piece of textPieces(text)) {
      meter.countText(gauge, piece)
      await nextRound()
    }
  }
}
