import type { Policy } from '../../core/policy.ts'
import { PlimsollError } from '../../core/errors.ts'
import { adkCodeDesign } from './adk-code/index.ts'
import { aiAgentDesign } from './ai-agent/index.ts'
import { autosreDesign } from './autosre/index.ts'
import { contextguardDesign } from './contextguard/index.ts'
import { cyberAutoagentDesign } from './cyber-autoagent/index.ts'
import type { Design, DesignLog } from './design.ts'

const DESIGNS: ReadonlyMap<string, Design> = new Map(
  [autosreDesign, cyberAutoagentDesign, contextguardDesign, adkCodeDesign, aiAgentDesign].map((one) => [one.name, one]),
)

/** @throws PlimsollError `bad-config` for a name that a policy made up. */
export function designNamed(name: string): Design {
  const found = DESIGNS.get(name)
  if (found !== undefined) return found
  throw new PlimsollError('bad-config', `There is no design ${JSON.stringify(name)}.`, {
    advice: `Known designs: ${[...DESIGNS.keys()].join(', ')}.`,
  })
}

/** The log of the design whose arithmetic a policy uses. */
export const designLogOf = ({ estimator }: Policy): DesignLog =>
  (estimator === undefined ? undefined : designNamed(estimator.design).log) ?? {}
