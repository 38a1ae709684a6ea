import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { PlimsollError } from '../../core/errors.ts'
import { BoundedMap } from '../../util/bounded-map.ts'

/** A stored text: plain, or as sealed bytes. */
export type Stored = string | Uint8Array

/** The border between a store and its disk. Promises: `open(tenant, seal(tenant, text)) === text`; another tenant's seal does not open. */
export interface Seal {
  readonly name: 'plain' | 'aes-256-gcm'
  /** Stored to recognise the key; reveals nothing about it. */
  readonly fingerprint: string
  seal(tenant: string, text: string): Stored
  /** @throws when the bytes are damaged, or belong to another tenant or key. */
  open(tenant: string, stored: Stored): string
  /** The form of a lookup key that an index may hold: equal keys of one tenant stay equal. */
  blind(tenant: string, key: string): string
  /** The form of a search word that an index may hold. */
  blindWord(tenant: string, word: string): string
}

// NUL ends a C string and a lone surrogate becomes U+FFFD on its way to a database: both would let two keys collide.
const UNSAFE = /[\0\p{Surrogate}]/u
/** Bounds the size of index rows, because clients choose call ids. */
const MAX_KEY_LENGTH = 200

export const plainSeal: Seal = {
  name: 'plain',
  fingerprint: 'plain',
  seal: (_, text) => text,
  open: (_, stored) =>
    typeof stored === 'string' ? stored : Buffer.from(stored.buffer, stored.byteOffset, stored.length).toString(),
  blind: (_, key) => (key.length > MAX_KEY_LENGTH || UNSAFE.test(key) ? `#${digest(key)}` : key),
  blindWord: (_, word) => word,
}

// UTF-16, since UTF-8 would fold lone surrogates together.
const digest = (key: string): string => createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex')

/** A store is sealed with one key for its whole life; another key, or none, must not add records that cannot be read. */
export function sealMismatch(where: string, stored: string, seal: { readonly name: string }): PlimsollError {
  if (stored === 'plain') {
    return new PlimsollError('bad-config', `The store ${where} is not encrypted, but a key was given.`, {
      advice: 'Export it and import it into a new store with the key.',
      fields: { store: where },
    })
  }
  const said = seal.name === 'plain' ? 'and no key was given' : 'with another key'
  return new PlimsollError('bad-config', `The store ${where} is encrypted ${said}.`, {
    advice: 'Give the key it was made with.',
    fields: { store: where },
  })
}

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
      const sealed = [cipher.update(text, 'utf8'), cipher.final()]
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

/** The key of the encryption at rest, or undefined when none is set. Never part of an error. */
export function keyFromEnvironment(environment: Readonly<Record<string, string | undefined>>): Uint8Array | undefined {
  const { PLIMSOLL_KEY: key, PLIMSOLL_KEY_FILE: file } = environment
  if (key !== undefined && file !== undefined) {
    throw new PlimsollError('bad-config', 'Two encryption keys are set, one directly and one as a file.', {
      advice: 'Keep one.',
    })
  }
  if (key !== undefined) return parseKey(key, 'The encryption key')
  if (file === undefined) return undefined
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PlimsollError('bad-config', `The key file ${file} cannot be read.`, { cause })
  }
  return parseKey(text, `The encryption key in ${file}`)
}

function parseKey(text: string, what: string): Uint8Array {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return Buffer.from(trimmed, 'base64')
  throw new PlimsollError('bad-config', `${what} is neither 64 hex digits nor 32 bytes of base64.`, {
    advice: 'Make one with `openssl rand -hex 32`.',
  })
}
