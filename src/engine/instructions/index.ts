export { projectRoot, ROOT_MARKERS, type RootRule } from './find-files.ts'
export {
  globalDirOf,
  loadInstructions,
  rootRuleOf,
  type InstructionOptions,
  type Instructions,
} from './load-instructions.ts'
export { sessionInstructions, type SessionInstructions } from './session-instructions.ts'
