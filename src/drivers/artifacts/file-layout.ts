import { createHash, createHmac } from 'node:crypto'
import { join } from 'node:path'
import type { Handle } from '../../core/handles.ts'

/** Changes when the folders below do; an old tree then stays readable beside the new one. */
export const LAYOUT = 'v1'

/**
 * Where a tenant's artifacts lie. Every part of a path is a hash of ours: nothing that came from outside is ever part of one.
 *
 * - `objects/<name>/{bytes,meta.json}` — one folder per artifact, moved into place as a whole
 * - `references/<session>/<name>` — empty files: this session uses that artifact
 * - `writing/` — folders being filled; `leaving/` — taken out, may come back; `doomed/` — being deleted
 */
export interface TenantLayout {
  readonly root: string
  readonly objects: string
  readonly references: string
  readonly writing: string
  readonly leaving: string
  readonly doomed: string
  object(name: string): string
  marksOf(session: string): string
}

export function tenantLayout(directory: string, tenantKey: Uint8Array): TenantLayout {
  const root = join(directory, LAYOUT, keyed(tenantKey, 'folder', ''))
  const objects = join(root, 'objects')
  const references = join(root, 'references')
  return {
    root,
    objects,
    references,
    writing: join(root, 'writing'),
    leaving: join(root, 'leaving'),
    doomed: join(root, 'doomed'),
    object: (name) => join(objects, name),
    marksOf: (session) => join(references, keyed(tenantKey, 'session', session)),
  }
}

/** The folder name of an artifact. A hash of the handle, so that even a wrong grammar could not become a path. */
export const objectName = (handle: Handle): string => createHash('sha256').update(handle).digest('hex').slice(0, 40)

// UTF-16 keeps names apart that UTF-8 would merge (lone surrogates).
const keyed = (key: Uint8Array, purpose: string, text: string): string =>
  createHmac('sha256', key).update(`${purpose}:`).update(text, 'utf16le').digest('hex').slice(0, 40)
