import { isRecord, listOf, parsedJson } from '../../core/values.ts'
import { ERROR_PATTERNS, type ErrorKind, type ErrorPattern, OVERFLOW_WORDINGS } from './patterns.ts'

/** An error answer: its parsed body, its text, or an error event of a stream. */
export interface ProviderError {
  readonly status?: number
  readonly body: unknown
  /** The request that was sent: some servers quote it in their errors. */
  readonly request?: string
}

/** The provider's own words and codes, without the request that some of them quote. */
export interface ErrorWords {
  readonly status: number | undefined
  readonly text: string
  /** Codes, types and statuses in lower case. */
  readonly codes: ReadonlySet<string>
  /** Numbers that the body has in addition to its text. */
  readonly numbers: ReadonlyMap<string, number>
}

// A vendor's error message is a sentence or two; some servers append the whole request to it.
const MAX_TEXT = 4_000
const MAX_DEPTH = 10
const MAX_NODES = 200

const TEXT_KEYS = new Set(['message', 'msg', 'detail', 'details', 'error', 'errormessage', 'raw', 'param', 'title'])
const CODE_KEYS = new Set([
  'code',
  'type',
  'status',
  'error_type',
  'error_code',
  'reason',
  '__type',
  'name',
  'errortype',
])

function readError({ status, body }: ProviderError): ErrorWords {
  const texts: string[] = []
  const codes = new Set<string>()
  const numbers = new Map<string, number>()
  let nodes = 0
  const visit = (value: unknown, key: string, depth: number): void => {
    nodes += 1
    if (depth > MAX_DEPTH || nodes > MAX_NODES) return
    if (typeof value === 'string') {
      const inner = parseInner(value)
      if (inner !== undefined) visit(inner, key, depth + 1)
      else if (CODE_KEYS.has(key)) codes.add(value.toLowerCase())
      else if (TEXT_KEYS.has(key) || depth === 0) texts.push(value.slice(0, MAX_TEXT))
    } else if (typeof value === 'number') {
      numbers.set(key, value)
      if (CODE_KEYS.has(key)) codes.add(String(value))
    } else if (Array.isArray(value)) {
      for (const entry of listOf(value).slice(0, 10)) visit(entry, key, depth + 1)
    } else if (isRecord(value)) {
      for (const [name, child] of Object.entries(value)) visit(child, name.toLowerCase(), depth + 1)
    }
  }
  visit(body, '', 0)
  return { status, text: texts.join('\n').slice(0, MAX_TEXT), codes, numbers }
}

/** Gateways put the upstream's JSON into a string, sometimes twice, sometimes after a few words. */
function parseInner(text: string): unknown {
  const start = text.search(/\{|\[\s*\{/)
  if (start === -1 || start > 200 || text.length > 100_000) return undefined
  const parsed = parsedJson(text.slice(start))
  return typeof parsed === 'object' && parsed !== null ? parsed : undefined
}

export type { ErrorKind }

export interface ClassifiedError {
  readonly kind: ErrorKind
  /** The vendor with this wording, or `any` for wordings that several share. */
  readonly vendor: string
  /** The limit that the error names: tokens of the window, of the quota or of the answer, or bytes. */
  readonly limit?: number
  /** Prompt tokens by the provider's count. */
  readonly input?: number
  /** Output tokens that were requested. */
  readonly output?: number
  /** Input and output together, or the size that was sent. */
  readonly requested?: number
  /** Waiting does not help: this request alone exceeds the quota. */
  readonly permanent?: true
}

/** Classifies an error answer. Never throws, and does bounded work on any input. */
export function classifyProviderError(error: ProviderError): ClassifiedError {
  const words = readError(error)
  return byCode(words) ?? byText(words, error.request) ?? byStatus(words)
}

/** Classifies by codes with only one meaning. */
function byCode({ codes, numbers, text }: ErrorWords): ClassifiedError | undefined {
  if (codes.has('exceed_context_size_error')) {
    return {
      kind: 'overflow',
      vendor: 'llama-server',
      ...numbersOf({ limit: numbers.get('n_ctx'), input: numbers.get('n_prompt_tokens') }),
    }
  }
  if (codes.has('model_max_prompt_tokens_exceeded') || codes.has('context_length_exceeded')) {
    // The code is certain; the message may contain the numbers.
    return match(text, ofKind('overflow')) ?? { kind: 'overflow', vendor: 'openai' }
  }
  if (codes.has('context_window_exceeded') || codes.has('contextwindowexceedederror')) {
    return match(text, ofKind('overflow')) ?? { kind: 'overflow', vendor: 'any' }
  }
  return undefined
}

function byText(words: ErrorWords, request: string | undefined): ClassifiedError | undefined {
  // A 429 is always about time; of its text, only the numbers are used.
  if (words.status === 429 || isThrottleCode(words.codes)) {
    const known = match(words.text, ofKind('throttle')) ?? match(words.text, ofKind('other'))
    return known ?? { kind: 'throttle', vendor: 'any' }
  }
  if (words.codes.has('string_above_max_length') || words.codes.has('request_too_large')) {
    return match(words.text, ofKind('body-size')) ?? { kind: 'body-size', vendor: 'any' }
  }
  // The status is not checked further: some local servers answer 500 to an overflow, or 200 with an error inside.
  const found = match(words.text, () => true)
  if (found?.kind !== 'overflow') return found
  return isAboutElse(words) || isEcho(words.text, request) ? { kind: 'other', vendor: 'any' } : found
}

/** Statuses about permissions, paths and methods, never about size; their text may quote anything. */
const OTHER_STATUSES = new Set<number | undefined>([401, 403, 404, 405, 407])
const OTHER_CODES = [
  'invalid_value',
  'invalid_type',
  'invalid_api_key',
  'model_not_found',
  'authentication_error',
  'permission_error',
  'not_found_error',
]

const isAboutElse = ({ status, codes }: ErrorWords): boolean =>
  OTHER_STATUSES.has(status) || OTHER_CODES.some((code) => codes.has(code))

/** A validator's words before the value that it complains about. */
const COMPLAINT = /validation error|input_value=|(?:messages|contents|input)[.[]\d+|invalid value for|not allowed/i
/** A vendor's wording starts the message, or follows the short name of a gateway. */
const MOST_IN_FRONT = 200

/** Whether the wording was quoted: validators quote the faulty value, and text that an agent read may contain any vendor's wording. */
function isEcho(text: string, request: string | undefined): boolean {
  const found = OVERFLOW_WORDINGS.map(({ pattern }) => pattern.exec(text)).find((one) => one !== null)
  if (found === undefined || found === null) return false
  const inFront = text.slice(0, found.index)
  // This server reports its own overflows as validation errors.
  if (COMPLAINT.test(inFront.replace(/^input validation error:\s*$/i, ''))) return true
  if (inFront.length === 0 || request === undefined) return inFront.length > MOST_IN_FRONT
  // Including its numbers, a wording is not in the request by chance.
  return /\d/.test(found[0]) && lettersOf(request).includes(lettersOf(found[0]))
}

/** The letters and digits, which quoting and escaping do not change. */
const lettersOf = (text: string): string => text.replace(/\\[nrt]|[^\p{L}\p{N}]/gu, '')

const THROTTLE_CODES = [
  'rate_limit_exceeded',
  'rate_limit_error',
  'throttlingexception',
  'resource_exhausted',
  'too_many_requests',
  'ratelimitreached',
]

const isThrottleCode = (codes: ReadonlySet<string>): boolean => THROTTLE_CODES.some((code) => codes.has(code))

function byStatus({ status }: ErrorWords): ClassifiedError {
  return { kind: status === 413 ? 'body-size' : 'other', vendor: 'any' }
}

const ofKind =
  (kind: ErrorKind) =>
  (pattern: ErrorPattern): boolean =>
    pattern.kind === kind

function match(text: string, wanted: (pattern: ErrorPattern) => boolean): ClassifiedError | undefined {
  for (const entry of ERROR_PATTERNS) {
    if (!wanted(entry)) continue
    const found = entry.pattern.exec(text)
    if (found === null) continue
    const { limit, input, output, requested } = found.groups ?? {}
    const numbers = numbersOf({
      limit: parse(limit),
      input: parse(input),
      output: parse(output),
      requested: parse(requested),
    })
    const { kind, vendor } = entry
    const hopeless = kind === 'throttle' && (numbers.requested ?? 0) > (numbers.limit ?? Infinity)
    return { kind, vendor, ...numbers, permanent: hopeless ? true : undefined }
  }
  return undefined
}

type Numbers = Pick<ClassifiedError, 'limit' | 'input' | 'output' | 'requested'>

const parse = (digits: string | undefined): number | undefined =>
  digits === undefined ? undefined : plausible(Number(digits.replace(/[,_]/g, '')))

/** Undefined for numbers that cannot be a window, a quota or an answer. */
const plausible = (amount: number): number | undefined => (amount > 0 && amount < 1e9 ? amount : undefined)

function numbersOf(values: { readonly [Key in keyof Numbers]: number | undefined }): Numbers {
  const known = Object.entries(values).filter((entry): entry is [string, number] => Number.isFinite(entry[1]))
  return Object.fromEntries(known)
}
