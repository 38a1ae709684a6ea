import { createHash } from 'node:crypto'
import { PlimsollError } from '../../core/errors.ts'
import { RECORD_VERSION, type LogRecord } from '../../core/records.ts'
import type { ArtifactStat, ArtifactStore } from '../../ports/artifact-store.ts'
import type { SessionStore, StoredRecord } from '../../ports/session-store.ts'
import type { StoreMaintenance } from '../../ports/store-maintenance.ts'
import { isDeepStrictEqual } from 'node:util'

/*
 * An export is text with one JSON value per line: a head, then sessions with their log entries, then artifacts in parts, then an end with a hash of
 * all lines before it, so that a truncated or edited file is detected.
 */

const EXPORT_VERSION = 1
/** The key of the store's own secret; see `storeSecret`. */
const SECRET_PLACE = { tenant: '', key: 'secret' } as const

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
  /** Export the artifacts of the sessions too. */
  artifacts?: ArtifactStore
  /**
   * Export the store's secret too. Tenant ids and handles are computed with it, so a move to another store needs it; anyone who has it can compute
   * tenant ids from credentials.
   */
  withSecret?: boolean
}

/** A store to export. Exporting a single tenant needs no list of tenants. */
export type ExportedStore = SessionStore & Partial<Pick<StoreMaintenance, 'tenants'>>

const PAGE = 500
const PART_BYTES = 512 * 1024

/** Yields a store as lines without line ends. Keeps one log entry or one part in memory at a time. */
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
    for (const artifact of await options.artifacts.list(tenant, { session: options.session })) {
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
  throw new PlimsollError('unsupported', `The store ${name} cannot list its tenants.`, {
    advice: 'Name the tenant to export.',
  })
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
    const page = await store.list(tenant, { limit: PAGE, after })
    yield* page.map(({ session }) => session)
    after = page.at(-1)?.session
    if (page.length < PAGE || after === undefined) return
  }
}

export interface ImportOptions {
  /** Receives the artifacts; without it they are skipped. It must use the secret of the exported store. */
  artifacts?: ArtifactStore
  /** Import for this tenant only; an export with anything else is refused. @default every tenant */
  tenant?: string
}

export interface ImportReport {
  readonly sessions: number
  readonly records: number
  readonly known: number
  readonly artifacts: number
}

const BATCH = 200

/**
 * Imports an export. Sessions keep their names; an existing session must start with the same log entries and gets only those that it lacks, so that
 * an interrupted import can be run again.
 */
export async function importStore(
  store: SessionStore,
  lines: AsyncIterable<string> | Iterable<string>,
  options: ImportOptions = {},
): Promise<ImportReport> {
  const report = { sessions: 0, records: 0, known: 0, artifacts: 0 }
  const hash = createHash('sha256')
  let log: ReturnType<typeof logImport> | undefined
  let artifact: ArtifactImport | undefined
  let number = 0

  const finish = async (): Promise<void> => {
    await log?.flush()
    log = undefined
  }

  for await (const text of lines) {
    if (text.trim() === '') continue
    number++
    const line = parse(text, number)
    if (number === 1) checkHead(line)
    if ('end' in line) {
      await finish()
      checkEnd(line, hash.digest('hex'), number)
      return report
    }
    hash.update(text).update('\n')
    if (options.tenant !== undefined) checkTenant(line, options.tenant)
    if ('secret' in line) await keepSecret(store, line.secret)
    else if ('session' in line) {
      await finish()
      log = logImport(store, line.tenant, line.session, report)
      report.sessions++
    } else if ('record' in line) {
      if (log === undefined) throw broken(number, 'a log entry is not inside a session')
      await log.add(line.v, line.record)
    } else if ('artifact' in line) {
      await finish()
      artifact = { tenant: line.tenant, stat: line.artifact, missing: line.parts, parts: [] }
    } else if ('part' in line) {
      if (artifact === undefined || artifact.missing === 0) throw broken(number, 'bytes are not inside an artifact')
      artifact.parts.push(Buffer.from(line.part, 'base64'))
      if (--artifact.missing > 0) continue
      if (options.artifacts !== undefined) await putArtifact(options.artifacts, artifact)
      report.artifacts += options.artifacts === undefined ? 0 : 1
      artifact = undefined
    }
  }
  await finish()
  throw new PlimsollError('bad-input', `The export is incomplete: it ends after line ${number}.`, {
    advice: 'The lines up to there were imported. Get the complete file and run the import again.',
  })
}

function logImport(store: SessionStore, tenant: string, session: string, report: { records: number; known: number }) {
  let at = 0
  let waiting: LogRecord[] = []
  const log = store.read(tenant, session)
  let existing: AsyncIterator<StoredRecord> | undefined = log[Symbol.asyncIterator]()

  async function flush(): Promise<void> {
    if (waiting.length === 0) return
    await store.append(tenant, session, waiting, at - waiting.length, { at: waiting.at(-1)!.at })
    report.records += waiting.length
    waiting = []
  }

  return {
    async add(version: number, record: LogRecord): Promise<void> {
      if (version !== at + 1)
        throw new PlimsollError(
          'bad-input',
          `Session ${session} has no log entry ${at + 1} in the export; ${version} follows ${at}.`,
        )
      at++
      const there = await existing?.next()
      if (there !== undefined && there.done !== true) {
        if (isDeepStrictEqual(there.value.record, record)) {
          report.known++
          return
        }
        throw new PlimsollError(
          'conflict',
          `Session ${session} is already in the store, with a different log entry at version ${version}.`,
          {
            advice: 'Import into an empty store, or remove that session first.',
            fields: { session, version },
          },
        )
      }
      existing = undefined
      waiting.push(record)
      // The first entry by itself: its time is the session's creation time.
      if (at === 1 || waiting.length >= BATCH) await flush()
    },
    flush,
  }
}

interface ArtifactImport {
  readonly tenant: string
  readonly stat: ArtifactStat
  readonly parts: Buffer[]
  missing: number
}

async function putArtifact(store: ArtifactStore, { tenant, stat, parts }: ArtifactImport): Promise<void> {
  const { handle, bytes: _, sha256: __, createdAt: ___, name: ____, ...meta } = stat
  const put = await store.put(tenant, Buffer.concat(parts), meta)
  if (put.handle === handle) return
  await store.remove(tenant, put.handle)
  throw new PlimsollError(
    'conflict',
    `The artifact ${handle} would get the handle ${put.handle} in this store: the stores' secrets differ.`,
    {
      advice:
        'Export with the secret, import the sessions first, and open the artifacts with the secret of this store.',
    },
  )
}

async function keepSecret(store: SessionStore, secret: string): Promise<void> {
  const kept = await store.setValue(SECRET_PLACE.tenant, SECRET_PLACE.key, secret, true)
  if (kept === secret) return
  throw new PlimsollError('conflict', 'The store already has a secret, and it differs from the exported one.', {
    advice: 'Import into an empty store.',
  })
}

function parse(text: string, number: number): ExportLine {
  try {
    return JSON.parse(text) as ExportLine
  } catch (cause) {
    throw new PlimsollError('bad-input', `Line ${number} of the export is not JSON.`, { cause })
  }
}

function checkHead(line: ExportLine): void {
  if (!('plimsoll' in line)) throw new PlimsollError('bad-input', 'This is not an export of a Plimsoll store.')
  if (line.version > EXPORT_VERSION) {
    throw new PlimsollError(
      'unsupported',
      `The export has version ${line.version}; this package reads up to ${EXPORT_VERSION}.`,
    )
  }
}

/** A caller with access to one tenant must not write another's data through a file. */
function checkTenant(line: ExportLine, tenant: string): void {
  if (!('secret' in line) && !('tenant' in line && line.tenant !== tenant)) return
  throw new PlimsollError(
    'forbidden',
    `The export contains data other than sessions of the tenant ${JSON.stringify(tenant)}.`,
    {
      advice: 'Export one session, or let an operator import the whole store.',
    },
  )
}

function checkEnd(end: ExportEnd, sha256: string, number: number): void {
  if (end.sha256 !== sha256) throw broken(number, 'the hash over the lines does not match')
}

const broken = (number: number, what: string): PlimsollError =>
  new PlimsollError('bad-input', `The export is damaged at line ${number}: ${what}.`, { fields: { line: number } })
