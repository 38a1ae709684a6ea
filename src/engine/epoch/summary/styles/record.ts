import { transcriptWithin } from '../transcript.ts'
import { LANGUAGE, type Style } from './style.ts'

/** A plain summary of the oldest part; code keeps what people said and what the tools were asked. */
export const record: Style = {
  system: (words) =>
    `Summarize this part of a conversation in at most ${words} words: topics, tools used with what they found, decisions, ` +
    `open questions, as bullets in the third person. ${LANGUAGE}`,
  prompt: (_source, transcript) => transcript,
  fallback: ({ items }, capTokens, countText) => transcriptWithin(items, capTokens, countText),
}
