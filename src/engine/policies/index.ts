import { PlimsollError } from '../../core/errors.ts'
import type { Policy } from '../../core/policy.ts'
import { contextguard, contextguardWindow } from './contextguard.ts'
import { plimsoll } from './plimsoll.ts'

const all: readonly Policy[] = [plimsoll, contextguard, contextguardWindow]

/** The presets, by name. */
export const policies: ReadonlyMap<string, Policy> = new Map(all.map((policy) => [policy.name, policy]))

export function policyNamed(name: string): Policy {
  const policy = policies.get(name)
  if (policy === undefined) {
    throw new PlimsollError('bad-config', `There is no policy ${JSON.stringify(name)}.`, {
      advice: `Known policies: ${[...policies.keys()].join(', ')}.`,
    })
  }
  return policy
}
