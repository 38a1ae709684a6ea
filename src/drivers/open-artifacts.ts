import { PlimsollError } from '../core/errors.ts'
import type { ArtifactStore } from '../ports/artifact-store.ts'
import type { Clock } from '../ports/clock.ts'
import { fileArtifacts } from './artifacts/file.ts'
import { memoryArtifacts } from './artifacts/memory.ts'
import { withoutPassword } from './open-store.ts'

export interface OpenArtifactsOptions {
  /** Key of the handles. */
  readonly secret: Uint8Array
  readonly clock?: Clock
}

/** `memory:` or `file:./artifacts`. */
export function openArtifacts(url: string, options: OpenArtifactsOptions): ArtifactStore {
  if (url === 'memory:') return memoryArtifacts(options)
  if (url.startsWith('file:') && url.length > 5)
    return fileArtifacts({ ...options, directory: url.slice(5).replace(/^\/\/(?=\/|\.)/, '') })
  throw new PlimsollError(
    'bad-config',
    `There is no artifact store for the address ${JSON.stringify(withoutPassword(url))}.`,
    {
      advice: 'Use memory: or file:./artifacts.',
    },
  )
}

/** Artifacts live beside the session store unless told otherwise. */
export function artifactsBeside(store: string): string {
  return store.startsWith('sqlite:')
    ? `file:${store
        .slice(7)
        .replace(/^\/\/(?=\/|\.)/, '')
        .replace(/\.db$/, '')}-artifacts`
    : 'memory:'
}
