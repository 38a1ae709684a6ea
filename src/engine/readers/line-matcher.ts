import { RE2JS } from 're2js'
import { badInput } from './reader.ts'

export interface LineMatcher {
  /** The first match at or after `from`, in UTF-16 units; undefined when there is none. */
  find(text: string, from?: number): { readonly start: number; readonly end: number } | undefined
  test(text: string): boolean
  /** So much of a long line is searched at a time. */
  readonly window: number
  /** Whether a match may hang on what comes behind it: then one that ends with a window is none yet. */
  readonly endMatters: boolean
}

export interface LineMatcherOptions {
  readonly ignoreCase?: boolean
  /** The pattern is plain text. */
  readonly fixed?: boolean
}

/** Time is linear in the text but grows with the pattern: 5,000 optional groups took 2 s on 100 KB. */
const MAX_PATTERN_CHARACTERS = 1000
/** A repeat is copied out when it is compiled: `.{0,1000}` runs a thousand states abreast. Nested ones RE2 limits itself. */
const MAX_REPEATS = 1000
/**
 * States of the compiled pattern. Finding costs characters × states, about 50 ns each where a text keeps all of them busy: more than this and
 * even a short stretch of a long line would hold up the process.
 */
const MAX_STATES = 600
/** Characters × states that are worked on without a pause. */
const SLICE_WORK = 1_500_000
const LEAST_WINDOW = 2_048
const PLAIN = /^[^\\^$.*+?()[\]{}|]+$/

/**
 * A regular expression in RE2's syntax, which takes linear time on every text: the pattern comes from a model and the
 * text from a tool, and a backtracking engine would let either stop the process.
 */
export function lineMatcher(pattern: string, options: LineMatcherOptions = {}): LineMatcher {
  const { ignoreCase = false, fixed = false } = options
  if (pattern === '') throw badInput('The pattern is empty.')
  if (pattern.length > MAX_PATTERN_CHARACTERS)
    throw badInput(`The pattern has ${pattern.length} characters; ${MAX_PATTERN_CHARACTERS} is the most.`)
  if ((fixed || PLAIN.test(pattern)) && !ignoreCase) return plainMatcher(pattern)
  const regex = compile(fixed ? RE2JS.quote(pattern) : pattern, ignoreCase)
  return {
    test: (text) => regex.test(text),
    window: Math.max(LEAST_WINDOW, Math.floor(SLICE_WORK / regex.programSize())),
    endMatters: /\$|\\[zbB]/.test(pattern),
    find(text, from = 0) {
      const matcher = regex.matcher(text)
      return matcher.find(from) ? { start: matcher.start(), end: matcher.end() } : undefined
    },
  }
}

function plainMatcher(text: string): LineMatcher {
  return {
    find(line, from = 0) {
      const start = line.indexOf(text, from)
      return start === -1 ? undefined : { start, end: start + text.length }
    },
    test: (line) => line.includes(text),
    window: Infinity,
    endMatters: false,
  }
}

function compile(pattern: string, ignoreCase: boolean): RE2JS {
  const repeats = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].reduce(
    (sum, [, low, high]) => sum + Number(high || low),
    0,
  )
  if (repeats > MAX_REPEATS)
    throw badInput(`The counted repeats add up to ${repeats}; ${MAX_REPEATS} is the most.`, 'Use * or +.')
  const regex = parse(pattern, ignoreCase)
  const states = regex.programSize()
  if (states <= MAX_STATES) return regex
  const advice = 'Use * or + in place of counted repeats.'
  throw badInput(`The pattern compiles to ${states} states; ${MAX_STATES} is the most.`, advice)
}

function parse(pattern: string, ignoreCase: boolean): RE2JS {
  try {
    return RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
  } catch (error) {
    const advice = 'The syntax is RE2: no lookahead, lookbehind or back-references.'
    throw badInput(`The pattern is not a valid regular expression: ${(error as Error).message}.`, advice, error)
  }
}
