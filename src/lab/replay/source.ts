import { stringsIn } from '../../core/quotes.ts'

/** What the measures need of a recording. Loaders' recordings fit it as they are. */
export interface ReplaySource {
  readonly system?: string
  readonly messages: readonly { readonly parts: readonly ReplayPart[] }[]
  readonly calls: readonly ReplayCall[]
}

export interface ReplayPart {
  readonly kind: string
  readonly text: string
  /** A call's arguments as a value. */
  readonly input?: unknown
}

export interface ReplayCall {
  /** Number of messages that existed when the call was made. */
  readonly to: number
  /** Milliseconds since 1970. */
  readonly at?: number
  /** The actual next turn. */
  readonly response: { readonly parts: readonly ReplayPart[] }
}

/**
 * The text of a part as a reader sees it. A call's arguments are JSON, where a quoted line would be hidden behind escapes: its
 * strings are read one by one.
 */
export function readableText(part: ReplayPart): string {
  if (part.kind !== 'call') return part.text
  const text = callTexts.get(part) ?? stringsIn(part.input ?? argumentsOf(part.text)).join('\n')
  callTexts.set(part, text)
  return text
}

/** A call is asked for again in every later view. */
const callTexts = new WeakMap<ReplayPart, string>()

function argumentsOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
