import { createHash } from 'node:crypto'
import { isPlimsollError } from '../../core/errors.ts'
import type { FirstSendEdit } from '../../core/records.ts'
import type { ArtifactStat, ArtifactStore } from '../../ports/artifact-store.ts'
import type { FoundEpoch, SessionStore } from '../../ports/session-store.ts'
import type { Branch } from './branch.ts'
import type { EngineDeps } from '../deps.ts'
import { appendTo } from './log.ts'

/** The engine's parts with a store that may go away at any call. */
export interface TolerantDeps {
  readonly deps: EngineDeps
  readonly isDown: () => boolean
  /** A call of the session begins: the store is asked again, unless it was away a moment ago. */
  begin(): void
}

/**
 * A store that cannot be reached must not stop an agent, nor let a body leave that is too large. Each call goes to the real store
 * until one fails; from there on memory answers: the epoch and the edits that this branch knows, and the outbox. The
 * plan is then made from the transcript alone, by code alone, and written down when the store is back.
 */
export function tolerantDeps(deps: EngineDeps, branch: Branch): TolerantDeps {
  const { outbox } = branch
  let isDown = false
  const give = (what: string, cause: unknown): void => {
    isDown = true
    outbox.failed(deps.clock.now())
    const { tenant, session, agent } = branch
    const message = cause instanceof Error ? cause.message : String(cause)
    deps.emit({ type: 'degraded', what, cause: message, at: deps.clock.now(), tenant, session, agent })
  }
  /** The real answer, or the one from memory. */
  const ask = async <T>(what: string, real: () => Promise<T>, fromMemory: () => T): Promise<T> => {
    if (isDown) return fromMemory()
    try {
      const answer = await real()
      outbox.answered()
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
    begin() {
      isDown = outbox.isQuiet(deps.clock.now())
    },
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
          outbox.addRecords(records)
          // No version of the real log: the branch takes these in when they are written.
          return -1
        },
      ),
    version: (tenant, session) =>
      ask(
        what,
        () => store.version(tenant, session),
        () => branch.log.version,
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
          outbox.addEpoch(epoch)
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
        () => new Set(identities.filter((identity) => branch.log.archived.has(identity))),
      ),
    setValue: (tenant, key, value, ifAbsent, options) =>
      ask(
        what,
        () => store.setValue(tenant, key, value, ifAbsent, options),
        () => value,
      ),
  }
}

function knownEpochs({ session, standing: { epoch }, log, outbox }: Branch, chains: readonly string[]): FoundEpoch[] {
  const wanted = new Set(chains)
  const known = [...(epoch === undefined ? [] : [epoch]), ...outbox.epochs]
  return known
    .filter(({ id, cover }) => wanted.has(cover) && !log.undone.has(id))
    .map((found) => ({ session, epoch: found, undoneIn: [] }))
}

function knownEdits({ log, outbox }: Branch, keys: readonly string[]): FirstSendEdit[] {
  const pending = new Map(outbox.records.flatMap((record) => (record.type === 'edit' ? [[record.key, record]] : [])))
  return keys.flatMap((key) => pending.get(key) ?? log.edits.get(key) ?? [])
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
          if (!outbox.addArtifact(handle, { bytes, meta })) onFull(handle)
          const sha256 = createHash('sha256').update(bytes).digest('hex')
          return { ...meta, handle, bytes: bytes.length, sha256, createdAt: clock.now() }
        },
      ),
  }
}

/** Writes what waits, once the store answers again. What fails goes back into the outbox. */
export async function flushOutbox({ deps, isDown }: TolerantDeps, branch: Branch): Promise<void> {
  const { outbox } = branch
  if (isDown() || outbox.isEmpty) return
  const waiting = outbox.take()
  for (const { bytes, meta } of waiting.artifacts) await deps.artifacts.put(branch.tenant, bytes, meta)
  if (waiting.records.length > 0) await appendTo(deps, branch, waiting.records)
  for (const epoch of waiting.epochs) await deps.sessions.claimEpoch(branch.tenant, branch.session, epoch)
}
