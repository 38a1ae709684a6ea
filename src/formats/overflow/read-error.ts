import { isRecord, listOf } from '../../core/values.ts'

/** An error answer as it arrived: the parsed body, its text, or an error event of a stream. */
export interface ProviderError {
  readonly status?: number
  readonly body: unknown
  /** What was sent: some servers quote it in their errors. */
  readonly request?: string
}

/** What the classifier looks at: the provider's own words and codes, never the request that some of them quote at length. */
export interface ErrorWords {
  readonly status: number | undefined
  readonly text: string
  /** Codes, types and statuses in lower case. */
  readonly codes: ReadonlySet<string>
  /** Numbers that the body carries beside its text. */
  readonly numbers: ReadonlyMap<string, number>
}

// An error message of a vendor is a sentence or two; some servers append the whole request to it.
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

export function readError({ status, body }: ProviderError): ErrorWords {
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

/** Gateways put the upstream's JSON into a string, sometimes twice, sometimes behind a few words. */
function parseInner(text: string): unknown {
  const start = text.search(/\{|\[\s*\{/)
  if (start === -1 || start > 200 || text.length > 100_000) return undefined
  try {
    const parsed: unknown = JSON.parse(text.slice(start))
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}
