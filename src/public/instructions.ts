/** `plimsoll/instructions`: AGENTS.md and files like it. */
export {
  globalDirOf,
  loadInstructions,
  rootRuleOf,
  sessionInstructions,
  type InstructionOptions,
  type Instructions,
  type SessionInstructions,
} from '../engine/instructions/index.ts'
