import { linksBefore, type Link } from '../../core/chain.ts'
import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { changeEnvelope, type Plan } from '../../core/edits.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { EventBody } from '../../core/events.ts'
import { sharedItems } from '../../core/prefix-memo.ts'
import type { Item } from '../../core/item.ts'
import type { Limit, Load, Target } from '../../core/target.ts'
import {
  occupancy,
  occupancyByDifference,
  type Anchor,
  type Measurement,
  type Occupancy,
  type TargetRef,
} from '../../meter/index.ts'
import type { SendToModel } from '../../ports/model-call.ts'
import type { Branch } from '../session/branch/branch.ts'
import type { Measured } from '../session/learn.ts'
import { marginFor, itemWithMargin, loadWithMargin, textWithMargin, type CountedLoad } from './unknown-model-margin.ts'
import type { EngineDeps } from '../deps.ts'
import { openLimit } from './output-reserve.ts'
import { readersIn, type Readers } from '../readers/reader-tools.ts'
import { shownItems } from '../memo/epoch-view-memo.ts'
import { outgoingOf, type EditedPrefix } from '../memo/edited-prefix-memo.ts'
import type { Standing } from './standing.ts'
import { reserved } from '../epoch/thresholds.ts'

/** One request on its way through `prepare`: what came in and where it is going. */
export interface PrepareContext {
  readonly deps: EngineDeps
  readonly branch: Branch
  readonly codec: Codec
  /** The body as it came. */
  readonly text: string
  /** Its length in UTF-8. */
  readonly bytes: number
  readonly conversation: Conversation
  readonly links: readonly Link[]
  /** Items and links at the start that the last request had as well: whatever is asked once about an item was asked then. */
  readonly known: { readonly items: number; readonly links: number }
  readonly target: Target
  /** The target as the meter reads it: with what this branch has learned about its tokenizer. */
  readonly gauge: TargetRef
  readonly limit: Limit
  /** Tools of the request that can bring back what was taken out. */
  readonly readers: Readers
  /** Calls that the caller still counts on; the price gate's horizon. */
  readonly expectedCalls?: number
  /** Asks the model at hand, for a summary in band. */
  readonly send?: SendToModel
  readonly emit: (body: EventBody) => void
}

/** A candidate for what leaves. */
export interface View {
  readonly plan: Plan
  readonly conversation: Conversation
  /** The body in the wire's own text; the incoming bytes themselves when the plan is empty. */
  readonly text: string
  /** What the text begins with, where that was read and found valid before. */
  readonly editedPrefix?: EditedPrefix
  /** Headers that the body needs beside the client's own. */
  readonly headers: Readonly<Record<string, string>>
  /** Counted from nothing but the text. */
  readonly measurement: Measurement
  /** Measured prompt of the last call plus what came since, where there was one; else the measurement. */
  readonly estimate: Load
  /** The same with caution where nobody knows the model: what reductions go by. */
  readonly load: Load
}

export interface ContextRequest {
  readonly expectedCalls?: number
  readonly format: string
  readonly body: string | object
  readonly targets?: readonly Target[]
  readonly send?: SendToModel
  /** The body as its codec decoded it, when the caller had to look into it already. */
  readonly conversation?: Conversation
}

export function openContext(deps: EngineDeps, branch: Branch, request: ContextRequest): PrepareContext {
  const codec = codecFor(deps, request.format)
  const text = typeof request.body === 'string' ? request.body : JSON.stringify(request.body)
  const decoded = request.conversation ?? deps.bodies.decode(branch.tenant, codec, text)
  const target = request.targets?.[0] ?? { model: decoded.settings.model ?? 'unknown' }
  const { limit, conversation } = openLimit(deps.policy, decoded, limitsOf(deps, target, decoded))
  const links = deps.chain(conversation.items)
  const { calibration, decisions, sealedTokens } = branch.log
  const trail = branch.requests.trail(decisions)
  const shared = trail === undefined ? 0 : sharedItems(trail.items, conversation.items)
  return {
    deps,
    branch,
    codec,
    text,
    bytes: conversation.bytes ?? Buffer.byteLength(text),
    conversation,
    links,
    known: { items: shared, links: linksBefore(links, shared) },
    target,
    gauge: {
      ...target,
      hidden: sealedTokens,
      ...(calibration !== undefined && { calibration }),
    },
    limit,
    readers: readersIn(conversation.tools),
    ...(request.expectedCalls !== undefined && { expectedCalls: request.expectedCalls }),
    ...(request.send !== undefined && { send: request.send }),
    emit: (body) =>
      deps.emit({ ...body, at: deps.clock.now(), tenant: branch.tenant, session: branch.session, agent: branch.agent }),
  }
}

/** What counting needs to know about where a text goes. */
export type Weighing = Pick<PrepareContext, 'deps' | 'branch' | 'target' | 'gauge'>

/** What fits. A policy that holds back a share of the window first has to know the window. */
export function limitFor(
  { meter, policy, codecs }: Pick<EngineDeps, 'meter' | 'policy' | 'codecs'>,
  target: Target,
  { format, settings }: Pick<Conversation, 'format' | 'settings'>,
): Limit {
  const { buffer, reserve = 'request', defaultWindow } = policy
  const bare = (at: Target): Limit => meter.limitOf(at, { ...settings, maxOutputTokens: 0 }, buffer)
  const isUnknown = defaultWindow !== undefined && target.window === undefined && bare(target).source === 'default'
  const known: Target = isUnknown ? { ...target, window: defaultWindow } : target
  if (reserve === 'request') return meter.limitOf(known, settings, buffer)
  return meter.limitOf(known, reserved(policy, codecs.get(format)?.traits, settings, bare(known).window), buffer)
}

/** The limit with the request's own output cap, or with another one. */
export const limitsOf =
  (deps: EngineDeps, target: Target, { format, settings }: Conversation) =>
  (maxOutputTokens?: number): Limit =>
    limitFor(deps, target, {
      format,
      settings: maxOutputTokens === undefined ? settings : { ...settings, maxOutputTokens },
    })

function codecFor(deps: EngineDeps, format: string): Codec {
  const codec = deps.codecs.get(format)
  if (codec !== undefined) return codec
  throw new PlimsollError('unsupported', `There is no codec for ${JSON.stringify(format)}.`, {
    advice: `Known formats: ${[...deps.codecs.keys()].join(', ')}.`,
  })
}

/** The last measured call on the same model, whatever became of its bytes. */
function lastOn({
  branch: {
    log: { measured: last },
  },
  target,
}: Weighing): Measured | undefined {
  return last?.model === target.model && last.endpoint === target.endpoint ? last : undefined
}

/** The last measured call, if this transcript continues from it under the same epoch and on the same model. */
function anchorFor({ branch, links, target }: PrepareContext, epoch: string | undefined): Anchor | undefined {
  const { measured: last } = branch.log
  if (last === undefined || last.model !== target.model || last.endpoint !== target.endpoint || last.epoch !== epoch)
    return undefined
  // Looked for from the end: it is the last request's.
  return links.findLast((link) => link.chain === last.chain) === undefined ? undefined : last
}

/** From the last measured call: what came since it where nothing was rewritten, else what differs from it. */
function occupancyOf(
  context: PrepareContext,
  conversation: Conversation,
  measurement: Measurement,
  anchor?: Anchor,
  epoch?: string,
): Occupancy {
  const { deps, gauge } = context
  const grown = occupancy(deps.meter, gauge, conversation, measurement, anchor, epoch)
  if (grown.measured !== undefined) return grown
  return occupancyByDifference(deps.meter, gauge, conversation, measurement, lastOn(context))
}

/** What is known of a view's load, and the same with caution: a guess may cost a reduction, not the request. */
function loadsOf(
  context: PrepareContext,
  conversation: Conversation,
  measurement: Measurement,
  { anchor, epoch }: { readonly anchor: Anchor | undefined; readonly epoch: string | undefined },
): Pick<View, 'estimate' | 'load'> {
  const { deps, target, gauge } = context
  const { design } = deps.meter
  const counted = occupancyOf(context, conversation, measurement, anchor, epoch)
  const careful = (load: CountedLoad): Load => loadWithMargin(load, conversation.items, marginFor(context))
  if (design === undefined) return { estimate: counted, load: careful(counted) }
  const input = { target, gauge, conversation, measurement, occupancy: counted, last: lastOn(context), anchor }
  const load = design.load(input)
  return { estimate: design.certain(input) ?? load, load: careful(load) }
}

/** Applies what stands and measures the result. */
export function viewOf(context: PrepareContext, standing: Standing): View {
  const { deps } = context
  const { plan, items, stale } = shownItems(context, standing)
  const edited = plan.length === 0 ? context.conversation : { ...context.conversation, items }
  const conversation = stale ? changeEnvelope(edited, { dropStaleThinking: true }) : edited
  const { text, bytes, editedPrefix } = outgoingOf(context, conversation, plan)
  const measurement = deps.meter.measure(context.gauge, conversation, bytes)
  const anchor = anchorFor(context, standing.epoch?.id)
  const { estimate, load } = loadsOf(context, conversation, measurement, { anchor, epoch: standing.epoch?.id })
  return {
    plan,
    conversation,
    text,
    ...(editedPrefix !== undefined && { editedPrefix }),
    headers: stale ? context.codec.traits.staleThinkingHeaders : {},
    measurement,
    estimate,
    load,
  }
}

export const isOver = (load: Load, limit: Limit): boolean => load.count.high > limit.tokens || load.bytes > limit.bytes

/** Tokens outside the history: instructions, tools, framing. */
export function fixedTokensOf(context: PrepareContext): number {
  const { deps, gauge, conversation } = context
  const bare = { ...conversation, items: [] }
  const measurement = deps.meter.measure(gauge, bare, 0)
  const factor = deps.meter.design?.factor(lastOn(context))
  const load = factor === undefined ? occupancyOf(context, bare, measurement) : scaled(measurement, factor)
  return loadWithMargin(load, [], marginFor(context)).count.high
}

const scaled = (measurement: Measurement, factor: number): Measurement => ({
  ...measurement,
  count: { ...measurement.count, high: measurement.count.high * factor },
})

/** Upper bound of an item's tokens on the request's model. */
export const tokensOf = (context: PrepareContext): ((item: Item) => number) => {
  const { deps, gauge } = context
  const factor = deps.meter.design?.factor(lastOn(context)) ?? 1
  const caution = marginFor(context)
  return (item) => itemWithMargin(item, deps.meter.countItem(gauge, item).high * factor, caution)
}

export const textTokensOf = (context: Weighing): ((text: string) => number) => {
  const { deps, gauge } = context
  const factor = deps.meter.design?.factor(lastOn(context)) ?? 1
  const caution = marginFor(context)
  return (text) => textWithMargin(text, deps.meter.countText(gauge, text).high * factor, caution)
}
