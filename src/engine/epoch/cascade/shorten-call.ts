import type { Handle } from '../../../core/handles.ts'
import { isJsonText } from '../../../core/values.ts'
import { fit } from '../../intake/show.ts'
import { cutHead } from '../../intake/text.ts'

export interface ShortenOptions {
  readonly budgetTokens: number
  readonly countTokens: (text: string) => number
  /** Opens the whole arguments. */
  readonly handle: Handle
}

/** Shorter values than this are names and paths: they say what the call was about. */
const LEAST_CHARACTERS = 200
/** One JSON string, and the colon that makes it a key. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

/**
 * A call's arguments with long texts cut in their middle. Keys, numbers, short values and the shape stay byte for byte, since a
 * provider checks that arguments are an object; the mark says that the cut is ours, since models copy what they see. Where even that
 * is more than asked for, the shortest there is. Undefined when there is nothing to cut.
 */
export function shortenCall(text: string, { budgetTokens, countTokens, handle }: ShortenOptions): string | undefined {
  const render = isJsonText(text)
    ? (keep: number): string =>
        text.replace(STRING, (token: string, colon?: string) => {
          if (colon !== undefined || token.length <= LEAST_CHARACTERS) return token
          const value = JSON.parse(token) as string
          const cut = cutMiddle(value, keep, handle)
          return cut === value ? token : JSON.stringify(cut)
        })
    : (keep: number): string => cutMiddle(text, keep, handle)
  const fitted = fit((keep) => ({ value: keep, text: render(keep) }), budgetTokens, countTokens)
  const shortened = fitted?.text ?? render(0)
  return shortened === text ? undefined : shortened
}

function cutMiddle(value: string, keep: number, handle: Handle): string {
  const half = Math.floor(Math.max(LEAST_CHARACTERS / 2, keep) / 2)
  const left = value.length - 2 * half
  if (left < LEAST_CHARACTERS) return value
  const tail = value.slice(-half).replace(/^[\uDC00-\uDFFF]/, '')
  return (
    `${cutHead(value, half)}\n[… ${left.toLocaleString('en')} characters of this call are out of view; it was made with all of them. ` +
    `Stored as ${handle} …]\n${tail}`
  )
}
