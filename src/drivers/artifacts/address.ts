import { createHash, createHmac } from 'node:crypto'
import { PlimsollError } from '../../core/errors.ts'
import { handleOf, type Handle } from '../../core/handles.ts'

/** A key shorter than this could be searched for, and a handle would stop being a capability. */
const MIN_SECRET_BYTES = 16

/** Gives bytes of a tenant their handle: the same in every process that holds the secret, unguessable without it. */
export interface ArtifactAddress {
  (tenant: string, bytes: Uint8Array): Handle
  /** The same, for a caller that has the SHA-256 of the bytes already. */
  ofDigest(tenant: string, sha256: Uint8Array): Handle
}

export function artifactAddress(secret: Uint8Array): ArtifactAddress {
  const keyOf = tenantKey(secret)
  const ofDigest = (tenant: string, sha256: Uint8Array): Handle =>
    handleOf(createHmac('sha256', keyOf(tenant)).update(sha256).digest())
  const address = (tenant: string, bytes: Uint8Array): Handle => ofDigest(tenant, sha256Of(bytes))
  return Object.assign(address, { ofDigest })
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
