/** The testing kit: strict fake providers, the simulator, and the suites that every store must pass. */
export * from './referee/index.ts'
export * from './artifact-store-suite.ts'
export * from './session-store-suite.ts'
export * from '../lab/simulator/simulate.ts'
