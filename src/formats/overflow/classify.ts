import { ERROR_PATTERNS } from './patterns.ts'
import type { ErrorKind, ErrorPattern } from './patterns.ts'
import type { ErrorWords, ProviderError } from './read-error.ts'
import { readError } from './read-error.ts'

export type { ProviderError } from './read-error.ts'

export type { ErrorKind }

export interface ClassifiedError {
  readonly kind: ErrorKind
  /** Whose wording it was, as far as the words tell; `any` for wordings that many share. */
  readonly vendor: string
  /** What fits, where the error names it: tokens of the window, of the quota or of the answer, or bytes. */
  readonly limit?: number
  /** Prompt tokens as the provider counted them. */
  readonly input?: number
  /** Answer tokens that were asked for. */
  readonly output?: number
  /** Input and output together, or the size that was sent. */
  readonly requested?: number
  /** Waiting does not help: this one request is larger than the whole quota. */
  readonly permanent?: true
}

/** Says what kind of refusal an error answer is. Never throws; bounded work on any input. */
export function classifyProviderError(error: ProviderError): ClassifiedError {
  const words = readError(error)
  return byCode(words) ?? byText(words) ?? byStatus(words)
}

/** Codes that mean one thing only. */
function byCode({ codes, numbers, text }: ErrorWords): ClassifiedError | undefined {
  if (codes.has('exceed_context_size_error')) {
    return {
      kind: 'overflow',
      vendor: 'llama-server',
      ...numbersOf({ limit: numbers.get('n_ctx'), input: numbers.get('n_prompt_tokens') }),
    }
  }
  if (codes.has('model_max_prompt_tokens_exceeded') || codes.has('context_length_exceeded')) {
    // The code is certain, the sentence beside it may name the numbers.
    return match(text, ofKind('overflow')) ?? { kind: 'overflow', vendor: 'openai' }
  }
  if (codes.has('context_window_exceeded') || codes.has('contextwindowexceedederror')) {
    return match(text, ofKind('overflow')) ?? { kind: 'overflow', vendor: 'any' }
  }
  return undefined
}

function byText(words: ErrorWords): ClassifiedError | undefined {
  // A 429 is about time, whatever it says about tokens; only its numbers are of interest.
  if (words.status === 429 || isThrottleCode(words.codes)) {
    const known = match(words.text, ofKind('throttle')) ?? match(words.text, ofKind('other'))
    return known ?? { kind: 'throttle', vendor: 'any' }
  }
  if (words.codes.has('string_above_max_length') || words.codes.has('request_too_large')) {
    return match(words.text, ofKind('body-size')) ?? { kind: 'body-size', vendor: 'any' }
  }
  // No guard by status: some local servers answer 500 to an overflow, or 200 with an error inside.
  return match(words.text, () => true)
}

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
    return { kind, vendor, ...numbers, ...(hopeless && { permanent: true as const }) }
  }
  return undefined
}

type Numbers = Pick<ClassifiedError, 'limit' | 'input' | 'output' | 'requested'>

const parse = (digits: string | undefined): number | undefined =>
  digits === undefined ? undefined : Number(digits.replace(/[,_]/g, ''))

function numbersOf(values: { readonly [Key in keyof Numbers]: number | undefined }): Numbers {
  const known = Object.entries(values).filter((entry): entry is [string, number] => Number.isFinite(entry[1]))
  return Object.fromEntries(known)
}
