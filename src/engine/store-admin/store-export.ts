import { createHash } from 'node:crypto'
import { PlimsollError } from '../../core/errors.ts'
import { RECORD_VERSION, type LogRecord } from '../../core/records.ts'
import type { ArtifactStat, ArtifactStore } from '../../ports/artifact-store.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import type { StoreMaintenance } from '../../ports/store-maintenance.ts'

/*
 * An export is text, one JSON value per line: a head, then sessions with their records, then artifacts in parts, then an end
 * with a hash over everything before it, so that a truncated or edited file shows.
 */

export const EXPORT_VERSION = 1
/** Where the store keeps its own secret; see `storeSecret`. */
export const SECRET_PLACE = { tenant: '', key: 'secret' } as const

export type ExportLine =
  | { readonly plimsoll: 'export'; readonly version: number; readonly records: number }
  | { readonly secret: string }
  | { readonly tenant: string; readonly session: string }
  | { readonly v: number; readonly record: LogRecord }
  | { readonly tenant: string; readonly artifact: ArtifactStat; readonly parts: number }
  | { readonly part: string }
  | ExportEnd

export interface ExportEnd {
  readonly end: true
  readonly sessions: number
  readonly records: number
  readonly artifacts: number
  readonly sha256: string
}

export interface ExportOptions {
  /** @default every tenant */
  tenant?: string
  /** One session of `tenant`. @default every session */
  session?: string
  /** The bytes that the sessions refer to go along. */
  artifacts?: ArtifactStore
  /**
   * The store's own secret goes along. Tenants and handles are keyed with it, so a move to another store needs it; whoever
   * holds it can compute tenants' names from credentials.
   */
  withSecret?: boolean
}

/** A store that an operator's export reads whole; one tenant of it needs no list of tenants. */
export type ExportedStore = SessionStore & Partial<Pick<StoreMaintenance, 'tenants'>>

const PAGE = 500
const PART_BYTES = 512 * 1024

/** Writes a store as lines without line ends. Holds one record or one part in memory at a time. */
export async function* exportStore(
  store: ExportedStore,
  options: ExportOptions = {},
): AsyncGenerator<string, void, undefined> {
  const hash = createHash('sha256')
  const count = { sessions: 0, records: 0, artifacts: 0 }
  const line = (value: ExportLine): string => {
    const text = JSON.stringify(value)
    hash.update(text).update('\n')
    return text
  }
  yield line({ plimsoll: 'export', version: EXPORT_VERSION, records: RECORD_VERSION })
  const secret = options.withSecret === true ? await store.getValue(SECRET_PLACE.tenant, SECRET_PLACE.key) : undefined
  if (secret !== undefined) yield line({ secret })
  for (const tenant of options.tenant === undefined ? await tenantsOf(store) : [options.tenant]) {
    for await (const session of sessionsOf(store, tenant, options.session)) {
      count.sessions++
      yield line({ tenant, session })
      for await (const { version, record } of store.read(tenant, session)) {
        count.records++
        yield line({ v: version, record })
      }
    }
    if (options.artifacts === undefined) continue
    for (const artifact of await options.artifacts.list(
      tenant,
      options.session === undefined ? {} : { session: options.session },
    )) {
      const parts = Math.max(1, Math.ceil(artifact.bytes / PART_BYTES))
      count.artifacts++
      yield line({ tenant, artifact, parts })
      for (let i = 0; i < parts; i++) {
        const range = { start: i * PART_BYTES, end: Math.min((i + 1) * PART_BYTES, artifact.bytes) }
        const bytes = await options.artifacts.read(tenant, artifact.handle, range)
        yield line({ part: Buffer.from(bytes ?? []).toString('base64') })
      }
    }
  }
  yield JSON.stringify({ end: true, ...count, sha256: hash.digest('hex') } satisfies ExportEnd)
}

async function tenantsOf({ name, tenants }: ExportedStore): Promise<readonly string[]> {
  if (tenants !== undefined) return tenants()
  throw new PlimsollError('unsupported', `The store ${name} cannot list its tenants.`, { advice: 'Name the tenant.' })
}

export async function* sessionsOf(
  store: Pick<SessionStore, 'list' | 'version'>,
  tenant: string,
  only?: string,
): AsyncGenerator<string, void, undefined> {
  if (only !== undefined) {
    if ((await store.version(tenant, only)) > 0) yield only
    return
  }
  let after: string | undefined
  for (;;) {
    const page = await store.list(tenant, { limit: PAGE, ...(after !== undefined && { after }) })
    yield* page.map(({ session }) => session)
    after = page.at(-1)?.session
    if (page.length < PAGE || after === undefined) return
  }
}
