import { BoundedMap } from '../../util/bounded-map.ts'
import type { Sandbox } from '../../ports/sandbox.ts'
import type { SqlEngine } from '../../ports/sql-engine.ts'
import { artifactExtract, type ExtractAnswer, type ExtractOptions, type ExtractRequest } from './extract.ts'
import { artifactGrep, type GrepRequest } from './grep.ts'
import { artifactQuery, type QueryLimits, type QueryRequest } from './query.ts'
import { artifactRead, type ReadRequest } from './read.ts'
import { readerOf, type Reader, type ReaderAnswer, type ReaderCallOptions, type ReaderOptions } from './reader.ts'
import { artifactRun, type RunLimits, type RunRequest } from './run.ts'

export interface ArtifactReadersOptions extends ReaderOptions {
  /** Needed by `query`. */
  readonly sql?: SqlEngine
  readonly queryLimits?: QueryLimits
  /** Needed by `run`; without it `run` answers with a sample. */
  readonly sandbox?: Sandbox
  readonly runLimits?: RunLimits
  /** Needed by `extract`; without it `extract` answers with head and tail. */
  readonly extraction?: ExtractOptions
}

export interface ArtifactReaders {
  readonly read: (request: ReadRequest) => Promise<ReaderAnswer>
  readonly grep: (request: GrepRequest) => Promise<ReaderAnswer>
  readonly query: (request: QueryRequest) => Promise<ReaderAnswer>
  readonly run: (request: RunRequest) => Promise<ReaderAnswer>
  readonly extract: (request: ExtractRequest) => Promise<ExtractAnswer>
  /** The same readers for one conversation, for which other artifacts do not exist, or for one call that can be cancelled. */
  readonly within: (call: ReaderCallOptions) => ArtifactReaders
}

/** Chunks whose extracts are kept: those of a few large artifacts. */
const MOST_CHUNKS = 200

/** The readers of one tenant's artifacts. Faults of the caller reject with `bad-input` or `not-found` and say what to do. */
export function artifactReaders(options: ArtifactReadersOptions): ArtifactReaders {
  const known = new BoundedMap<string, readonly string[]>(MOST_CHUNKS)
  const over = (reader: Reader): ArtifactReaders => ({
    read: async (request) => artifactRead(reader, request),
    grep: async (request) => artifactGrep(reader, request),
    query: async (request) => artifactQuery(reader, options.sql, request, options.queryLimits),
    run: async (request) => artifactRun(reader, options.sandbox, request, options.runLimits),
    extract: async (request) => artifactExtract(reader, options.extraction, request, known),
    within: (call) => over(readerOf(options, call)),
  })
  return over(readerOf(options))
}
