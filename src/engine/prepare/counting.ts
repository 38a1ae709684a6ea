import type { Conversation } from '../../core/conversation.ts'
import { type Count, isChained } from '../../core/count.ts'
import type { Item } from '../../core/item.ts'
import type { Load } from '../../core/target.ts'
import {
  occupancy,
  occupancyByDifference,
  occupancyOfChained,
  type Anchor,
  type Measurement,
  type Occupancy,
} from '../../meter/index.ts'
import type { Measured } from '../learning/teach.ts'
import { declared } from '../readers/offered-tools.ts'
import type { CountedLoad, PrepareContext, View, Weighing } from './context.ts'
import { itemWithMargin, loadWithMargin, marginFor, textWithMargin } from './unknown-model-margin.ts'

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
  const bare = { ...declared(conversation, context.offer.withEpoch()), items: [] }
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
