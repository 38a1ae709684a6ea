/** `plimsoll/testing`: strict fake providers, the simulator, and the suites that every store must pass. */
export { artifactStoreCases } from '../testing/artifact-store-suite.ts'
export { manualClock, sessionStoreCases } from '../testing/session-store-suite.ts'
export {
  call,
  calls,
  createHiddenTokenizer,
  createReferee,
  overlong,
  refuse,
  say,
  startReferee,
  summarizerBrain,
  think,
  type Answer,
  type BrainTurn,
  type Exchange,
  type Fault,
  type Referee,
  type RefereeOptions,
  type RefereeSummary,
  type RunningReferee,
  type Script,
  type StartRefereeOptions,
} from '../testing/referee/index.ts'
export {
  scenarios,
  simulate,
  type Scenario,
  type SimulateOptions,
  type SimulationResult,
} from '../lab/simulator/simulate.ts'
