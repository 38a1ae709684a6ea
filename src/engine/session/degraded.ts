import { messageOf } from '../../core/values.ts'
import { isPlimsollError } from '../../core/errors.ts'
import type { FirstSendEdit } from '../../core/records.ts'
import type { FoundEpoch, StoredRecord } from '../../ports/session-store.ts'
import type { EngineDeps } from '../deps.ts'
import type { Branch } from './branch.ts'
import { appendTo } from './log.ts'

export interface TolerantDeps {
  readonly deps: EngineDeps
  readonly isDown: () => boolean
  /** Called when a call of the session begins: tries the store again, unless it failed within the last second. */
  begin(): void
}

/** Pause before an unreachable store is tried again: each attempt may wait for a timeout. */
const QUIET_MS = 1_000

/**
 * A store that cannot be reached must not stop an agent, nor let a body leave that is too large. Each call goes to the real store
 * until one fails; from there on memory answers: the epoch and the edits that this branch knows, and the outbox. The
 * plan is then made from the transcript alone, by code alone, and written down when the store is back. Longer than other functions: an answer from
 * memory for each method of the stores.
 */
export function tolerantDeps(deps: EngineDeps, branch: Branch): TolerantDeps {
  const { clock, sessions, artifacts } = deps
  const { outbox, tenant, session, agent } = branch
  let isDown = false
  let quietUntil = 0
  let failures = 0
  const goDown = (what: string, cause: unknown): void => {
    isDown = true
    // A single failure may be one broken connection: the next call tries again at once and flushes the outbox.
    quietUntil = failures++ === 0 ? 0 : clock.now() + QUIET_MS
    const message = messageOf(cause)
    deps.emit({ type: 'degraded', what, cause: message, at: clock.now(), tenant, session, agent })
  }
  /** Wraps a store function: while the store is unreachable, memory answers. */
  const or =
    <A extends unknown[], T>(store: object, real: (...given: A) => Promise<T>, fromMemory: (...given: A) => T) =>
    async (...given: A): Promise<T> => {
      if (isDown) return fromMemory(...given)
      try {
        const answer = await real.apply(store, given)
        failures = 0
        return answer
      } catch (error) {
        if (!isPlimsollError(error, 'store-unavailable')) throw error
        goDown(store === sessions ? 'session store' : 'artifact store', error)
        return fromMemory(...given)
      }
    }
  /** Ends where the store goes away. */
  async function* readWhileUp(all: AsyncIterable<StoredRecord>): AsyncIterable<StoredRecord> {
    const records = all[Symbol.asyncIterator]()
    const end: IteratorResult<StoredRecord> = { done: true, value: undefined }
    const next = or(
      sessions,
      () => records.next(),
      () => end,
    )
    for (let one = await next(); one.done !== true; one = await next()) yield one.value
  }
  return {
    isDown: () => isDown,
    begin() {
      isDown = clock.now() < quietUntil
    },
    deps: {
      ...deps,
      sessions: {
        ...sessions,
        append: or(sessions, sessions.append, (_tenant, _session, records) => {
          outbox.addRecords(records)
          // Not a version of the log: the branch reads these entries once they are written.
          return -1
        }),
        version: or(sessions, sessions.version, () => branch.log.version),
        read: (...given) => readWhileUp(sessions.read(...given)),
        findEpochs: or(sessions, sessions.findEpochs, (_tenant, chains) => knownEpochs(branch, chains)),
        claimEpoch: or(sessions, sessions.claimEpoch, (_tenant, _session, epoch) => {
          outbox.addEpoch(epoch)
          return { session, epoch, undoneIn: [] }
        }),
        findEdits: or(sessions, sessions.findEdits, (_tenant, keys) => knownEdits(branch, keys)),
        seen: or(
          sessions,
          sessions.seen,
          (_tenant, identities) => new Set(identities.filter((identity) => branch.log.archived.has(identity))),
        ),
        setValue: or(sessions, sessions.setValue, (_tenant, _key, value) => value),
      },
      artifacts: {
        ...artifacts,
        // A missing reference is restored from the log before anything is pruned.
        reference: or(artifacts, artifacts.reference, () => undefined),
        prune: or(artifacts, artifacts.prune, () => []),
      },
    },
  }
}

function knownEpochs({ session, log, outbox }: Branch, chains: readonly string[]): FoundEpoch[] {
  const wanted = new Set(chains)
  const known = [...(log.epoch === undefined ? [] : [log.epoch]), ...outbox.epochs]
  return known
    .filter(({ id, cover }) => wanted.has(cover) && !log.undone.has(id))
    .map((found) => ({ session, epoch: found, undoneIn: [] }))
}

function knownEdits({ log, outbox }: Branch, keys: readonly string[]): FirstSendEdit[] {
  const pending = new Map(outbox.records.flatMap((record) => (record.type === 'edit' ? [[record.key, record]] : [])))
  return keys.flatMap((key) => pending.get(key) ?? log.edits.get(key) ?? [])
}

/** Writes the outbox once the store answers again. Writes that fail go back into it. */
export async function flushOutbox({ deps, isDown }: TolerantDeps, branch: Branch): Promise<void> {
  const { outbox } = branch
  if (isDown()) return
  const waiting = outbox.take()
  if (waiting.records.length > 0) await appendTo(deps, branch, waiting.records)
  for (const epoch of waiting.epochs) await deps.sessions.claimEpoch(branch.tenant, branch.session, epoch)
}
