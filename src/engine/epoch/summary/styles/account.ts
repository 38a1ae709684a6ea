import { excerptOf } from '../transcript.ts'
import { LANGUAGE, type Style } from './style.ts'

/**
 * The account inside our own record. User messages, plan, files, commands and excerpts stand around it word for word, so the model is asked only
 * for what code cannot write: what it means.
 */
export const account: Style = {
  system: (words) =>
    'You hand your work over to a colleague. Your account stands beside every user message, the plan, files, commands and excerpts word for ' +
    'word: do not repeat those. Use five headings: Intent; Findings (each with the file, symbol or message that shows it); Decisions (and what ' +
    'failed); State (done, half done, broken); Next step (the very next action). Name things exactly as they occur, and nothing that does ' +
    `not occur. Use at most ${words} words. ${LANGUAGE}`,
  prompt: ({ request, plan }, transcript) =>
    [
      `The user's current request: ${excerptOf(request, 2_000)}`,
      ...(plan === undefined ? [] : [`The plan as last written:\n${plan}`]),
      `Transcript:\n${transcript}`,
    ].join('\n\n'),
  // Without a model the record has no account: what was said stands in it word for word.
  fallback: () => '',
}
