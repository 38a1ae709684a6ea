import { excerptOf } from '../transcript.ts'
import { LANGUAGE, newestWithin, type Style } from './style.ts'

const planPart = (plan: string | undefined): string =>
  plan === undefined
    ? ''
    : `\n\nCurrent todo list, to be kept under its own heading and restored with the todos tool:\n${plan}`

/** contextguard: a hand-over in four sections; its fallback is the first 200 bytes of each text. */
export const handover: Style = {
  system: (words) =>
    `You hand your work over to a colleague who knows nothing about it. Summarize the conversation under four headings: ` +
    `Current State; Key Information; Context & Decisions; Exact Next Steps. Name files, commands, identifiers, errors and ` +
    `decisions exactly. Use at most ${words} words. ${LANGUAGE}`,
  prompt: ({ request, plan }, transcript) =>
    `The user's current request: ${excerptOf(request, 2_000)}\n\nTranscript:\n${transcript}${planPart(plan)}`,
  fallback: ({ items }, capTokens, countText) => {
    const lines = items
      .filter((item) => item.text !== '' && (item.kind === 'user' || item.kind === 'assistant'))
      .map((item) => `${item.role}: ${excerptOf(item.text, 200)}`)
    return newestWithin(lines, capTokens, countText)
  },
}
