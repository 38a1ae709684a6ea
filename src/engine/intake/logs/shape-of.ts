import { AlikeMemo, NUMBERED_WORDS_ASIDE } from './alike-memo.ts'
import { SEPARATOR } from './drain-merge.ts'
import { holdsMonthDate, tokenise } from './log-tokens.ts'

/** The masked tokens of a message and the key that they make. */
export interface MessageShape {
  readonly key: string
  readonly tokens: readonly string[]
}

/** `text` and `start` say where the message stands: a text is faster to read than a piece that was cut out of it. */
export type ShapeOf = (message: string, text?: string, start?: number) => MessageShape

/** Such a message is seldom like another. */
const LONG_MESSAGE = 1_000
/** Shapes remembered at a time: as many as a drain holds by default. */
const SHAPES = 4_096

/** Reads shapes of messages. A word with a digit in it is a parameter, so messages that differ in nothing else are read once. */
export function shapeReader(maxTokens = 60): ShapeOf {
  const known = new AlikeMemo<MessageShape>(NUMBERED_WORDS_ASIDE, SHAPES)
  return (message, text = message, start = 0) => {
    const end = start + message.length
    // What is a date in words depends on how many digits it has.
    const apart = message.length > LONG_MESSAGE || holdsMonthDate(message)
    const found = apart ? undefined : known.get(text, start, end)
    if (found !== undefined) return found
    const tokens = tokenise(message, maxTokens)
    const shape = { key: tokens.join(SEPARATOR), tokens }
    if (!apart) known.set(shape, text, start, end)
    return shape
  }
}
