import { createHash, createHmac } from 'node:crypto'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import { type Handle, handleOf } from '../../core/handles.ts'
import type { ByteSeal } from '../crypto/byte-seal.ts'
import type { ArtifactMeta, ArtifactQuery, ArtifactStat, ByteRange, RetentionRule } from '../../ports/artifact-store.ts'

/** A key shorter than this could be searched for, and a handle would stop being a capability. */
const MIN_SECRET_BYTES = 16

/** Gives bytes of a tenant their handle: the same in every process that holds the secret, unguessable without it. */
export function artifactAddress(secret: Uint8Array): (tenant: string, bytes: Uint8Array) => Handle {
  const keyOf = tenantKey(secret)
  return (tenant, bytes) => handleOf(createHmac('sha256', keyOf(tenant)).update(sha256Of(bytes)).digest())
}

/** The tenant's own key, from which handles, folder names and provenance seals are made. */
export function tenantKey(secret: Uint8Array): (tenant: string) => Uint8Array {
  if (secret.length < MIN_SECRET_BYTES) {
    throw new PlimsollError(
      'bad-config',
      `The artifact secret has ${secret.length} bytes; at least ${MIN_SECRET_BYTES} are needed.`,
      {
        advice: 'Use 32 random bytes and keep them: other bytes give other handles.',
      },
    )
  }
  const own = Uint8Array.from(secret)
  return (tenant) => {
    // UTF-8 turns every lone surrogate into the same character: two such names would share one key.
    if (Buffer.from(tenant, 'utf8').toString('utf8') !== tenant)
      throw new PlimsollError('bad-input', 'The tenant name is not well-formed Unicode.')
    return createHmac('sha256', own).update(`artifact:${tenant}`).digest()
  }
}

export const sha256Of = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest()

export const hexOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')

const MAX_TOOL_CHARACTERS = 40

/** `<tool>_<YYYYMMDD_HHMMSS>_<hex>.log`, in UTC. The tool's name comes from outside, so only plain characters of it pass. */
export function artifactName(tool: string | undefined, createdAt: number, hex: string): string {
  const plain = (tool ?? '').replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_TOOL_CHARACTERS)
  const digits = new Date(createdAt).toISOString().replace(/[-:]/g, '')
  return `${plain === '' ? 'tool' : plain}_${digits.slice(0, 8)}_${digits.slice(9, 15)}_${hex}.log`
}

/** They tell artifacts of one tool and second apart. */
export const digitsOf = (handle: Handle): string => hexOf(sha256Of(Buffer.from(handle))).slice(0, 6)

/** What a first `put` fixes for good. */
export const statOf = (handle: Handle, bytes: Uint8Array, meta: ArtifactMeta, createdAt: number): ArtifactStat => ({
  ...meta,
  handle,
  bytes: bytes.length,
  sha256: hexOf(sha256Of(bytes)),
  createdAt,
  name: artifactName(meta.tool, createdAt, digitsOf(handle)),
})

/** Names from outside become fixed, keyed hashes before they are part of a row or an object's key. */
export const hiddenName = (key: Uint8Array, kind: string, name: string): string =>
  createHmac('sha256', key).update(`${kind} `).update(Buffer.from(name, 'utf16le')).digest('hex').slice(0, 40)

/** What is known about an artifact, from where it lies. @throws PlimsollError `corrupt` where that is damaged */
export function readStat(json: () => string): ArtifactStat {
  try {
    return JSON.parse(json()) as ArtifactStat
  } catch (cause) {
    throw new PlimsollError('corrupt', 'What is known about an artifact is damaged: its description cannot be read.', {
      cause,
    })
  }
}

/** One damaged description takes no other artifact out of a list. */
export const unlessDamaged = <T>(found: Promise<T>): Promise<T | undefined> =>
  found.catch((error: unknown) => {
    if (!isPlimsollError(error, 'corrupt')) throw error
    return undefined
  })

/** Damage is a typed error: bytes that are not the ones that were put must never pass for them. */
export function openBytes(
  seal: ByteSeal,
  tenant: string,
  stat: ArtifactStat,
  stored: Uint8Array,
  wanted: { readonly start: number; readonly end: number },
): Uint8Array {
  const corrupt = (cause?: unknown) =>
    new PlimsollError('corrupt', `The stored bytes of ${stat.handle} differ from those that were stored.`, {
      fields: { handle: stat.handle },
      cause,
    })
  let bytes: Uint8Array
  try {
    bytes = seal.open(tenant, stat.handle, stored, wanted, stat.bytes)
  } catch (error) {
    throw corrupt(error)
  }
  const whole = wanted.start === 0 && wanted.end === stat.bytes
  if (bytes.length !== wanted.end - wanted.start || (whole && hexOf(sha256Of(bytes)) !== stat.sha256)) throw corrupt()
  return bytes
}

/** The part of `size` bytes that a range names; what lies beyond the end is empty, not an error. */
export function clampRange(range: ByteRange | undefined, size: number): { start: number; end: number } {
  const { start, end = size } = range ?? { start: 0 }
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start) {
    throw new PlimsollError(
      'bad-input',
      `A byte range needs whole numbers with 0 <= start <= end; this one is ${start} to ${range?.end ?? 'the end'}.`,
    )
  }
  return { start: Math.min(start, size), end: Math.min(end, size) }
}

/** One page of a tenant's artifacts, newest first. `isMarked` says which of them the session of the query references. */
export function pageOf(
  all: readonly ArtifactStat[],
  query: ArtifactQuery,
  isMarked: (handle: Handle) => boolean = () => true,
): ArtifactStat[] {
  const { session, tool, limit = all.length, after } = query
  const matching = all
    .filter((stat) => tool === undefined || stat.tool === tool)
    .filter((stat) => stat.session === session || isMarked(stat.handle))
    .sort((a, b) => b.createdAt - a.createdAt || (a.handle < b.handle ? -1 : 1))
  if (after === undefined) return matching.slice(0, limit)
  const position = matching.findIndex((stat) => stat.handle === after)
  if (position === -1) {
    throw new PlimsollError('not-found', `There is no artifact ${after} to continue after.`, {
      advice: 'List again from the start.',
    })
  }
  return matching.slice(position + 1, position + 1 + limit)
}

/** Refuses bytes that would take a tenant over its quota. Nothing is deleted to make room: that is retention's decision. */
export function checkQuota(usedBytes: number, newBytes: number, quotaBytes: number): void {
  if (usedBytes + newBytes <= quotaBytes) return
  throw new PlimsollError(
    'quota-exceeded',
    `Artifacts of this tenant take ${usedBytes} of ${quotaBytes} bytes; ${newBytes} more do not fit.`,
    {
      advice: 'Prune old artifacts, release finished sessions or raise the quota.',
      fields: { usedBytes, newBytes, quotaBytes },
    },
  )
}

export interface RetentionCandidate {
  readonly handle: Handle
  /** When these bytes were last put. */
  readonly usedAt: number
  readonly referenced: boolean
}

/**
 * Which artifacts a rule gives up, oldest first. References win over every number. A rule without `keep` and `maxAgeMs`
 * gives up nothing: an empty object must never mean "delete all".
 */
export function expiredArtifacts(
  candidates: readonly RetentionCandidate[],
  rule: RetentionRule,
  now: number,
): Handle[] {
  const { keep, cleanAt = 0, maxAgeMs } = rule
  if (candidates.length < cleanAt || (keep === undefined && maxAgeMs === undefined)) return []
  const newestFirst = [...candidates].sort((a, b) => b.usedAt - a.usedAt || (a.handle < b.handle ? -1 : 1))
  return newestFirst
    .slice(keep ?? 0)
    .filter(({ usedAt, referenced }) => !referenced && (maxAgeMs === undefined || now - usedAt > maxAgeMs))
    .map(({ handle }) => handle)
    .toReversed()
}
