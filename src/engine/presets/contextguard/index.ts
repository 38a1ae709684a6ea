import type { Design } from '../design.ts'
import { contextguardMeter } from './meter.ts'

/** Shortens nothing at intake. */
export const contextguardDesign: Design = { name: 'contextguard', meter: contextguardMeter }
