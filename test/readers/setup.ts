import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import {
  artifactReaders,
  type ArtifactReaders,
  type ArtifactReadersOptions,
} from '../../src/engine/readers/artifact-readers.ts'
import { readerProvenance, type ReaderProvenance } from '../../src/engine/readers/reader.ts'
import type { ArtifactMeta, ArtifactStore } from '../../src/ports/artifact-store.ts'

export const secret = Buffer.from('0123456789abcdef0123456789abcdef')

export interface Setup {
  readonly store: ArtifactStore
  readonly provenance: ReaderProvenance
  readonly readers: ArtifactReaders
  readonly put: (content: string | Uint8Array, meta?: ArtifactMeta) => Promise<string>
}

export function setup(options: Partial<ArtifactReadersOptions> = {}): Setup {
  const store = memoryArtifacts({ secret })
  const provenance = readerProvenance(secret)
  return {
    store,
    provenance,
    readers: artifactReaders({ store, tenant: 'a', provenance, ...options }),
    async put(content, meta = {}) {
      return (await store.put('a', typeof content === 'string' ? Buffer.from(content) : content, meta)).handle
    },
  }
}

/** The answer without its first line and its seal. */
export const bodyOf = (text: string): string =>
  text.slice(text.indexOf('\n') + 1, text.lastIndexOf('\n[from art_')).replace(/\n?\[more: .*\]$/, '')

/** A small generator: the same numbers for the same seed in every run. */
export function random(seed: number): () => number {
  let state = seed >>> 0
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32
}
