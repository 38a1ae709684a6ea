export { budgetsOf, optionsOf, policyNameOf, policyOf, windowOf, type PlimsollSettings } from './apply.ts'
export {
  checkConfig,
  checkConfigText,
  configJsonSchema,
  loadConfig,
  problemLine,
  readConfig,
  type Config,
} from './file.ts'
