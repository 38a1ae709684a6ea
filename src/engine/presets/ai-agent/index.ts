import type { Design } from '../design.ts'
import { aiAgentGuard } from './guard.ts'
import { debugLines } from './log.ts'
import { aiAgentMeter } from './meter.ts'

export const aiAgentDesign: Design = {
  name: 'ai-agent',
  guard: aiAgentGuard,
  meter: aiAgentMeter,
  log: { decided: debugLines },
}
