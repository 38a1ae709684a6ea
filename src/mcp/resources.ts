import { isUtf8 } from 'node:buffer'
import { PlimsollError } from '../core/errors.ts'
import { isHandle } from '../core/handles.ts'
import { brokenBytes, wholeCharacters } from '../engine/readers/reader.ts'
import type { ArtifactStat } from '../ports/artifact-store.ts'
import { sessionOf, type Reach } from './scope.ts'
import { artifactsIn } from './tools/artifact-list.ts'
import { ownerOf } from './tools/reader-tools.ts'

export interface Listed {
  readonly uri: string
  readonly name: string
  readonly description: string
  readonly mimeType: string
  readonly size?: number
}

/** Clients put a resource into a conversation whole, so one read is bounded; ranges give the rest. */
const MOST_BYTES = 256 * 1024
const MOST_LISTED = 100

export const ARTIFACT = 'plimsoll://artifact/{handle}'
export const ARTIFACT_RANGE = 'plimsoll://artifact/{handle}/bytes/{start}/{end}'
export const SESSION = 'plimsoll://session/{session}'

export const listArtifacts = async (reach: Reach): Promise<readonly Listed[]> =>
  (await artifactsIn(reach, MOST_LISTED)).map((stat) => ({
    uri: `plimsoll://artifact/${stat.handle}`,
    name: stat.name ?? stat.handle,
    description: `Output of ${stat.tool ?? 'a tool'}, stored ${new Date(stat.createdAt).toISOString()}`,
    mimeType: mimeOf(stat),
    size: stat.bytes,
  }))

export async function listSessions({ plimsoll, tenant, session }: Reach): Promise<readonly Listed[]> {
  const all = await plimsoll.archive.sessions({ tenant, limit: MOST_LISTED })
  return all
    .filter((one) => session === undefined || one.session === session)
    .map((one) => ({
      uri: `plimsoll://session/${encodeURIComponent(one.session)}`,
      name: one.session,
      description: `Conversation, last used ${new Date(one.updatedAt).toISOString()}`,
      mimeType: 'application/json',
    }))
}

export interface Content {
  readonly uri: string
  readonly mimeType: string
  readonly text?: string
  readonly blob?: string
  readonly _meta?: Record<string, unknown>
}

/** Bytes [start, end) of an artifact as they were stored: as text where they are text, else base64. */
export async function readArtifact(
  reach: Reach,
  uri: string,
  { handle, start = '0', end }: { readonly handle: string; readonly start?: string; readonly end?: string },
): Promise<Content> {
  const { plimsoll, tenant } = reach
  const stat = isHandle(handle) ? await plimsoll.artifacts.stat(handle, { tenant }) : undefined
  // The same words for what another conversation holds.
  if (stat === undefined || !(await plimsoll.archive.readers(ownerOf(reach)).mayOpen(stat.handle)))
    throw new PlimsollError('not-found', `There is no artifact ${JSON.stringify(handle.slice(0, 60))}.`)
  const from = wholeNumber('start', start)
  const to = Math.min(end === undefined ? stat.bytes : wholeNumber('end', end), from + MOST_BYTES, stat.bytes)
  const bytes =
    from >= to ? new Uint8Array() : await plimsoll.artifacts.read(handle, { tenant, range: { start: from, end: to } })
  if (bytes === undefined) throw new PlimsollError('not-found', `The artifact ${handle} was deleted.`)
  const skipped = from === 0 ? 0 : brokenBytes(bytes)
  const whole = bytes.subarray(skipped, wholeCharacters(bytes))
  const isText = isUtf8(whole) && !whole.includes(0)
  const [first, shown] = isText ? [from + skipped, whole] : [from, bytes]
  return {
    uri,
    mimeType: isText ? mimeOf(stat) : (stat.mime ?? 'application/octet-stream'),
    ...(isText ? { text: Buffer.from(shown).toString('utf8') } : { blob: Buffer.from(shown).toString('base64') }),
    _meta: { 'plimsoll/bytes': stat.bytes, 'plimsoll/start': first, 'plimsoll/end': first + shown.length },
  }
}

const mimeOf = ({ mime, contentKind = '' }: ArtifactStat): string =>
  mime ?? (contentKind.startsWith('json') ? 'application/json' : 'text/plain')

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new PlimsollError(
    'bad-input',
    `${name} must be a whole number from 0; it is ${JSON.stringify(text.slice(0, 40))}.`,
  )
}

/** What happened in a session, in numbers. */
export async function readSession(reach: Reach, uri: string, named: string): Promise<Content> {
  if (reach.session !== undefined && named !== reach.session)
    throw new PlimsollError('not-found', `There is no session ${JSON.stringify(named.slice(0, 100))}.`)
  const session = await sessionOf(reach, named)
  const { agents, models, calls, usage, costUsd, epochs, cuts, pins, items, startedAt, updatedAt } =
    await reach.plimsoll.archive.report(session, { tenant: reach.tenant })
  const compactions = epochs.map(({ record: _record, ...epoch }) => epoch)
  const report = {
    session,
    agents,
    models,
    items,
    calls,
    usage,
    costUsd,
    compactions,
    cuts: cuts.length,
    pins,
    startedAt,
    updatedAt,
  }
  return { uri, mimeType: 'application/json', text: JSON.stringify(report, undefined, 2) }
}
