import { hexOf, sha256Of } from '../address.ts'
import { hiddenName } from '../artifact-stat.ts'

/*
 * Where things lie in the bucket, below `<prefix><tenant>/`:
 *
 *   o/<handle>               the bytes
 *   m/<handle>               what is known about them; written last, so an artifact without it was never acknowledged
 *   u/<handle>/<when>-<who>  one empty object per put: how young the artifact is
 *   s/<session>/<handle>     a session's reference
 *   d/<handle>/<who>         somebody is about to delete
 *
 * Tenants and sessions are keyed hashes, so no name from outside is part of a key.
 */
export interface TenantLayout {
  readonly bytes: (handle: string) => string
  readonly about: (handle: string) => string
  readonly allAbout: string
  readonly touches: (handle: string) => string
  readonly allTouches: string
  readonly touch: (handle: string, at: number, who: string) => string
  readonly mark: (session: string, handle: string) => string
  readonly marksOf: (session: string) => string
  readonly allMarks: string
  readonly doom: (handle: string, who: string) => string
  readonly doomsOf: (handle: string) => string
}

export function tenantLayout(prefix: string, key: Uint8Array): TenantLayout {
  const root = `${prefix}${hexOf(sha256Of(key)).slice(0, 40)}/`
  const session = (name: string): string => hiddenName(key, 'session', name)
  return {
    bytes: (handle) => `${root}o/${handle}`,
    about: (handle) => `${root}m/${handle}`,
    allAbout: `${root}m/`,
    touches: (handle) => `${root}u/${handle}/`,
    allTouches: `${root}u/`,
    touch: (handle, at, who) => `${root}u/${handle}/${at}-${who}`,
    mark: (name, handle) => `${root}s/${session(name)}/${handle}`,
    marksOf: (name) => `${root}s/${session(name)}/`,
    allMarks: `${root}s/`,
    doom: (handle, who) => `${root}d/${handle}/${who}`,
    doomsOf: (handle) => `${root}d/${handle}/`,
  }
}

export const lastPart = (key: string): string => key.slice(key.lastIndexOf('/') + 1)

/** Handle and time of a touch. */
export function touchOf(key: string): { readonly handle: string; readonly at: number } {
  const parts = key.split('/')
  return { handle: parts.at(-2) ?? '', at: Number((parts.at(-1) ?? '').split('-')[0]) }
}
