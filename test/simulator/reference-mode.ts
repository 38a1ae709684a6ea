import type { Policy } from '../../src/core/policy.ts'
import { contextguard } from '../../src/engine/policies/contextguard.ts'

export interface ReferenceOptions {
  /** @default 2.5 */
  readonly factor?: number
  /** Windows from here on have the fixed buffer. @default 200000 */
  readonly fixedFrom?: number
}

/** contextguard as its document has it, faults included: for comparison with its own table, never shipped. */
export function referencePolicy({ factor = 2.5, fixedFrom = 200_000 }: ReferenceOptions = {}): Policy {
  return {
    ...contextguard,
    name: 'contextguard-reference',
    asDesigned: true,
    water: { ...contextguard.water, rest: 0, margin: { from: fixedFrom, tokens: 20_000, share: 0.2 } },
    estimator: { design: 'contextguard', defaultFactor: factor },
    cascade: contextguard.cascade.filter(({ step }) => step === 'summarise'),
  }
}
