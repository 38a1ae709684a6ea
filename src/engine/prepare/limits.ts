import type { Conversation, RequestSettings } from '../../core/conversation.ts'
import type { BufferRule, ModelRule, Policy } from '../../core/policy.ts'
import type { Limit, Load, Target } from '../../core/target.ts'
import type { EngineDeps } from '../deps.ts'
import { reserved } from '../epoch/thresholds.ts'

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
  const target = askedOf({ ...pickCaps(rule), ...given }, settings)
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

const pickCaps = ({ window, maxOutputTokens }: ModelRule): Pick<Target, 'window' | 'maxOutputTokens'> => ({
  ...(window !== undefined && { window }),
  ...(maxOutputTokens !== undefined && { maxOutputTokens }),
})

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
 * Whether nobody could send it: not even the least that it may be fits into the window beside the output that it asks for. What only may be
 * too large is the provider's to decide, and an overflow is recovered.
 */
export function isCertainlyOver({ count, bytes }: Load, limit: Limit, { maxOutputTokens }: RequestSettings): boolean {
  const room = limit.tokens + limit.buffer + (maxOutputTokens === undefined ? limit.outputReserve : 0)
  return count.low > room || bytes > limit.bytes
}
