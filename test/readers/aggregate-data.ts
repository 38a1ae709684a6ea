import { random } from './setup.ts'

export interface Call {
  readonly id: number
  readonly service: string
  readonly status: number
  readonly ms: number
  readonly user: string
  readonly at: string
}

export interface Event {
  readonly seq: number
  readonly kind: string
  readonly user: string
  readonly tags: readonly string[]
  readonly geo: { readonly country: string; readonly lat: number }
}

export interface Order {
  readonly order: number
  readonly user: string
  readonly amount: number
  readonly currency: string
  readonly note: string
}

export interface LogLine {
  readonly level: string
  readonly shard: number
  readonly took: number
}

const SERVICES = ['auth', 'billing', 'cart', 'search', 'ship', 'web']
const LEVELS = ['DEBUG', 'INFO', 'INFO', 'INFO', 'WARN', 'ERROR']
const pick = <T>(from: readonly T[], chance: number): T => from[Math.floor(chance * from.length)] as T

const cell = (text: string): string => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Four artifacts of at least 5 MB, the same in every run, and the values they were written from. */
export function aggregateData() {
  const next = random(42)
  const users = Array.from({ length: 500 }, (_, i) => `user-${String(i).padStart(4, '0')}`)
  const calls = Array.from({ length: 60_000 }, (_, id): Call => ({
    id,
    service: pick(SERVICES, next()),
    status: next() < 0.9 ? 200 : pick([400, 404, 500, 503], next()),
    ms: Math.floor(next() ** 3 * 5000),
    user: pick(users, next() ** 2),
    at: new Date(Date.UTC(2026, 0, 1) + id * 1440).toISOString(),
  }))
  const events = Array.from({ length: 65_000 }, (_, seq): Event => ({
    seq,
    kind: pick(['click', 'view', 'buy', 'error'], next() ** 1.5),
    user: pick(users, next()),
    tags: ['a', 'b', 'c', 'd'].filter(() => next() < 0.3),
    geo: { country: pick(['de', 'fr', 'us', 'jp'], next()), lat: Math.round(next() * 1800 - 900) / 10 },
  }))
  const orders = Array.from({ length: 100_000 }, (_, order): Order => ({
    order,
    user: pick(users, next()),
    amount: Math.round(next() * 100_000) / 100,
    currency: pick(['EUR', 'USD', 'GBP'], next()),
    note: next() < 0.1 ? 'fragile, "handle" with care' : 'standard delivery to the door',
  }))
  const log = Array.from({ length: 70_000 }, (): LogLine => ({
    level: pick(LEVELS, next()),
    shard: Math.floor(next() * 32),
    took: Math.floor(next() ** 2 * 9000),
  }))
  return {
    calls,
    events,
    orders,
    log,
    texts: {
      calls: JSON.stringify(calls),
      events: events.map((event) => JSON.stringify(event)).join('\n'),
      orders: `order,user,amount,currency,note\n${orders.map((o) => `${o.order},${o.user},${o.amount},${o.currency},${cell(o.note)}`).join('\n')}\n`,
      log: log
        .map(
          (l, i) =>
            `2026-01-02T03:04:${String(i % 60).padStart(2, '0')}.${String(i % 1000).padStart(3, '0')}Z ${l.level} [worker-${i % 8}] shard=${l.shard} request handled took=${l.took}ms`,
        )
        .join('\n'),
    },
  }
}
