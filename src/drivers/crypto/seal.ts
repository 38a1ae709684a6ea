import { createHash } from 'node:crypto'

/** What lies on disk for a piece of text: the text itself, or its sealed bytes. */
export type Stored = string | Uint8Array

/** The border between a store and its disk. Promises: `open(tenant, seal(tenant, text)) === text`; another tenant's seal does not open. */
export interface Seal {
  readonly name: 'plain' | 'aes-256-gcm'
  /** Kept by a store to know its key again; says nothing about it. */
  readonly fingerprint: string
  /** A text, or its bytes in UTF-8. */
  seal(tenant: string, text: string | Uint8Array): Stored
  /** @throws when the bytes are damaged, or belong to another tenant or key. */
  open(tenant: string, stored: Stored): string
  /** The form of a lookup key that an index may hold: equal keys of one tenant stay equal. */
  blind(tenant: string, key: string): string
  /** The form of a search word that an index may hold. */
  blindWord(tenant: string, word: string): string
}

// NUL ends a C string and a lone surrogate becomes U+FFFD on its way to a database: both would let two keys collide.
const UNSAFE = /[\0\p{Surrogate}]/u
/** Index rows stay small whatever a client puts into a call id. */
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
