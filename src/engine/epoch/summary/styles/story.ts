import { narrative } from '../narrative.ts'
import { LANGUAGE, newestWithin, type Style } from './style.ts'

/** AutoSRE: an account of what happened, written by code, tool by tool. */
export const story: Style = {
  system: () => `Tell what happened in this investigation so far, findings first. ${LANGUAGE}`,
  prompt: (_source, transcript) => transcript,
  fallback: ({ items, describeResult }, capTokens, countText) =>
    newestWithin(narrative(items, describeResult), capTokens, countText),
}
