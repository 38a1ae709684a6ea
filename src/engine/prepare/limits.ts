import type { Conversation, RequestSettings } from '../../core/conversation.ts'
import type { BufferRule, ModelRule, Policy, LowerOutputRule } from '../../core/policy.ts'
import type { Limit, Load, Target } from '../../core/target.ts'
import type { EngineDeps } from '../deps.ts'
import { reserved } from '../epoch/thresholds.ts'
import { changeEnvelope } from '../../core/edits.ts'
import { isPlimsollError } from '../../core/errors.ts'
import { MOST_OF_WINDOW } from '../../meter/index.ts'
import type { PrepareContext, View } from './context.ts'

/** What fits. A policy that holds back a share of the window first has to know the window. */
export function limitFor(
  deps: Pick<EngineDeps, 'meter' | 'policy' | 'codecs'>,
  target: Target,
  request: Pick<Conversation, 'format' | 'settings'>,
): Limit {
  const limit = roomFor(deps, target, request)
  const { stop } = deps.policy
  return stop === undefined ? limit : { ...limit, tokens: Math.min(limit.tokens, Math.floor(limit.window * stop)) }
}

function roomFor(
  { meter, policy, codecs }: Pick<EngineDeps, 'meter' | 'policy' | 'codecs'>,
  given: Target,
  { format, settings }: Pick<Conversation, 'format' | 'settings'>,
): Limit {
  const { reserve = 'request', defaultWindow } = policy
  const rule = ruleFor(policy, given)
  const buffer = rule.bufferTokens === undefined ? policy.buffer : fixed(rule.bufferTokens)
  const target = askedOf(
    {
      ...given,
      window: given.window ?? rule.window,
      maxOutputTokens: given.maxOutputTokens ?? rule.maxOutputTokens,
    },
    settings,
  )
  const bare = (at: Target): Limit => meter.limitOf(at, { ...settings, maxOutputTokens: 0 }, buffer)
  const isUnknown = defaultWindow !== undefined && target.window === undefined && bare(target).source === 'default'
  const known: Target = isUnknown ? { ...target, window: defaultWindow } : target
  if (reserve === 'request') return meter.limitOf(known, settings, buffer)
  if (reserve !== 'quarter')
    return meter.limitOf(known, reserved(policy, codecs.get(format)?.traits, settings, bare(known).window), buffer)
  const maxOutputTokens = settings.maxOutputTokens ?? known.maxOutputTokens ?? Math.floor(bare(known).window / 4)
  return meter.limitOf(known, { ...settings, maxOutputTokens }, buffer)
}

/** A server gives a request the window that it asks for; who set a smaller one means that. */
const askedOf = (target: Target, { window }: RequestSettings): Target =>
  window === undefined ? target : { ...target, window: Math.min(window, target.window ?? window) }

/** The rules that fit a target, the last word of each number. */
function ruleFor({ models = [] }: Policy, { model, provider }: Target): ModelRule {
  const fitting = models.filter(
    (rule) =>
      (rule.model === undefined || rule.model === model) &&
      // A model that a rule names needs no provider to be known by.
      (rule.provider === undefined || rule.provider === provider || (provider === undefined && rule.model === model)),
  )
  return Object.assign({}, ...fitting) as ModelRule
}

const fixed = (tokens: number): BufferRule => ({ fraction: 0, min: tokens, max: tokens })

/** The limit with the request's own output cap, or with another one. */
export const limitsOf =
  (deps: EngineDeps, target: Target, { format, settings }: Conversation) =>
  (maxOutputTokens?: number): Limit =>
    limitFor(deps, target, {
      format,
      settings: maxOutputTokens === undefined ? settings : { ...settings, maxOutputTokens },
    })

export const isOver = (load: Load, limit: Limit): boolean => load.count.high > limit.tokens || load.bytes > limit.bytes

/**
 * Whether it does not fit by the least that it may be. What only may be too large, although everything that may be reduced was, is the
 * provider's to decide, and an overflow is recovered.
 */
export const isCertainlyOver = ({ count, bytes }: Load, limit: Limit): boolean =>
  count.low > limit.tokens || bytes > limit.bytes

type LimitAt = (maxOutputTokens?: number) => Limit

/** The least that the policy lets a request's own cap be lowered to; undefined when it may not be touched. */
function outputFloor({ lowerOutput: rule }: Policy, settings: RequestSettings): number | undefined {
  const { maxOutputTokens: asked, thinkingBudget = 0 } = settings
  if (rule === undefined || asked === undefined) return undefined
  // The vendor refuses a cap that the thinking alone would use up.
  const floor = Math.max(leastOf(rule, asked), thinkingBudget === 0 ? 0 : thinkingBudget + leastOf(rule, 0))
  return floor < asked ? floor : undefined
}

const leastOf = ({ minTokens, minShare }: LowerOutputRule, asked: number): number =>
  Math.max(minTokens, Math.ceil(asked * minShare))

/** A cap that leaves no room for any prompt is lowered before anything is measured; in a small window further than the policy's floor. */
export function openLimit(
  policy: Policy,
  conversation: Conversation,
  limitAt: LimitAt,
): { readonly limit: Limit; readonly conversation: Conversation } {
  const floor = outputFloor(policy, conversation.settings)
  try {
    return { limit: limitAt(), conversation }
  } catch (error) {
    if (policy.lowerOutput === undefined || !isPlimsollError(error, 'limit-not-positive')) throw error
    const share = Math.floor(Number(error.fields['window']) * MOST_OF_WINDOW)
    for (const cap of [floor ?? share, share]) {
      const limit = limitWith(limitAt, cap)
      if (limit !== undefined && cap > (conversation.settings.thinkingBudget ?? 0))
        return { limit, conversation: changeEnvelope(conversation, { maxOutputTokens: cap }) }
    }
    throw error
  }
}

function limitWith(limitAt: LimitAt, cap: number): Limit | undefined {
  try {
    return limitAt(cap)
  } catch {
    return undefined
  }
}

/**
 * When only the request's own output cap makes it too large, the cap gives way before history does: by what is missing, never below
 * the policy's floor. Undefined when that is not enough.
 */
export function lowerOutput(context: PrepareContext, view: View, limitAt: LimitAt): PrepareContext | undefined {
  const { deps, limit, conversation } = context
  const asked = conversation.changes?.maxOutputTokens ?? conversation.settings.maxOutputTokens
  const floor = outputFloor(deps.policy, conversation.settings)
  const missing = Math.ceil(view.load.count.high) - limit.tokens
  if (floor === undefined || asked === undefined || missing <= 0 || view.load.bytes > limit.bytes) return undefined
  const lowered = asked - missing
  if (lowered < floor) return undefined
  const roomier = limitAt(lowered)
  if (view.load.count.high > roomier.tokens) return undefined
  return { ...context, limit: roomier, conversation: changeEnvelope(conversation, { maxOutputTokens: lowered }) }
}
