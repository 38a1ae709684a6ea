export {
  createMeter,
  type ClassTokens,
  type Measurement,
  type Meter,
  type MeterOptions,
  type TargetRef,
} from './meter.ts'
export { bufferOf, type BufferSetting, DEFAULT_BODY_BYTES, limitOf, type LimitKnowledge } from './limit.ts'
export {
  type Calibration,
  type CalibrationOptions,
  type CalibrationState,
  createCalibration,
  type Observation,
  type Prediction,
} from './calibration.ts'
export { type Estimate, estimatedFamilies, estimateTokens } from './estimator/estimate.ts'
export { CONTENT_KINDS, type ContentKind } from './estimator/kinds.ts'
export type { MeterEvents, ModelFacts, ModelLookup, TextCounter } from './needs.ts'
