/** `plimsoll/config`: config files, read and checked. */
export { optionsOf, type PlimsollSettings } from '../settings/apply.ts'
export {
  checkConfigText,
  configJsonSchema,
  loadConfig,
  type CheckedConfig,
  type ConfigProblem,
} from '../settings/file.ts'
