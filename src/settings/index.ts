export { budgetsOf, optionsOf, policyNameOf, policyOf, windowOf, type PlimsollSettings } from './apply.ts'
export {
  checkConfig,
  checkConfigText,
  configJsonSchema,
  loadConfig,
  problemLine,
  readConfig,
  type CheckedConfig,
  type Config,
  type ConfigProblem,
} from './file.ts'
export type { Override } from './policy.ts'
export { readNumber, unitWords } from './values.ts'
