export { projectRoot, ROOT_MARKERS } from './find-files.ts'
export { globalDirOf, loadInstructions, type InstructionOptions, type Instructions } from './load-instructions.ts'
export { sessionInstructions, type SessionInstructions } from './session-instructions.ts'
