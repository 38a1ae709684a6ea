import { RE2JS } from 're2js'
import { PlimsollError } from '../../core/errors.ts'

export interface LineMatcher {
  /** The first match at or after `from`, in UTF-16 units; undefined when there is none. */
  find(text: string, from?: number): { readonly start: number; readonly end: number } | undefined
  test(text: string): boolean
  /** So much of a long line is searched at a time. */
  readonly window: number
  /** Whether a match may hang on what comes behind it: then one that ends with a window is none yet. */
  readonly endMatters: boolean
  /**
   * The first place at or after `from` of several lines where a matching line may be: lines in between do not match.
   * Undefined when only looking at every line can tell.
   */
  readonly candidate?: (text: string, from: number) => number
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
/** So few search the longest stretch in one go. */
const FEW_STATES = 20
/** Shorter text stands in too many lines to be worth a search of its own. */
const LEAST_LITERAL = 2
const PLAIN = /^[^\\^$.*+?()[\]{}|]+$/

/**
 * A regular expression in RE2's syntax, which takes linear time on every text: the pattern comes from a model and the
 * text from a tool, and a backtracking engine would let either stop the process.
 */
export function lineMatcher(pattern: string, options: LineMatcherOptions = {}): LineMatcher {
  const { ignoreCase = false, fixed = false } = options
  if (pattern === '') throw new PlimsollError('bad-input', 'The pattern is empty.')
  if (pattern.length > MAX_PATTERN_CHARACTERS) {
    throw new PlimsollError(
      'bad-input',
      `The pattern has ${pattern.length} characters; ${MAX_PATTERN_CHARACTERS} is the most.`,
    )
  }
  if ((fixed || PLAIN.test(pattern)) && !ignoreCase) return plainMatcher(pattern)
  const regex = compile(fixed ? RE2JS.quote(pattern) : pattern, ignoreCase)
  const line: LineMatcher = {
    test: (text) => regex.test(text),
    window: windowFor(regex.programSize()),
    endMatters: /\$|\\[zbB]/.test(pattern),
    find(text, from = 0) {
      const matcher = regex.matcher(text)
      return matcher.find(from) ? { start: matcher.start(), end: matcher.end() } : undefined
    },
  }
  const literal = fixed ? pattern : requiredLiteral(pattern)
  return literal.length < LEAST_LITERAL || ignoreCase
    ? line
    : { ...line, candidate: (text, from) => text.indexOf(literal, from) }
}

const windowFor = (states: number): number =>
  states <= FEW_STATES ? Infinity : Math.max(LEAST_WINDOW, Math.floor(SLICE_WORK / states))

function plainMatcher(text: string): LineMatcher {
  const find: LineMatcher['find'] = (line, from = 0) => {
    const start = line.indexOf(text, from)
    return start === -1 ? undefined : { start, end: start + text.length }
  }
  return {
    find,
    test: (line) => line.includes(text),
    window: Infinity,
    endMatters: false,
    candidate: (line, from) => line.indexOf(text, from),
  }
}

function compile(pattern: string, ignoreCase: boolean): RE2JS {
  const repeats = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].reduce(
    (sum, [, low, high]) => sum + Number(high || low),
    0,
  )
  if (repeats > MAX_REPEATS) {
    throw new PlimsollError('bad-input', `The counted repeats add up to ${repeats}; ${MAX_REPEATS} is the most.`, {
      advice: 'Use * or +.',
    })
  }
  const regex = parse(pattern, ignoreCase)
  if (regex.programSize() <= MAX_STATES) return regex
  throw new PlimsollError(
    'bad-input',
    `The pattern compiles to ${regex.programSize()} states; ${MAX_STATES} is the most.`,
    { advice: 'Use * or + in place of counted repeats.' },
  )
}

function parse(pattern: string, ignoreCase: boolean): RE2JS {
  try {
    return RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
  } catch (error) {
    throw new PlimsollError(
      'bad-input',
      `The pattern is not a valid regular expression: ${error instanceof Error ? error.message : String(error)}.`,
      {
        advice: 'The syntax is RE2: no lookahead, lookbehind or back-references.',
        cause: error,
      },
    )
  }
}

const META = new Set('\\^$.*+?()[]{}|')

/**
 * The longest plain text that every match of a pattern must contain, or '' when none is certain. Searching for it first
 * passes over most lines at the speed of `indexOf`, an order of magnitude faster than any automaton here.
 */
export function requiredLiteral(pattern: string): string {
  let best = ''
  let run = ''
  let depth = 0
  const endRun = (): void => {
    if (run.length > best.length) best = run
    run = ''
  }
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i] ?? ''
    // An alternative at the top means that no part is certain.
    if (character === '|' && depth === 0) return ''
    if (character === '\\') {
      const escaped = pattern[++i] ?? ''
      if (META.has(escaped) && depth === 0) run += escaped
      else if (/\w/.test(escaped)) {
        // Classes, boundaries, and escapes with arguments such as \x41, \pL or \Qtext\E.
        if (/[xpPQ0-9]/.test(escaped)) return depth === 0 ? longer(best, run) : best
        endRun()
      }
    } else if (character === '[') {
      endRun()
      i = endOfClass(pattern, i)
    } else if (character === '(') {
      endRun()
      // Flags change what the text around them means.
      if (/^\(\?[a-zA-Z-]+[):]/.test(pattern.slice(i)) && !pattern.startsWith('(?P<', i)) return ''
      depth++
    } else if (character === ')') {
      depth--
      run = ''
    } else if (character === '*' || character === '?' || character === '{') {
      run = run.slice(0, -1)
      endRun()
      if (character === '{') i = Math.max(i, pattern.indexOf('}', i))
    } else if (META.has(character)) endRun()
    else if (depth === 0) run += character
  }
  return longer(best, run)
}

const longer = (a: string, b: string): string => (b.length > a.length ? b : a)

/** The place of the bracket that closes a class; `]` as its first member does not. */
function endOfClass(pattern: string, start: number): number {
  let at = start + 1
  if (pattern[at] === '^') at++
  if (pattern[at] === ']') at++
  for (; at < pattern.length && pattern[at] !== ']'; at++) {
    if (pattern[at] === '\\') at++
    else if (pattern.startsWith('[:', at)) at = Math.max(at, pattern.indexOf(':]', at) + 1)
  }
  return at
}
