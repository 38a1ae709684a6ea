import type { Policy } from '../core/policy.ts'
import { policyNamed } from '../engine/presets/index.ts'
import { LIVE_OPTIONS, OPTIONS } from '../settings/options-shape.ts'
import { checkGiven } from '../core/given.ts'
import type { LiveOptions, PlimsollOptions } from '../options.ts'

type Named = Pick<LiveOptions, 'policy' | 'policies' | 'agents'>

/**
 * The policy that a name means: the caller's own first, then one that ships.
 * @throws PlimsollError `bad-config` that lists the names there are.
 */
export function policyIn({ policies = {} }: Named, given: string | Policy = 'plimsoll'): Policy {
  if (typeof given === 'object') return given
  return (Object.hasOwn(policies, given) ? policies[given] : undefined) ?? policyNamed(given)
}

/** Asked at the start: what is wrong would otherwise fail every request, or count as NaN. */
export function checkOptions(options: PlimsollOptions): void {
  checkGiven(options, OPTIONS, 'the options of createPlimsoll', 'bad-config')
  checkPolicies(options)
}

/** The same for what changes while requests are under way. */
export function checkLiveOptions(options: LiveOptions): void {
  checkGiven(options, LIVE_OPTIONS, 'the options of reconfigure', 'bad-config')
  checkPolicies(options)
}

function checkPolicies(options: Named): void {
  policyIn(options, options.policy)
  for (const { policy } of Object.values(options.agents ?? {})) if (policy !== undefined) policyIn(options, policy)
}
