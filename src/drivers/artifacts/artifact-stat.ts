import { createHmac } from 'node:crypto'
import type { ArtifactMeta, ArtifactStat } from '../../ports/artifact-store.ts'
import type { Handle } from '../../core/handles.ts'
import { hexOf, sha256Of } from './address.ts'
import { artifactName } from './artifact-name.ts'

/** What a first `put` fixes for good. */
export const statOf = (
  handle: Handle,
  bytes: Uint8Array,
  digest: Uint8Array,
  meta: ArtifactMeta,
  createdAt: number,
): ArtifactStat => ({
  ...meta,
  handle,
  bytes: bytes.length,
  sha256: hexOf(digest),
  createdAt,
  name: artifactName(meta.tool, createdAt, hexOf(sha256Of(Buffer.from(handle))).slice(0, 6)),
})

/** Names from outside become fixed, keyed hashes before they are part of a row or an object's key. */
export const hiddenName = (key: Uint8Array, kind: string, name: string): string =>
  createHmac('sha256', key).update(`${kind} `).update(Buffer.from(name, 'utf16le')).digest('hex').slice(0, 40)
