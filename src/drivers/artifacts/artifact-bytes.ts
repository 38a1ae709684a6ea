import { PlimsollError } from '../../core/errors.ts'
import type { ArtifactStat } from '../../ports/artifact-store.ts'
import type { ByteSeal } from '../crypto/byte-seal.ts'
import { hexOf, sha256Of } from './address.ts'

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
