import type { LearnedLimit, Target } from '../../core/target.ts'
import { MOST_OF_WINDOW } from '../../meter/index.ts'

/** What a provider said when it refused a request for its size. */
export interface SizeRefusal {
  readonly kind: 'overflow' | 'body-size'
  /** What fits, where the refusal names it: tokens of the window, or bytes. */
  readonly limit?: number
  /** Prompt tokens as the provider counted them. */
  readonly input?: number
}

/** What we had thought of the request that was refused. */
interface RefusedRequest {
  /** Upper bound of its tokens. */
  readonly tokens: number
  readonly outputReserve: number
  readonly bytes: number
  /** Everything that the provider counts stands in it. @default true */
  readonly isWhole?: boolean
}

interface Lesson {
  /** What the refusal itself says about this endpoint, for everybody; absent where it may be about something else. */
  readonly learned?: LearnedLimit
  /** What this one conversation is kept within from now on; absent where a smaller history would not help. */
  readonly retry?: LearnedLimit
}

/** A refusal without numbers only says "less than this"; this share of it is tried next. */
const GUESS = 0.75
/** Bytes are mostly pictures and long results: a smaller step would often fail again. */
const GUESS_BYTES = 0.5
/** Windows outside are typing errors, or numbers that somebody made up. */
const PLAUSIBLE = [1_024, 100_000_000] as const

/**
 * A window is learned only from the number that the refusal names, and only where our own count was above it too: else the refusal is about
 * something that we cannot see, or about how we count. The conversation at hand is made smaller in any case that can help.
 */
export function lessonOf({ kind, limit, input }: SizeRefusal, sent: RefusedRequest): Lesson {
  const { tokens, outputReserve, bytes, isWhole = true } = sent
  if (kind === 'body-size') {
    const learned = limit === undefined || limit >= bytes ? undefined : { bodyBytes: limit }
    return { learned, retry: learned ?? { bodyBytes: Math.floor(bytes * GUESS_BYTES) } }
  }
  const isNamed = limit !== undefined && limit >= PLAUSIBLE[0] && limit <= PLAUSIBLE[1]
  const window = retryWindow(isNamed ? limit : undefined, input, sent)
  return {
    learned: isNamed && isWhole && tokens + outputReserve > limit ? { window: limit } : undefined,
    retry: window === undefined ? undefined : { window },
  }
}

/** A count of ours that was too low makes the limit smaller by the same factor; what we cannot see takes its own tokens from it. */
function retryWindow(limit: number | undefined, input: number | undefined, sent: RefusedRequest): number | undefined {
  const { tokens, outputReserve, isWhole = true } = sent
  if (limit === undefined) return windowFor(tokens * GUESS, outputReserve)
  if (input === undefined) {
    return tokens + outputReserve > limit ? limit : windowFor(tokens * GUESS, outputReserve)
  }
  const window = isWhole ? limit / Math.max(1, input / Math.max(1, tokens)) : limit - Math.max(0, input - tokens)
  return window < PLAUSIBLE[0] ? undefined : Math.floor(window)
}

/** The window in which so many prompt tokens fit beside the output reserve. */
function windowFor(promptTokens: number, outputReserve: number): number {
  const shared = promptTokens / (1 - MOST_OF_WINDOW)
  return Math.floor(outputReserve >= shared ? shared : promptTokens + outputReserve)
}

/** The target for one conversation that was refused: that holds over a window that was set, and over what others were taught. */
export function within(target: Target, { window, bodyBytes }: LearnedLimit): Target {
  const { learned, heldWithin } = target
  return {
    ...target,
    heldWithin: lesser(window, heldWithin),
    learned: { ...learned, bodyBytes: lesser(bodyBytes, learned?.bodyBytes) },
  }
}

const lesser = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
