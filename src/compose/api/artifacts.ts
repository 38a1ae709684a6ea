import type { Handle } from '../../core/handles.ts'
import type { ExtractAnswer, ExtractRequest } from '../../engine/readers/extract.ts'
import type { GrepRequest } from '../../engine/readers/grep.ts'
import type { QueryRequest } from '../../engine/readers/query.ts'
import type { ReaderAnswer } from '../../engine/readers/reader.ts'
import type { RunRequest } from '../../engine/readers/run.ts'
import type { OpenReaders } from '../open/readers.ts'
import type { ArtifactQuery, ArtifactStat, ArtifactStore, ByteRange } from '../../ports/artifact-store.ts'

/** What a reader is asked, the handle apart. */
export type Asked<Request extends { readonly handle: string }> = Omit<Request, 'handle'> & OfTenant

interface OfTenant {
  /** @default 'local' */
  readonly tenant?: string
}

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

const TENANT = 'local'

export function artifactFace(store: () => Promise<ArtifactStore>, readers: OpenReaders): Artifacts {
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
