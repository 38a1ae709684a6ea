import type { Summarizer } from '../ports/summarizer.ts'

/** A driver, a function from prompt to text, or `mechanical` for none. */
export type SummarizerChoice = Summarizer | ((prompt: string) => string | Promise<string>) | 'mechanical'

/** A window that every current model has; a function says nothing about its own. */
const FUNCTION_WINDOW = 128_000

export function openSummarizer(choice: SummarizerChoice | undefined): Summarizer | undefined {
  if (choice === undefined || choice === 'mechanical') return undefined
  if (typeof choice !== 'function') return choice
  return {
    name: 'function',
    window: FUNCTION_WINDOW,
    summarise: async ({ system, prompt }) => ({ text: await choice(`${system}\n\n${prompt}`), stop: 'end' }),
  }
}
