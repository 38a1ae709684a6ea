import type { Design } from '../design.ts'
import { plainMeter } from '../plain-meter.ts'
import { cyberEstimate } from './estimate.ts'
import { cyberGuard } from './guard.ts'
import { reductionLines } from './log.ts'

export const cyberAutoagentDesign: Design = {
  name: 'cyber-autoagent',
  guard: cyberGuard,
  meter: (base) => plainMeter(base, (conversation, model) => cyberEstimate(conversation, model) ?? 0),
  log: { reduced: reductionLines },
}
