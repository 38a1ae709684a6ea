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

/** What sessions left behind, for programs and for readers without a request at hand. */
export interface Archive {
  /** Sessions of a tenant, the one that was used last first. */
  sessions(options?: OfTenant & { readonly limit?: number }): Promise<readonly SessionInfo[]>
  /** Whether the session has a log. */
  has(session: string, options?: OfTenant): Promise<boolean>
  /** Agents that wrote into a session's log, in the order in which they came. */
  agents(session: string, options?: OfTenant): Promise<readonly string[]>
  /** What a session's log says about it. */
  report(session: string, options?: OfTenant): Promise<SessionReport>
  /** A session's log, oldest first. */
  read(session: string, options?: OfTenant): AsyncIterable<LogRecord>
  /** Reader tools over one session, one of its agents, or all of a tenant. */
  readers(owner?: Partial<ArchiveOwner>): ArchiveReaders
}

export interface ArchiveReaders extends Pick<ArchiveScope, 'mayOpen' | 'unattributed'> {
  /** Those that can be answered here. */
  readonly tools: readonly ReaderTool[]
  /** Undefined for a tool that is none of these. */
  call(call: ReaderCall, options?: Omit<ReaderCallOptions, 'mayOpen'>): Promise<ReaderAnswer | RecallAnswer> | undefined
}

interface ArchiveParts {
  readonly sessions: SessionStore
  readonly deps: () => Promise<EngineDeps>
  readonly readers: OpenReaders
}

const TENANT = 'local'
const PAGE = 500
/** Scopes are worked out from logs; those that were not asked for in a long time are worked out again. */
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

/** Need no optional package and no model. */
const ALWAYS = new Set(['recall', 'artifact_read', 'artifact_grep'])

/** What a reader is asked, the handle apart. */
type Asked<Request extends { readonly handle: string }> = Omit<Request, 'handle'> & OfTenant

/** What was taken out, for programs. The readers answer as the model's tools do: bounded, as text. */
export interface Artifacts {
  /** Exact bytes back. Undefined when there is no such artifact of this tenant. */
  read(handle: Handle, options?: OfTenant & { readonly range?: ByteRange }): Promise<Uint8Array | undefined>
  stat(handle: Handle, options?: OfTenant): Promise<ArtifactStat | undefined>
  /** Newest first, page by page. */
  list(query?: OfTenant & ArtifactQuery): Promise<readonly ArtifactStat[]>
  /** Lines by a regular expression, in linear time. */
  grep(handle: Handle, request: Asked<GrepRequest>): Promise<ReaderAnswer>
  /** SQL over the records; without `sql`, the tables and their columns. */
  query(handle: Handle, request?: Asked<QueryRequest>): Promise<ReaderAnswer>
  /** JavaScript over the whole data, in a sandbox. */
  run(handle: Handle, request: Asked<RunRequest>): Promise<ReaderAnswer>
  /** A model reads it and answers in words. */
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

/** What the stores hold, for programs: artifacts by their handles, sessions by their names. */
export const storedApi = (
  sessions: SessionStore,
  engine: { artifacts(): Promise<ArtifactStore>; deps(): Promise<EngineDeps> },
  readers: OpenReaders,
): { readonly artifacts: Artifacts; readonly archive: Archive } => ({
  artifacts: checkedFace(artifactFace(engine.artifacts, readers), ARTIFACT_ARGUMENTS),
  archive: checkedFace(archiveFace({ sessions, deps: engine.deps, readers }), ARCHIVE_ARGUMENTS, ['read', 'readers']),
})
