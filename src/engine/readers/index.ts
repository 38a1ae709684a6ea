import { artifactGrep, type GrepRequest } from './grep.ts'
import { lineIndexes } from './line-index.ts'
import { artifactRead, type ReadRequest } from './read.ts'
import { readerOf, type ReaderAnswer, type ReaderOptions } from './reader.ts'

export interface ArtifactReaders {
  read(request: ReadRequest): Promise<ReaderAnswer>
  grep(request: GrepRequest): Promise<ReaderAnswer>
}

/** The readers of one tenant's artifacts. Faults of the caller reject with `bad-input` or `not-found` and say what to do. */
export function artifactReaders(options: ReaderOptions): ArtifactReaders {
  const reader = readerOf(options)
  const indexes = lineIndexes()
  return {
    read: async (request) => artifactRead(reader, indexes, request),
    grep: async (request) => artifactGrep(reader, request),
  }
}
