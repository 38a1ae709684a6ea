import { loadInstructions, type InstructionOptions, type Instructions } from './load-instructions.ts'

/** Instructions of one session. They stand in the system prompt, which no reduction touches. */
export interface SessionInstructions {
  /** As they were when the session began. Frozen: a change at the head of a prompt would throw the provider's cache away. */
  readonly atStart: Instructions
  /**
   * What to append as a user message when the files have changed since the last look; undefined otherwise. Pin it: it stands for
   * the instructions from then on.
   */
  changes(): Promise<string | undefined>
}

export async function sessionInstructions(options: InstructionOptions): Promise<SessionInstructions> {
  const atStart = await loadInstructions(options)
  let known = atStart.merged
  return {
    atStart,
    async changes() {
      const { merged } = await loadInstructions(options)
      if (merged === known) return undefined
      known = merged
      const body = merged === '' ? 'There are no instruction files any more.' : merged
      return `[The instruction files have changed. Follow these instead of the earlier ones:]\n\n${body}`
    },
  }
}
