export {
  createMeter,
  type ClassTokens,
  type Measurement,
  type Meter,
  type MeterOptions,
  type TargetRef,
  type TokenClass,
} from './meter.ts'
export type { DesignArithmetic, DesignInput } from './occupancy.ts'
export {
  bufferOf,
  type BufferSetting,
  DEFAULT_BODY_BYTES,
  limitOf,
  type LimitKnowledge,
  MOST_OF_WINDOW,
} from './limit.ts'
export {
  type Calibration,
  type CalibrationOptions,
  type CalibrationState,
  createCalibration,
  type Observation,
  type Prediction,
} from './calibration.ts'
export { type Estimate, estimatedFamilies, estimateTokens } from './estimator/estimate.ts'
export { CONTENT_KINDS, type ContentKind } from './estimator/features.ts'
export type { MeterEvents, ModelFacts, ModelLookup, TextCounter } from './limit.ts'
export {
  addFresh,
  commitRequest,
  type Counters,
  percentFull,
  projectedTokens,
  setSchema,
  settleResponse,
  startCounters,
} from './occupancy.ts'
export {
  type Anchor,
  anchorAfter,
  type AnchorInput,
  type Growth,
  growthSince,
  looksTruncated,
  type MeasuredOnce,
  answerLength,
  type Occupancy,
  occupancy,
  occupancyByDifference,
  occupancyOfChained,
} from './occupancy.ts'
export { refine, type RefineOptions, straddles } from './occupancy.ts'
export { LONG_TEXT, textPieces } from './raw-counter.ts'
export { checkedUsage, isKnownUsage } from '../core/usage.ts'
export type {
  AccountHold,
  Budget,
  BudgetAccount,
  BudgetAnswer,
  BudgetScope,
  BudgetStanding,
  OthersShare,
  ReserveRequest,
  Spender,
  Spent,
} from './ledger/budgets.ts'
export { type Budgets, createBudgets } from './ledger/budgets.ts'
export {
  callOf,
  createLedger,
  type Ledger,
  type LedgerCall,
  type LedgerFilter,
  type LedgerOptions,
  type LedgerSplit,
} from './ledger/ledger.ts'
export { type CallPurpose, type LedgerTotals, NO_CALLS } from './ledger/ledger.ts'
export { boundOf, type CallBound, type CallPlan } from './ledger/budgets.ts'
export { unmanagedCost, type ManagedCall } from './ledger/ledger.ts'
export { turnLine, turnsRemaining, turnTotals, type TurnUsage } from './ledger/ledger.ts'
