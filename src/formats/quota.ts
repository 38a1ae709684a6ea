/** How much of a provider's window of requests, tokens or a subscription is used. */
export interface QuotaWindow {
  /** `5h`, `7d`, `requests`, `input-tokens` … */
  readonly window: string
  /** Share of it: 1 is all. */
  readonly used: number
  /** Milliseconds since 1970. */
  readonly resetsAt?: number
}

/** What a credential has used of its windows. */
export interface CredentialQuota {
  /** A keyed hash of it. */
  readonly credential: string
  readonly at: number
  readonly windows: readonly QuotaWindow[]
}

/**
 * A subscription of Anthropic says which share is used, a plan of ChatGPT how many percent; other limits say what is left of how much. Further figures
 * of a window are in headers that are named alike.
 */
const WINDOW =
  /^(?:anthropic-ratelimit-unified-(\w+)-utilization|x-codex-(\w+)-used-percent|anthropic-ratelimit-([\w-]+)-remaining|x-ratelimit-remaining(?:-([\w-]+))?)$/
/** More of them are no vendor's. */
const MOST_WINDOWS = 12

/** What the headers of an answer say, with their names in lower case. `now` is in milliseconds. */
export function quotaIn(
  names: Iterable<string>,
  header: (name: string) => string | undefined,
  status: number,
  now: number,
): readonly QuotaWindow[] {
  const found = new Map<string, QuotaWindow>()
  for (const name of names) {
    const match = WINDOW.exec(name)
    if (match === null || found.size >= MOST_WINDOWS) continue
    const [, unified, plan, own, window = 'requests'] = match
    const other = (figure: string): string | undefined =>
      header(name.replace(/remaining|utilization|used-percent/, figure))
    const value = numberIn(header(name))
    if (value === undefined) continue
    const add = (called: string, used: number, reset: string): unknown =>
      found.set(called, { window: called, used, resetsAt: momentIn(other(reset), now) })
    const [limit = 0, minutes] = [numberIn(other('limit')), numberIn(other('window-minutes'))]
    if (unified !== undefined) add(unified, value, 'reset')
    else if (plan !== undefined) add(spanOf(minutes) ?? plan, value / 100, 'reset-after-seconds')
    else if (limit > 0) add(own ?? window, 1 - value / limit, 'reset')
  }
  const wait = header('retry-after')
  if (status === 429 && wait !== undefined)
    found.set('retry', { window: 'retry', used: 1, resetsAt: momentIn(wait, now) })
  return [...found.values()]
}

const numberIn = (text: string | undefined): number | undefined => {
  const value = text === undefined || text.trim() === '' ? NaN : Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

function spanOf(minutes: number | undefined): string | undefined {
  if (minutes === undefined) return undefined
  return minutes % 1_440 === 0 ? `${minutes / 1_440}d` : `${Math.round(minutes / 60)}h`
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A moment: a date, seconds since 1970, seconds from now, or a span such as `6m0s`. */
function momentIn(text: string | undefined, now: number): number | undefined {
  const number = numberIn(text)
  if (number !== undefined) return number > 1_000_000_000 ? number * 1_000 : now + number * 1_000
  if (text === undefined || text === '') return undefined
  const spans = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)]
  if (spans.length > 0 && spans.map(([span]) => span).join('') === text)
    return now + spans.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit!]!, 0)
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : date
}
