import type { SummaryAnswer } from '../../../ports/summarizer.ts'

/** Longer answers than this that begin like a refusal have more to say than that. */
const REFUSAL_CHARACTERS = 400
const REFUSAL =
  /^\W*(?:i(?:\s+am|['’]m)\s+(?:sorry|unable|not\s+able)|(?:i\s+)?(?:apologi[sz]e|sorry)|i\s+(?:cannot|can\s?not|can['’]t|won['’]t|will\s+not|must\s+decline)|as\s+an?\s+(?:ai|language\s+model))\b/i

export interface Standard {
  /** The answer in its place: with its frame and what code carries. */
  readonly text: string
  /** What must stand in it word for word. */
  readonly carried: readonly string[]
  /** As long as what it stands for. */
  readonly isTooLong: boolean
}

/** Why an answer is no summary; undefined when it is one. */
export function faultOf(
  { text, stop, toolCalls = 0 }: SummaryAnswer,
  { text: placed, carried, isTooLong }: Standard,
): string | undefined {
  const said = text.trim()
  if (toolCalls > 0) return 'it calls tools'
  if (stop === 'refusal' || (said.length <= REFUSAL_CHARACTERS && REFUSAL.test(said))) return 'the model refused'
  if (said === '') return 'it is empty'
  if (stop !== 'end') return `it stopped for ${stop}`
  if (carried.some((fact) => !placed.includes(fact))) return 'it lost facts that code carries'
  return isTooLong ? 'it is as long as what it stands for' : undefined
}
