import type { Design } from '../design.ts'
import { plainMeter } from '../plain-meter.ts'
import { cyberBudgetTokens, cyberEstimate } from './estimate.ts'
import { cyberGuard } from './guard.ts'
import { decisionLines, reductionLines } from './log.ts'

/** Estimates, else goes by what the provider counted last, else lets the request through; each step down says so. */
export const cyberAutoagentDesign: Design = {
  name: 'cyber-autoagent',
  guard: cyberGuard,
  meter: (base, _rule, { onEvent }) =>
    plainMeter(base, (conversation, model, telemetry) =>
      cyberBudgetTokens(cyberEstimate(conversation, model, onEvent), telemetry, onEvent),
    ),
  log: { reduced: reductionLines, decided: decisionLines },
}
