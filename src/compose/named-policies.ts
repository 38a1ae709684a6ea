import type { Policy } from '../core/policy.ts'
import { policyNamed } from '../engine/presets/index.ts'
import { checkGiven } from '../settings/check.ts'
import { GATEWAY, LIBRARY, optionsSchema, type OptionsOf } from '../settings/settings.ts'
import type { Schema } from '../settings/values.ts'

type Named = Pick<OptionsOf<typeof LIBRARY>, 'policy' | 'policies' | 'agents'>

/** The policy of a name: the caller's own, else a preset. @throws PlimsollError `bad-config` that lists the known names. */
export function policyIn({ policies = {} }: Named, given: string | Policy = 'plimsoll'): Policy {
  if (typeof given === 'object') return given
  return (Object.hasOwn(policies, given) ? policies[given] : undefined) ?? policyNamed(given)
}

const OPTIONS = { ...LIBRARY, ...GATEWAY }
const ALL = optionsSchema(OPTIONS)
const LIVE = optionsSchema(
  Object.fromEntries(Object.entries(OPTIONS).filter(([, { where }]) => 'live' in where && where.live)),
)

/** Checked at start-up: a wrong value would otherwise fail every request, or count as NaN. Returns the options without undefined members. */
export const checkOptions = <O extends object>(options: O): O => checkedOptions(options, ALL, 'createPlimsoll')

/** The same for settings that change while requests are running. */
export const checkLiveOptions = <O extends object>(options: O): O => checkedOptions(options, LIVE, 'reconfigure')

function checkedOptions<O extends object>(options: O, schema: Schema, taker: string): O {
  const given = checkGiven(options, schema, `the options of ${taker}`, 'bad-config')
  checkPolicies(given as Named)
  return given as O
}

function checkPolicies(options: Named): void {
  policyIn(options, options.policy)
  for (const { policy } of Object.values(options.agents ?? {})) if (policy !== undefined) policyIn(options, policy)
}
