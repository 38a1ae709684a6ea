export { createMeter, LONG_TEXT, type Measurement, type Meter, type TargetRef, textPieces } from './meter.ts'
export {
  type Anchor,
  answerLength,
  type DesignArithmetic,
  type DesignCounters,
  looksTruncated,
  occupancy,
  type Occupancy,
  occupancyByDifference,
  occupancyOfChained,
  straddles,
} from './occupancy.ts'
export {
  cachedCall,
  type CachedCall,
  type CacheExpectation,
  type LeavingCall,
  CacheLives,
  expectCache,
  nominalLife,
  placeIn,
  seenCache,
  type SentPrompt,
  sentPrompt,
} from './cache.ts'
export { limitOf, MOST_OF_WINDOW } from './limit.ts'
export { type Calibration, type CalibrationState, createCalibration, type Observation } from './calibration.ts'
export { estimateTokens } from './estimator/estimate.ts'

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
  type TurnUsage,
} from './ledger/ledger.ts'
export { savedBy } from './ledger/ledger.ts'
