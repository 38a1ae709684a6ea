import type { Link } from '../../core/chain.ts'
import type { Handle } from '../../core/handles.ts'
import type { Item } from '../../core/item.ts'
import type { LogRecord } from '../../core/records.ts'
import type { EngineDeps } from '../deps.ts'
import { isRecord } from '../../core/values.ts'
import type { ArtifactReaders } from './artifact-readers.ts'
import { compactCall, type ReaderCall } from './reader-tools.ts'
import type { ReaderAnswer, ReaderCallOptions } from './reader.ts'
import {
  answerRecall,
  ArchivedSession,
  type ArchiveOwner,
  recall,
  type RecallAnswer,
  recallArchived,
} from './recall.ts'
import { callReader } from './tools.ts'
import type { Branch } from '../session/branch.ts'
import { derivedFrom } from '../tool-results/derived.ts'
import { yieldNow } from '../../util/yield-now.ts'

/** What the model may look up while one request is answered: the history that the request itself brings along. */
export interface HistoryScope {
  /** Answers a call of `recall`. */
  recall(input: unknown): Promise<RecallAnswer>
  /** Stores the text that an answer of `recall` names by its number, for a reader to open; undefined where there is none. */
  stored(name: string): Promise<Handle | undefined>
  /** Whether an artifact holds content of this history, or a view in it was made from the artifact. */
  mayOpen(handle: Handle): Promise<boolean>
}

type ScopeDeps = Pick<EngineDeps, 'addressOf' | 'artifacts' | 'provenance' | 'hash' | 'redact' | 'embed'>
type ArchiveDeps = Pick<EngineDeps, 'sessions' | 'artifacts' | 'addressOf' | 'provenance' | 'embed'>

export interface ScopedHistory {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
}

/**
 * A handle is a keyed hash of what it opens, so whether a history holds that is a matter of hashing its own texts and files. A handle
 * that a message only mentions opens nothing: any text can contain one.
 */
export function historyScope(
  deps: ScopeDeps,
  branch: Pick<Branch, 'tenant' | 'log'>,
  { items, links }: ScopedHistory,
): HistoryScope {
  const known = new Set<Handle>()
  let next = items.length - 1
  const pause = yieldNow()
  return {
    recall: (input) => {
      const history = { items, links, redact: deps.redact }
      const { embed } = deps
      return answerRecall((query, options) => recall(history, query, { ...options, embed }), input)
    },
    async stored(name) {
      const item = items[numberIn(name) - 1]
      if (item === undefined || item.text === '') return undefined
      const handle = await store(deps, branch.tenant, { ...item, text: deps.redact?.(item.text) ?? item.text })
      known.add(handle)
      return handle
    },
    async mayOpen(handle) {
      for (; next >= 0 && !known.has(handle); next--) {
        for (const held of handlesOf(deps, branch, items[next]!)) known.add(held)
        await pause()
      }
      return known.has(handle)
    },
  }
}

function handlesOf(deps: ScopeDeps, branch: Pick<Branch, 'tenant' | 'log'>, { text, media = [] }: Item): Handle[] {
  const { tenant } = branch
  return [
    // The original text, and the one that is shown where secrets are taken out.
    ...(text === ''
      ? []
      : [...new Set([text, deps.redact?.(text) ?? text])].map((each) => deps.addressOf(tenant, Buffer.from(each)))),
    ...media.flatMap(({ data }) => (data === undefined ? [] : [deps.addressOf(tenant, Buffer.from(data, 'base64'))])),
    ...(derivedFrom(deps, branch, text)?.handles ?? []),
  ]
}

export interface ArchiveScope extends HistoryScope {
  /** Handles in the log that no entry gives to an agent: written by 0.2.0, they open under no agent's scope. */
  unattributed(): Promise<readonly Handle[]>
}

/**
 * The same for a caller who brings no request along: what the archive holds of one session, of one of its agents, or of a whole tenant. A
 * handle opens there if the session's log holds its content or names it in an entry of its own; what a message only mentions opens nothing.
 */
export function archiveScope(deps: ArchiveDeps, owner: ArchiveOwner): ArchiveScope {
  const { tenant, session, agent } = owner
  const searched = new ArchivedSession()
  const known = new Set<Handle>()
  const others = new Set<Handle>()
  const withoutAgent = new Set<Handle>()
  let version = 0
  const readOn = async (of: string): Promise<void> => {
    const pause = yieldNow()
    for await (const { version: at, record } of deps.sessions.read(tenant, of, version)) {
      const isOwn = agent === undefined || record.agent === agent
      const into = isOwn ? known : record.agent === undefined ? withoutAgent : others
      for (const held of handlesIn(deps, tenant, record)) into.add(held)
      version = Math.max(version, at)
      await pause()
    }
  }
  return {
    recall: (input) =>
      answerRecall(
        (query, options) => recallArchived(deps.sessions, owner, query, { ...options, embed: deps.embed }, searched),
        input,
      ),
    async stored(name) {
      const of = session ?? name.slice(0, Math.max(0, name.lastIndexOf('#')))
      const version = numberIn(name)
      for await (const { version: at, record } of of === '' ? [] : deps.sessions.read(tenant, of, version - 1)) {
        const isOwn = agent === undefined || record.agent === agent
        if (at !== version || !isOwn || record.type !== 'item-seen' || record.text === '') return undefined
        const handle = await store(deps, tenant, record)
        known.add(handle)
        return handle
      }
      return undefined
    },
    async mayOpen(handle) {
      if (session === undefined || known.has(handle)) return true
      // What a session itself put away is its own; which of its agents did it, only the log says.
      if (agent === undefined && (await deps.artifacts.stat(tenant, handle))?.session === session) return true
      await readOn(session)
      return known.has(handle)
    },
    async unattributed() {
      if (session !== undefined) await readOn(session)
      return [...withoutAgent].filter((handle) => !known.has(handle) && !others.has(handle))
    },
  }
}

function handlesIn({ addressOf, provenance }: ArchiveDeps, tenant: string, record: LogRecord): readonly Handle[] {
  if (record.type === 'edit' || record.type === 'audit') return record.handle === undefined ? [] : [record.handle]
  if (record.type === 'epoch')
    return record.edits.flatMap((edit) => (edit.op === 'replace' && edit.handle !== undefined ? [edit.handle] : []))
  if (record.type !== 'item-seen' || record.text === '') return []
  return [addressOf(tenant, Buffer.from(record.text)), ...(provenance.handlesOf(tenant, record.text) ?? [])]
}

/** Entries are named by their number; those of a tenant with their session before it. */
const NUMBERED = /#(\d{1,15})$/

const numberIn = (name: string): number => Number(NUMBERED.exec(name)?.[1] ?? 0)

/** What is opened by its number is stored whole, as the result of a tool is. */
const store = async (
  { artifacts }: Pick<EngineDeps, 'artifacts'>,
  tenant: string,
  { text, toolName: tool, callId }: Pick<Item, 'text' | 'toolName' | 'callId'>,
): Promise<Handle> => (await artifacts.put(tenant, Buffer.from(text), { tool, callId })).handle

/** Who asks: the readers of its tenant, and what it may look up with them. */
export interface Asker {
  readonly scope: HistoryScope
  readonly readers: ArtifactReaders
}

/**
 * The one way in which a call of a reader is answered, for every caller: the gateway in a hidden step, an MCP client, a program's own
 * loop. What the model did wrong is part of the answer; undefined for a tool that is none of ours.
 */
export function answerCall(
  { scope, readers }: Asker,
  call: ReaderCall,
  options: Omit<ReaderCallOptions, 'mayOpen'> = {},
): Promise<ReaderAnswer | RecallAnswer> | undefined {
  const { name, input } = compactCall(call)
  if (name === 'recall') return scope.recall(input)
  const opened = readers.within({ ...options, mayOpen: scope.mayOpen })
  const named = isRecord(input) ? input['handle'] : undefined
  if (!name.startsWith('artifact_') || typeof named !== 'string' || !NUMBERED.test(named))
    return callReader(opened, name, input)
  return scope.stored(named).then((handle) => callReader(opened, name, { ...Object(input), handle: handle ?? named })!)
}
