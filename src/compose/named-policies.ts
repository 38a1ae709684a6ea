import type { Policy } from '../core/policy.ts'
import { policyNamed } from '../engine/presets/index.ts'
import type { LiveOptions } from '../options.ts'

type Named = Pick<LiveOptions, 'policy' | 'policies' | 'agents'>

/**
 * The policy that a name means: the caller's own first, then one that ships.
 * @throws PlimsollError `bad-config` that lists the names there are.
 */
export function policyIn({ policies = {} }: Named, given: string | Policy = 'plimsoll'): Policy {
  if (typeof given === 'object') return given
  return (Object.hasOwn(policies, given) ? policies[given] : undefined) ?? policyNamed(given)
}

/** Asked at the start: a name that nobody knows would otherwise fail every request. */
export function checkPolicies(options: Named): void {
  policyIn(options, options.policy)
  for (const { policy } of Object.values(options.agents ?? {})) if (policy !== undefined) policyIn(options, policy)
}
