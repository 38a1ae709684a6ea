import type { Design } from '../design.ts'
import { plainMeter } from '../plain-meter.ts'
import { adkCodeEstimator } from './estimate.ts'
import { adkCodeGuard } from './guard.ts'

export const adkCodeDesign: Design = {
  name: 'adk-code',
  guard: adkCodeGuard,
  meter: (base) => plainMeter(base, (conversation) => adkCodeEstimator.estimate(conversation)),
}
