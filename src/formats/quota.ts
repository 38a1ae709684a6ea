/** How much of a provider's window of requests, tokens or a subscription is used. */
export interface QuotaWindow {
  /** `5h`, `7d`, `requests`, `input-tokens` … */
  readonly window: string
  /** Share of it: 1 is all. */
  readonly used: number
  /** Milliseconds since 1970. */
  readonly resetsAt?: number
}

type Reader = (name: string) => string | undefined

/** Subscriptions of Anthropic say their share; its other limits, and those of most vendors, what is left of how much. */
const SHARES = /^anthropic-ratelimit-unified-(\w+)-utilization$/
const LEFT: readonly RegExp[] = [
  /^(anthropic-ratelimit-(?!unified)([\w-]+?))-remaining$/,
  /^(x-ratelimit)-remaining(?:-([\w-]+))?$/,
]
/** ChatGPT's plans: a short and a long window, in percent. */
const PERCENTS = /^(x-codex-(primary|secondary))-used-percent$/
/** More of them are no vendor's. */
const MOST_WINDOWS = 12

/** What the headers of an answer say, with their names in lower case. `now` is in milliseconds. */
export function quotaIn(names: Iterable<string>, header: Reader, status: number, now: number): readonly QuotaWindow[] {
  const found = new Map<string, QuotaWindow>()
  const add = (window: string, used: number | undefined, reset: string | undefined): void => {
    if (used === undefined || found.size >= MOST_WINDOWS) return
    found.set(window, { window, used, resetsAt: momentIn(reset, now) })
  }
  for (const name of names) {
    const share = SHARES.exec(name)?.[1]
    if (share !== undefined) add(share, numberIn(header(name)), header(`anthropic-ratelimit-unified-${share}-reset`))
    for (const pattern of LEFT) {
      const match = pattern.exec(name)
      if (match === null) continue
      const [, stem = '', window = 'requests'] = match
      const isSuffixed = stem === 'x-ratelimit'
      const member = (part: string): string | undefined =>
        header(isSuffixed ? `${stem}-${part}${match[2] === undefined ? '' : `-${window}`}` : `${stem}-${part}`)
      const [limit, left] = [numberIn(member('limit')), numberIn(header(name))]
      if (limit !== undefined && limit > 0 && left !== undefined) add(window, 1 - left / limit, member('reset'))
    }
    const plan = PERCENTS.exec(name)
    if (plan !== null) {
      const percent = numberIn(header(name))
      const minutes = numberIn(header(`${plan[1]}-window-minutes`))
      const reset = header(`${plan[1]}-reset-after-seconds`) ?? header(`${plan[1]}-reset-at`)
      add(minutes === undefined ? plan[2]! : spanOf(minutes), percent === undefined ? undefined : percent / 100, reset)
    }
  }
  const wait = header('retry-after')
  if (status === 429 && wait !== undefined) add('retry', 1, wait)
  return [...found.values()]
}

const numberIn = (text: string | undefined): number | undefined => {
  const value = text === undefined || text.trim() === '' ? NaN : Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

const spanOf = (minutes: number): string =>
  minutes % 1_440 === 0 ? `${minutes / 1_440}d` : `${Math.round(minutes / 60)}h`

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
