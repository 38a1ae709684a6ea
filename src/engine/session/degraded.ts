import { createHash } from 'node:crypto'
import { isPlimsollError } from '../../core/errors.ts'
import type { FirstSendEdit } from '../../core/records.ts'
import type { ArtifactStat, ArtifactStore } from '../../ports/artifact-store.ts'
import type { FoundEpoch, SessionStore } from '../../ports/session-store.ts'
import type { Branch } from './branch.ts'
import type { EngineDeps } from '../deps.ts'
import { keepArtifact, keepRecords, isEmpty } from './outbox.ts'
import { appendTo } from './restore.ts'

/** Between two attempts to reach a store that was away. */
const QUIET_MS = 1_000

/** The engine's parts with a store that may go away at any call. */
export interface TolerantDeps {
  readonly deps: EngineDeps
  readonly isDown: () => boolean
}

/**
 * A store that cannot be reached must not stop an agent, nor let a body leave that is too large. Each call goes to the real store
 * until one fails; from there on memory answers: the epoch and the edits that this branch knows, and the outbox. The
 * plan is then made from the transcript alone, by code alone, and written down when the store is back.
 */
export function tolerantDeps(deps: EngineDeps, branch: Branch): TolerantDeps {
  const { outbox } = branch
  let isDown = deps.clock.now() < outbox.quietUntil
  const give = (what: string, cause: unknown): void => {
    isDown = true
    // One broken connection is no outage: the next call asks again and flushes the outbox, before another process is asked.
    outbox.quietUntil = outbox.failures++ === 0 ? 0 : deps.clock.now() + QUIET_MS
    const { tenant, session, agent } = branch
    const message = cause instanceof Error ? cause.message : String(cause)
    deps.emit({ type: 'degraded', what, cause: message, at: deps.clock.now(), tenant, session, agent })
  }
  /** The real answer, or the one from memory. */
  const ask = async <T>(what: string, real: () => Promise<T>, fromMemory: () => T): Promise<T> => {
    if (isDown) return fromMemory()
    try {
      const answer = await real()
      outbox.failures = 0
      return answer
    } catch (error) {
      if (!isPlimsollError(error, 'store-unavailable')) throw error
      give(what, error)
      return fromMemory()
    }
  }
  return {
    deps: {
      ...deps,
      sessions: tolerantSessions(deps.sessions, branch, ask),
      artifacts: tolerantArtifacts(deps, branch, ask, (handle) =>
        give('artifact store', `there is no room in memory for ${handle}`),
      ),
    },
    isDown: () => isDown,
  }
}

type Ask = <T>(what: string, real: () => Promise<T>, fromMemory: () => T) => Promise<T>

function tolerantSessions(store: SessionStore, branch: Branch, ask: Ask): SessionStore {
  const { outbox } = branch
  const what = 'session store'
  return {
    ...store,
    append: (tenant, session, records, expected, options) =>
      ask(
        what,
        () => store.append(tenant, session, records, expected, options),
        () => {
          keepRecords(outbox, records)
          // No version of the real log: the branch takes these in when they are written.
          return -1
        },
      ),
    version: (tenant, session) =>
      ask(
        what,
        () => store.version(tenant, session),
        () => branch.version,
      ),
    read: (tenant, session, afterVersion) => ({
      [Symbol.asyncIterator]() {
        const records = store.read(tenant, session, afterVersion)[Symbol.asyncIterator]()
        const end = { done: true as const, value: undefined }
        return {
          next: () =>
            ask(
              what,
              () => records.next(),
              () => end,
            ),
        }
      },
    }),
    findEpochs: (tenant, chains) =>
      ask(
        what,
        () => store.findEpochs(tenant, chains),
        () => knownEpochs(branch, chains),
      ),
    claimEpoch: (tenant, session, epoch) =>
      ask(
        what,
        () => store.claimEpoch(tenant, session, epoch),
        () => {
          outbox.epochs.push(epoch)
          return { session, epoch, undoneIn: [] }
        },
      ),
    findEdits: (tenant, keys) =>
      ask(
        what,
        () => store.findEdits(tenant, keys),
        () => knownEdits(branch, keys),
      ),
    seen: (tenant, identities, options) =>
      ask(
        what,
        () => store.seen(tenant, identities, options),
        () => new Set(identities.filter((identity) => branch.archived.has(identity))),
      ),
    setValue: (tenant, key, value, ifAbsent, options) =>
      ask(
        what,
        () => store.setValue(tenant, key, value, ifAbsent, options),
        () => value,
      ),
  }
}

function knownEpochs({ session, epoch, undone, outbox }: Branch, chains: readonly string[]): FoundEpoch[] {
  const wanted = new Set(chains)
  const known = [...(epoch === undefined ? [] : [epoch]), ...outbox.epochs]
  return known
    .filter(({ id, cover }) => wanted.has(cover) && !undone.has(id))
    .map((found) => ({ session, epoch: found, undoneIn: [] }))
}

function knownEdits({ edits, outbox }: Branch, keys: readonly string[]): FirstSendEdit[] {
  const pending = new Map(outbox.records.flatMap((record) => (record.type === 'edit' ? [[record.key, record]] : [])))
  return keys.flatMap((key) => pending.get(key) ?? edits.byKey.get(key) ?? [])
}

function tolerantArtifacts(
  { artifacts, addressOf, clock }: EngineDeps,
  { outbox }: Branch,
  ask: Ask,
  onFull: (handle: string) => void,
): ArtifactStore {
  return {
    ...artifacts,
    // A mark that is missing is made again from the log before anything is pruned.
    reference: (tenant, session, handles) =>
      ask(
        'artifact store',
        () => artifacts.reference(tenant, session, handles),
        () => undefined,
      ),
    prune: (tenant, rule) =>
      ask(
        'artifact store',
        () => artifacts.prune(tenant, rule),
        () => [],
      ),
    put: (tenant, bytes, meta = {}) =>
      ask(
        'artifact store',
        () => artifacts.put(tenant, bytes, meta),
        (): ArtifactStat => {
          const handle = addressOf(tenant, bytes)
          if (!keepArtifact(outbox, handle, bytes, meta)) onFull(handle)
          const sha256 = createHash('sha256').update(bytes).digest('hex')
          return { ...meta, handle, bytes: bytes.length, sha256, createdAt: clock.now() }
        },
      ),
  }
}

/** Writes what waits, once the store answers again. What fails goes back into the outbox. */
export async function flushOutbox({ deps, isDown }: TolerantDeps, branch: Branch): Promise<void> {
  const { outbox } = branch
  if (isDown() || isEmpty(outbox)) return
  const waiting = {
    artifacts: [...outbox.artifacts],
    records: outbox.records.splice(0),
    epochs: outbox.epochs.splice(0),
  }
  outbox.artifacts.clear()
  outbox.artifactBytes = 0
  for (const [, { bytes, meta }] of waiting.artifacts) await deps.artifacts.put(branch.tenant, bytes, meta)
  if (waiting.records.length > 0) await appendTo(deps, branch, waiting.records)
  for (const epoch of waiting.epochs) await deps.sessions.claimEpoch(branch.tenant, branch.session, epoch)
}
