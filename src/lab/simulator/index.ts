export { clientSteps, type ClientStep } from './client.ts'
export type { Blob, Expectations, Scenario, ToolSet, Turn } from './scenario.ts'
export { scenarios } from './scenarios.ts'
export { simulate, type SimulatedStep, type SimulateOptions, type SimulationResult } from './simulate.ts'
