import { PlimsollError } from '../../core/errors.ts'
import type { EventBody } from '../../core/events.ts'
import { parsedJson, recordOf } from '../../core/values.ts'
import { quotaIn, type QuotaWindow } from '../../formats/quota.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { UpstreamAnswer } from '../read-answer.ts'

/** What a credential has used of its windows. */
export interface CredentialQuota {
  /** A keyed hash of it. */
  readonly credential: string
  readonly at: number
  readonly windows: readonly QuotaWindow[]
}

/** Requests stop when so much of a window is used. */
export interface QuotaRule {
  /** As providers call it: `5h`, `7d`, `requests`, `tokens` … */
  readonly window: string
  /** Share of it. */
  readonly share: number
  /** `sub`: agents other than the main one; or the name of one. @default all */
  readonly agents?: string
}

/** Who asks. */
interface Asking {
  readonly tenant: string
  readonly credential: string
  readonly agent: string
}

export interface Quotas {
  /** @throws PlimsollError `budget-exceeded` where a rule stops this request. */
  check(asking: Asking, rules: readonly QuotaRule[]): Promise<void>
  /** Reads an answer's headers. */
  take(
    asking: Asking,
    answer: Pick<UpstreamAnswer, 'headers' | 'header' | 'status'>,
    emit: (event: EventBody) => void,
  ): Promise<void>
}

const KEY = 'quotas'
const MOST_CREDENTIALS = 100
/** Writing the store for each answer would cost more than anybody learns from it. */
const WRITE_EVERY_MS = 10_000

/** What the store holds of a tenant's credentials, the newest last. */
export async function storedQuotas(store: Pick<SessionStore, 'getValue'>, tenant: string): Promise<CredentialQuota[]> {
  const stored = recordOf(parsedJson((await store.getValue(tenant, KEY)) ?? '{}')) ?? {}
  return Object.values(stored) as CredentialQuota[]
}

export function createQuotas(store: Pick<SessionStore, 'getValue' | 'setValue'>, clock: Clock): Quotas {
  const known = new BoundedMap<string, CredentialQuota>(MOST_CREDENTIALS)
  const written = new BoundedMap<string, number>(MOST_CREDENTIALS)

  /** What another process saw counts as well. */
  async function of({ tenant, credential }: Asking): Promise<CredentialQuota | undefined> {
    const own = known.get(credential)
    return own ?? (await storedQuotas(store, tenant)).find((one) => one.credential === credential)
  }

  return {
    async check(asking, rules) {
      const own = rules.filter(
        ({ agents = asking.agent }) => agents === asking.agent || (agents === 'sub' && asking.agent !== 'main'),
      )
      if (own.length === 0) return
      const now = clock.now()
      const { windows = [] } = (await of(asking)) ?? {}
      for (const { window, share } of own) {
        const found = windows.find((one) => one.window === window)
        if (found === undefined || found.used < share || (found.resetsAt ?? Infinity) <= now) continue
        const until = found.resetsAt === undefined ? '' : ` It resets at ${new Date(found.resetsAt).toISOString()}.`
        const used = `${Math.round(found.used * 100)} % of the window ${window} is used, and requests stop at ${Math.round(share * 100)} %.`
        throw new PlimsollError('budget-exceeded', used, {
          advice: `The limit is one of the settings \`quotas\`.${until}`,
        })
      }
    },
    async take(asking, { headers, header, status }, emit) {
      const { tenant, credential } = asking
      const at = clock.now()
      const windows = quotaIn(Object.keys(headers), header, status, at)
      if (windows.length === 0) return
      const before = known.get(credential)?.windows ?? []
      for (const one of windows) {
        const was = before.find(({ window }) => window === one.window)
        if (was === undefined || Math.abs(was.used - one.used) >= 0.01) emit({ type: 'quota-seen', credential, ...one })
      }
      const names = new Set(windows.map(({ window }) => window))
      const kept = before.filter(({ window, resetsAt = 0 }) => !names.has(window) && resetsAt > at)
      known.set(credential, { credential, at, windows: [...kept, ...windows] })
      if (at - (written.get(credential) ?? -Infinity) < WRITE_EVERY_MS) return
      written.set(credential, at)
      const others = (await storedQuotas(store, tenant)).filter((one) => one.credential !== credential)
      const all = [...others.slice(1 - MOST_CREDENTIALS), known.get(credential)!]
      await store.setValue(tenant, KEY, JSON.stringify(Object.fromEntries(all.map((one) => [one.credential, one]))))
    },
  }
}
