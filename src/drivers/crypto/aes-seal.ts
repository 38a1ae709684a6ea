import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { PlimsollError } from '../../core/errors.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { Seal } from './seal.ts'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** First byte of everything sealed, so that another scheme can stand beside this one later. */
const SCHEME = 1
const KNOWN_TENANTS = 1000

interface TenantKeys {
  readonly text: Buffer
  readonly index: Buffer
}

/**
 * AES-256-GCM with a key per tenant, derived from one master key. The tenant is part of what is authenticated, so bytes
 * moved from one tenant's row to another's do not open. Lookup keys and search words are replaced by keyed hashes: they stay
 * comparable, which shows how often a word occurs but not which word it is. Names of sessions, sizes and times stay readable.
 */
export function aesSeal(masterKey: Uint8Array): Seal {
  const master = checkKey(masterKey)
  const known = new BoundedMap<string, TenantKeys>(KNOWN_TENANTS)

  function keysOf(tenant: string): TenantKeys {
    const found = known.get(tenant)
    if (found !== undefined) return found
    const keys = { text: derive(master, `text ${tenant}`), index: derive(master, `index ${tenant}`) }
    known.set(tenant, keys, 1)
    return keys
  }

  const hash = (tenant: string, kind: string, value: string): string =>
    createHmac('sha256', keysOf(tenant).index).update(kind).update(Buffer.from(value, 'utf16le')).digest('hex')

  return {
    name: 'aes-256-gcm',
    fingerprint: fingerprintOf(master),
    seal(tenant, text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keysOf(tenant).text, nonce)
      cipher.setAAD(Buffer.from(tenant))
      const sealed = [cipher.update(typeof text === 'string' ? Buffer.from(text) : text), cipher.final()]
      return Buffer.concat([Buffer.of(SCHEME), nonce, cipher.getAuthTag(), ...sealed])
    },
    open(tenant, stored) {
      const bytes = typeof stored === 'string' ? Buffer.from(stored, 'latin1') : Buffer.from(stored)
      if (bytes[0] !== SCHEME || bytes.length < 1 + NONCE_BYTES + TAG_BYTES)
        throw new Error('The record is not sealed with this scheme.')
      const nonce = bytes.subarray(1, 1 + NONCE_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', keysOf(tenant).text, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(tenant))
      decipher.setAuthTag(bytes.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES))
      return decipher.update(bytes.subarray(1 + NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    },
    blind: (tenant, key) => hash(tenant, 'key', key),
    // Half a hash: enough to tell the words of one tenant apart, and half the index.
    blindWord: (tenant, word) => hash(tenant, 'word', word).slice(0, 32),
  }
}

export function checkKey(key: Uint8Array): Buffer {
  if (key.length === KEY_BYTES) return Buffer.from(key)
  throw new PlimsollError('bad-config', `The encryption key has ${key.length} bytes; AES-256 needs ${KEY_BYTES}.`, {
    advice: 'Make one with `openssl rand -hex 32`.',
  })
}

/** The purpose is hashed first: HKDF takes at most 1024 bytes of it, and a tenant's name may be longer. */
export function derive(master: Uint8Array, purpose: string): Buffer {
  const info = createHash('sha256').update(`plimsoll/1 ${purpose}`).digest()
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), info, KEY_BYTES))
}

export const fingerprintOf = (master: Uint8Array): string =>
  `aes-256-gcm:${createHmac('sha256', derive(master, 'fingerprint')).digest('hex').slice(0, 32)}`
