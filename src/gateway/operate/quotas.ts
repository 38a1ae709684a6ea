import { PlimsollError } from '../../core/errors.ts'
import type { EventBody } from '../../core/events.ts'
import { parsedJson } from '../../core/values.ts'
import { type CredentialQuota, quotaIn } from '../../formats/quota.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { UpstreamAnswer } from '../read-answer.ts'

/** Requests stop when so much of a window is used. */
export interface QuotaRule {
  /** As providers call it: `5h`, `7d`, `requests`, `tokens` … */
  readonly window: string
  /** Share of it. */
  readonly share: number
  /** `sub`: agents other than the main one; or the name of one. @default all */
  readonly agents?: string
}

/** The sender of a request. */
interface Asking {
  readonly tenant: string
  readonly credential: string
  readonly agent: string
}

const KEY = 'quotas'
const MOST_CREDENTIALS = 100
/** Smaller changes are neither told nor stored. */
const LEAST_CHANGE = 0.01

/** The stored usage of a tenant's credentials, newest last. */
export async function storedQuotas(store: Pick<SessionStore, 'getValue'>, tenant: string): Promise<CredentialQuota[]> {
  return Object.values(Object(parsedJson((await store.getValue(tenant, KEY)) ?? '[]'))) as CredentialQuota[]
}

export class Quotas {
  readonly #store: Pick<SessionStore, 'getValue' | 'setValue'>
  readonly #clock: Clock
  readonly #known = new BoundedMap<string, CredentialQuota>(MOST_CREDENTIALS)

  constructor(store: Pick<SessionStore, 'getValue' | 'setValue'>, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** @throws PlimsollError `budget-exceeded` where a rule stops this request. */
  async check({ tenant, credential, agent }: Asking, rules: readonly QuotaRule[]): Promise<void> {
    const own = rules.filter(({ agents = agent }) => agents === agent || (agents === 'sub' && agent !== 'main'))
    if (own.length === 0) return
    // What another process saw counts as well.
    const stored = async () => (await storedQuotas(this.#store, tenant)).find((one) => one.credential === credential)
    const { windows = [] } = this.#known.get(credential) ?? (await stored()) ?? {}
    for (const { window, share } of own) {
      const { used = 0, resetsAt = Infinity } = windows.find((one) => one.window === window) ?? {}
      if (used < share || resetsAt <= this.#clock.now()) continue
      const until = resetsAt === Infinity ? '' : ` It resets at ${new Date(resetsAt).toISOString()}.`
      const message = `${Math.round(used * 100)} % of the window ${window} is used, and requests stop at ${Math.round(share * 100)} %.`
      throw new PlimsollError('budget-exceeded', message, {
        advice: `The limit is one of the settings \`quotas\`.${until}`,
      })
    }
  }

  /** Reads an answer's headers. */
  async take(
    { tenant, credential }: Asking,
    { headers, header, status }: Pick<UpstreamAnswer, 'headers' | 'header' | 'status'>,
    emit: (event: EventBody) => void,
  ): Promise<void> {
    const at = this.#clock.now()
    const windows = quotaIn(Object.keys(headers), header, status, at)
    const before = this.#known.get(credential)?.windows ?? []
    const usedBefore = new Map(before.map(({ window, used }) => [window, used]))
    const changed = windows.filter(
      ({ window, used }) => Math.abs(used - (usedBefore.get(window) ?? -1)) >= LEAST_CHANGE,
    )
    if (windows.length === 0) return
    for (const one of changed) emit({ type: 'quota-seen', credential, ...one })
    const now = new Set(windows.map(({ window }) => window))
    const kept = before.filter(({ window, resetsAt = 0 }) => !now.has(window) && resetsAt > at)
    const quota = { credential, at, windows: [...kept, ...windows] }
    this.#known.set(credential, quota)
    if (changed.length === 0) return
    const others = (await storedQuotas(this.#store, tenant)).filter((one) => one.credential !== credential)
    await this.#store.setValue(tenant, KEY, JSON.stringify([...others.slice(1 - MOST_CREDENTIALS), quota]))
  }
}
