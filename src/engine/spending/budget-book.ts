import { messageOf } from '../../core/values.ts'
import { SYSTEM_TENANT } from '../../core/handles.ts'
import type { EventBody } from '../../core/events.ts'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import type { Hash } from '../../core/identity.ts'
import { RECORD_VERSION, type Spend } from '../../core/records.ts'
import type {
  AccountHold,
  Budget,
  BudgetAccount,
  BudgetAnswer,
  Budgets,
  BudgetStanding,
  ReserveRequest,
  Spender,
  Spent,
} from '../../meter/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { mutex } from '../../util/mutex.ts'

export interface BookRequest extends ReserveRequest {
  /** What the session and its agent had spent before the budget was set. */
  readonly before?: { readonly session: Spent; readonly agent: Spent }
}

/**
 * Budgets that are shared by all processes on a store and outlive them. Each account is a log: a reservation is appended at the version that was
 * read, so that of two processes that reserve the last dollar at once, one gets a conflict and checks again.
 */
export interface BudgetBook {
  reserve(request: BookRequest): Promise<BudgetAnswer>
  settle(reservation: string, spent: Spent | undefined): Promise<void>
  release(reservation: string): Promise<void>
  standing(spender: Spender, at: number, also?: readonly Budget[]): Promise<readonly BudgetStanding[]>
}

interface BudgetBookOptions {
  readonly budgets: Budgets
  readonly sessions: Pick<SessionStore, 'append' | 'read'>
  readonly clock: Clock
  readonly hash: Hash
  /** The id of this process. */
  readonly holder: string
  readonly onEvent: (event: EventBody) => void
}

const MOST_ATTEMPTS = 50
/** An older reservation of another process will not be settled any more. It counts as spent: the provider may have billed it. */
const ABANDONED_MS = 3_600_000

/** The state of an account by its log, without this process's own entries, which are in memory. */
interface Followed {
  version: number
  spent: number
  readonly holds: Map<string, { readonly amount: number; readonly at: number }>
  finalUnder: number | undefined
}

/** Longer than other functions, because all of it shares the private state `followed`. */
export function createBudgetBook(options: BudgetBookOptions): BudgetBook {
  const { budgets, sessions, clock, hash, holder, onEvent } = options
  const followed = new Map<string, Followed>()
  // One writer per process: otherwise parallel requests would conflict at the store.
  const inTurn = mutex()
  const nameOf = (account: string): string => `budget-${hash(account)}`
  const line = (id: string, rest: Pick<Spend, 'held' | 'spent' | 'final' | 'under'>): Spend =>
    Object.assign({ v: RECORD_VERSION, at: clock.now(), type: 'spend', holder, id } as const, rest)

  async function follow({ key }: Pick<BudgetAccount, 'key'>): Promise<Followed> {
    const state = followed.get(key) ?? { version: 0, spent: 0, holds: new Map(), finalUnder: undefined }
    followed.set(key, state)
    for await (const { version, record } of sessions.read(SYSTEM_TENANT, nameOf(key), state.version)) {
      state.version = version
      if (record.type === 'spend' && record.holder !== holder) absorb(state, record)
    }
    let { spent } = state
    let held = 0
    for (const { amount, at } of state.holds.values()) {
      if (clock.now() - at > ABANDONED_MS) spent += amount
      else held += amount
    }
    const { finalUnder } = state
    budgets.setOthers(key, { spent, held, finalUnder })
    return state
  }

  /** The account of a session that is older than its budget starts with what the session's log says. */
  async function begin(account: BudgetAccount, before: BookRequest['before']): Promise<void> {
    const state = await follow(account)
    if (state.version > 0 || before === undefined) return
    if (account.scope !== 'session' && account.scope !== 'agent') return
    const spent = before[account.scope][account.unit]
    if (spent <= 0) return
    const first = { ...line('before', { spent }), holder: 'log' }
    await sessions.append(SYSTEM_TENANT, nameOf(account.key), [first], 0).catch(unlessConflict)
    await follow(account)
  }

  async function append(account: string, entry: Spend, expected?: number): Promise<void> {
    const version = await sessions.append(SYSTEM_TENANT, nameOf(account), [entry], expected)
    const state = followed.get(account)
    if (state?.version === version - 1) state.version = version
  }

  /** False when another process wrote first; nothing is reserved then. */
  async function publish(reservation: string, holds: readonly AccountHold[]): Promise<boolean> {
    const written: AccountHold[] = []
    for (const hold of holds) {
      const { account, amount: held, final, hard } = hold
      const entry = line(reservation, { held, final: final || undefined, under: final ? hard : undefined })
      try {
        await append(account, entry, followed.get(account)?.version ?? 0)
        written.push(hold)
      } catch (error) {
        unlessConflict(error)
        for (const before of written) await append(before.account, line(reservation, { spent: 0 }))
        return false
      }
    }
    return true
  }

  /** Without the store, budgets hold for this process only, from memory. */
  const orFromMemory = <T>(shared: () => Promise<T>, alone: () => T): Promise<T> =>
    shared().catch((error: unknown) => {
      onEvent({ type: 'degraded', what: 'budgets', cause: messageOf(error) })
      return alone()
    })

  async function reserveShared(request: BookRequest): Promise<BudgetAnswer> {
    const accounts = budgets.accountsOf(request.spender, request.at, request.also)
    for (const account of accounts) await begin(account, request.before)
    for (let attempt = 1; ; attempt++) {
      const answer = budgets.reserve(request)
      if (answer.verdict === 'halt') return answer
      let isHeld = false
      try {
        isHeld = await publish(answer.reservation, budgets.holdsOf(answer.reservation))
        if (isHeld) return answer
      } finally {
        if (!isHeld) budgets.cancel(answer.reservation)
      }
      if (attempt >= MOST_ATTEMPTS)
        throw new PlimsollError('conflict', 'A budget could not be reserved: other processes kept changing it.', {
          retryable: true,
        })
      for (const account of accounts) await follow(account)
    }
  }

  /** Settles in memory at once, then in the log. If that fails, the reservation keeps counting in other processes. */
  const close = (reservation: string, settle: () => void, spentOf: (hold: AccountHold) => number): Promise<void> =>
    inTurn(() => {
      const holds = budgets.holdsOf(reservation)
      settle()
      return orFromMemory(async () => {
        for (const hold of holds) await append(hold.account, line(reservation, { spent: spentOf(hold) }))
      }, nothing)
    })

  return {
    reserve(request) {
      const alone = (): BudgetAnswer => budgets.reserve(request)
      return inTurn(() => orFromMemory(() => reserveShared(request), alone))
    },
    settle(reservation, spent) {
      const settle = (): void => budgets.settle(reservation, spent)
      return close(reservation, settle, ({ unit, amount }) => spent?.[unit] ?? amount)
    },
    release: (reservation) =>
      close(
        reservation,
        () => budgets.release(reservation),
        () => 0,
      ),
    standing: (spender, at, also) =>
      inTurn(async () => {
        for (const account of budgets.accountsOf(spender, at, also))
          await orFromMemory<unknown>(() => follow(account), nothing)
        return budgets.standing(spender, at, also)
      }),
  }
}

const nothing = (): void => undefined

function absorb(state: Followed, { holder, id, held, spent, final, under = Infinity, at }: Spend): void {
  const key = `${holder}/${id}`
  if (held !== undefined) state.holds.set(key, { amount: held, at })
  if (spent !== undefined) {
    state.holds.delete(key)
    state.spent += spent
  }
  if (final === true) state.finalUnder = Math.max(under, state.finalUnder ?? 0)
}

const unlessConflict = (error: unknown): void => {
  if (!isPlimsollError(error, 'conflict')) throw error
}
