import type { Design } from '../design.ts'
import { plainMeter } from '../plain-meter.ts'
import { autosreSliding } from './estimate.ts'
import { autosreGuard, autosreStops } from './guard.ts'

/** Decides by the window's estimate (characters / 4); the brake has a ratio of its own, which is data of its step. */
export const autosreDesign: Design = {
  name: 'autosre',
  stops: autosreStops,
  guard: autosreGuard,
  meter: (base) => plainMeter(base, (conversation) => autosreSliding.estimate(conversation)),
}
