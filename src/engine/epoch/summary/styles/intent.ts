import { LANGUAGE, type Style } from './style.ts'

/** adk-code: what the user wants, in two or three sentences, from the user's messages. */
export const intent: Style = {
  system: () => `Summarise the user's intent in 2-3 sentences. ${LANGUAGE}`,
  reads: (items) => items.filter((item) => item.kind === 'user'),
  prompt: (_source, transcript) => transcript,
  fallback: ({ items }) => {
    const said = items.filter((item) => item.kind === 'user').length
    return `The conversation so far had ${said} user messages.`
  },
}
