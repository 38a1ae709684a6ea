export { createMeter, type Measurement, type Meter, type TargetRef } from './meter.ts'
export {
  addFresh,
  type Anchor,
  anchorAfter,
  answerLength,
  commitRequest,
  type Counters,
  type DesignArithmetic,
  growthSince,
  looksTruncated,
  occupancy,
  type Occupancy,
  occupancyByDifference,
  occupancyOfChained,
  percentFull,
  projectedTokens,
  setSchema,
  settleResponse,
  startCounters,
  straddles,
} from './occupancy.ts'
export { bufferOf, limitOf, MOST_OF_WINDOW, type TextCounter } from './limit.ts'
export { type Calibration, type CalibrationState, createCalibration, type Observation } from './calibration.ts'
export { estimatedFamilies, estimateTokens } from './estimator/estimate.ts'

export { LONG_TEXT, textPieces } from './raw-counter.ts'
export { checkedUsage, isKnownUsage } from '../core/usage.ts'
export {
  type AccountHold,
  boundOf,
  type Budget,
  type BudgetAccount,
  type BudgetAnswer,
  type Budgets,
  type BudgetStanding,
  type CallPlan,
  createBudgets,
  type ReserveRequest,
  type Spender,
  type Spent,
} from './ledger/budgets.ts'
export {
  callOf,
  createLedger,
  type Ledger,
  type LedgerOptions,
  type LedgerTotals,
  type ManagedCall,
  turnsRemaining,
  turnTotals,
  type TurnUsage,
  unmanagedCost,
} from './ledger/ledger.ts'
