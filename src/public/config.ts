/** `plimsoll/config`: reads and checks settings files. */
export { optionsOf, type PlimsollSettings } from '../settings/apply.ts'
export {
  checkConfigText,
  configJsonSchema,
  loadConfig,
  type CheckedConfig,
  type ConfigProblem,
} from '../settings/file.ts'
