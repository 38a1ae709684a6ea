import type { Design } from '../design.ts'
import { plainMeter } from '../plain-meter.ts'
import { aiAgentEstimator, aiAgentSchemaTokens } from './estimate.ts'
import { aiAgentGuard } from './guard.ts'
import { debugLines } from './log.ts'

export const aiAgentDesign: Design = {
  name: 'ai-agent',
  guard: aiAgentGuard,
  meter(base, { tokenizers = [] }, { tokenizerOf }) {
    const counters = tokenizers.map(tokenizerOf)
    const estimator = aiAgentEstimator(counters)
    return plainMeter(
      base,
      (conversation) => estimator.estimate(conversation) + aiAgentSchemaTokens(conversation.tools, counters),
    )
  },
  log: { decided: debugLines },
}
