import type { Handle } from '../../core/handles.ts'
import type { LogRecord } from '../../core/records.ts'
import type { EngineDeps } from '../../engine/deps.ts'
import type { ExtractAnswer, ExtractRequest } from '../../engine/readers/extract.ts'
import type { GrepRequest } from '../../engine/readers/grep.ts'
import type { QueryRequest } from '../../engine/readers/query.ts'
import type { ReaderAnswer, ReaderCallOptions } from '../../engine/readers/reader.ts'
import type { ReaderCall } from '../../engine/readers/reader-tools.ts'
import type { RunRequest } from '../../engine/readers/run.ts'
import { answerCall, archiveScope, type ArchiveScope } from '../../engine/readers/scope.ts'
import type { ArchiveOwner, RecallAnswer } from '../../engine/readers/recall.ts'
import { READER_TOOLS, type ReaderTool } from '../../engine/readers/tools.ts'
import { reportOf, type SessionReport } from '../../engine/store-admin/session-report.ts'
import type { ArtifactQuery, ArtifactStat, ArtifactStore, ByteRange } from '../../ports/artifact-store.ts'
import type { SessionInfo, SessionStore } from '../../ports/session-store.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { OpenReaders } from '../open/readers.ts'
import { ARCHIVE_ARGUMENTS, ARTIFACT_ARGUMENTS, checkedFace } from './checked.ts'

interface OfTenant {
  /** @default 'local' */
  readonly tenant?: string
}

/** Stored sessions, for programs and for readers without a current request. */
export interface Archive {
  /** Sessions of a tenant, last used first. */
  sessions(options?: OfTenant & { readonly limit?: number }): Promise<readonly SessionInfo[]>
  /** Whether the session has a log. */
  has(session: string, options?: OfTenant): Promise<boolean>
  /** Agents with entries in a session's log, in the order of their first entry. */
  agents(session: string, options?: OfTenant): Promise<readonly string[]>
  report(session: string, options?: OfTenant): Promise<SessionReport>
  /** The entries of a session's log, oldest first. */
  read(session: string, options?: OfTenant): AsyncIterable<LogRecord>
  /** Reader tools over one session, one agent of it, or all sessions of a tenant. */
  readers(owner?: Partial<ArchiveOwner>): ArchiveReaders
}

export interface ArchiveReaders extends Pick<ArchiveScope, 'mayOpen' | 'unattributed'> {
  /** The tools that are available. */
  readonly tools: readonly ReaderTool[]
  /** Undefined for an unknown tool. */
  call(call: ReaderCall, options?: Omit<ReaderCallOptions, 'mayOpen'>): Promise<ReaderAnswer | RecallAnswer> | undefined
}

interface ArchiveParts {
  readonly sessions: SessionStore
  readonly deps: () => Promise<EngineDeps>
  readonly readers: OpenReaders
}

const TENANT = 'local'
const PAGE = 500
/** Scopes are computed from logs; the least recently used are computed again. */
const MOST_KNOWN = 200

function archiveFace({ sessions, deps, readers }: ArchiveParts): Archive {
  const scopes = new BoundedMap<string, Promise<ArchiveScope>>(MOST_KNOWN)
  const scopeOf = (owner: ArchiveOwner): Promise<ArchiveScope> => {
    const key = JSON.stringify([owner.tenant, owner.session, owner.agent])
    const scope = scopes.get(key) ?? deps().then((engine) => archiveScope(engine, owner))
    scopes.set(key, scope)
    return scope
  }
  return {
    async sessions({ tenant = TENANT, limit = PAGE } = {}) {
      const found: SessionInfo[] = []
      for (let after: string | undefined; ; after = found.at(-1)?.session) {
        const page = await sessions.list(tenant, { limit: PAGE, after })
        found.push(...page)
        if (page.length < PAGE) break
      }
      return found.sort((a, b) => b.updatedAt - a.updatedAt).slice(0, limit)
    },
    has: async (session, { tenant = TENANT } = {}) => (await sessions.version(tenant, session)) > 0,
    async agents(session, { tenant = TENANT } = {}) {
      const names = new Set<string>()
      for await (const { record } of sessions.read(tenant, session))
        if (record.agent !== undefined) names.add(record.agent)
      return [...names]
    },
    report: async (session, { tenant = TENANT } = {}) => reportOf(sessions, tenant, session),
    async *read(session, { tenant = TENANT } = {}) {
      for await (const { record } of sessions.read(tenant, session)) yield record
    },
    readers({ tenant = TENANT, ...of } = {}) {
      const owner: ArchiveOwner = { tenant, ...of }
      const offered = readers.names(Infinity)
      const tools = READER_TOOLS.filter(({ name }) => ALWAYS.has(name) || offered.includes(name))
      return {
        tools,
        mayOpen: async (handle) => (await scopeOf(owner)).mayOpen(handle),
        unattributed: async () => (await scopeOf(owner)).unattributed(),
        call(call, options) {
          if (!tools.some(({ name }) => name === call.name)) return undefined
          return Promise.all([scopeOf(owner), readers.of(owner)]).then(([scope, opened]) =>
            answerCall({ scope, readers: opened }, call, options)!,
          )
        },
      }
    },
  }
}

/** Tools that need no optional package and no model. */
const ALWAYS = new Set(['recall', 'artifact_read', 'artifact_grep'])

/** A reader's request without its handle. */
type Asked<Request extends { readonly handle: string }> = Omit<Request, 'handle'> & OfTenant

/** Artifacts, for programs. The readers answer like the model's tools: as bounded text. */
export interface Artifacts {
  /** The exact bytes. Undefined when this tenant has no such artifact. */
  read(handle: Handle, options?: OfTenant & { readonly range?: ByteRange }): Promise<Uint8Array | undefined>
  stat(handle: Handle, options?: OfTenant): Promise<ArtifactStat | undefined>
  /** Newest first, page by page. */
  list(query?: OfTenant & ArtifactQuery): Promise<readonly ArtifactStat[]>
  /** Finds lines by a regular expression, in linear time. */
  grep(handle: Handle, request: Asked<GrepRequest>): Promise<ReaderAnswer>
  /** SQL over the rows of an artifact; without `sql`, lists the tables and their columns. */
  query(handle: Handle, request?: Asked<QueryRequest>): Promise<ReaderAnswer>
  /** Runs JavaScript over the whole artifact, in a sandbox. */
  run(handle: Handle, request: Asked<RunRequest>): Promise<ReaderAnswer>
  /** A model reads the artifact and answers a question. */
  extract(handle: Handle, request: Asked<ExtractRequest>): Promise<ExtractAnswer>
}

function artifactFace(store: () => Promise<ArtifactStore>, readers: OpenReaders): Artifacts {
  const of = (tenant: string = TENANT) => readers.of({ tenant })
  return {
    read: async (handle, { tenant = TENANT, range } = {}) => (await store()).read(tenant, handle, range),
    stat: async (handle, { tenant = TENANT } = {}) => (await store()).stat(tenant, handle),
    list: async ({ tenant = TENANT, ...query } = {}) => (await store()).list(tenant, query),
    grep: async (handle, { tenant, ...request }) => (await of(tenant)).grep({ ...request, handle }),
    query: async (handle, { tenant, ...request } = {}) => (await of(tenant)).query({ ...request, handle }),
    run: async (handle, { tenant, ...request }) => (await of(tenant)).run({ ...request, handle }),
    extract: async (handle, { tenant, ...request }) => (await of(tenant)).extract({ ...request, handle }),
  }
}

/** The stores for programs: artifacts by handle, sessions by name. */
export const storedApi = (
  sessions: SessionStore,
  engine: { artifacts(): Promise<ArtifactStore>; deps(): Promise<EngineDeps> },
  readers: OpenReaders,
): { readonly artifacts: Artifacts; readonly archive: Archive } => ({
  artifacts: checkedFace(artifactFace(engine.artifacts, readers), ARTIFACT_ARGUMENTS),
  archive: checkedFace(archiveFace({ sessions, deps: engine.deps, readers }), ARCHIVE_ARGUMENTS, ['read', 'readers']),
})
