import { createCipheriv, createDecipheriv } from 'node:crypto'
import { checkKey, derive, fingerprintOf } from './seal.ts'

/** Half-open range of bytes. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Seals artifacts piece by piece, so that a range opens without the rest. */
export interface ByteSeal {
  readonly name: 'plain' | 'aes-256-gcm'
  /** Stored to recognise the key; reveals nothing about it. */
  readonly fingerprint: string
  /** The same bytes under the same handle give the same sealed bytes. */
  seal(tenant: string, handle: string, bytes: Uint8Array): Uint8Array
  /** The plain size of a sealed size. */
  plainBytes(sealedBytes: number): number
  /** The sealed range that contains a plain range, extended to whole pieces. */
  span(range: Span, totalBytes: number): Span
  /** Opens the bytes of `span` and cuts them to `range`. @throws if they are damaged or belong to another artifact */
  open(tenant: string, handle: string, sealed: Uint8Array, range: Span, totalBytes: number): Uint8Array
}

const PIECE_BYTES = 64 * 1024
const TAG_BYTES = 16
const SEALED_PIECE = PIECE_BYTES + TAG_BYTES

export const plainByteSeal: ByteSeal = {
  name: 'plain',
  fingerprint: 'plain',
  seal: (_tenant, _handle, bytes) => bytes,
  plainBytes: (sealedBytes) => sealedBytes,
  span: (range) => range,
  open: (_tenant, _handle, sealed) => sealed,
}

/**
 * A handle is a keyed hash of the content, so a key derived from it is used for one content only; numbering the pieces is
 * then a safe nonce. Each piece is bound to its place and to the whole size: none can be moved, dropped or repeated.
 */
export function aesByteSeal(masterKey: Uint8Array): ByteSeal {
  const master = checkKey(masterKey)
  const keyOf = (tenant: string, handle: string): Buffer => derive(master, `artifact ${handle} ${tenant}`)

  return {
    name: 'aes-256-gcm',
    fingerprint: fingerprintOf(master),
    seal(tenant, handle, bytes) {
      const key = keyOf(tenant, handle)
      const pieces: Buffer[] = []
      for (let i = 0; i < pieceCount(bytes.length); i++) {
        const cipher = createCipheriv('aes-256-gcm', key, nonceOf(i))
        cipher.setAAD(placeOf(i, bytes.length))
        pieces.push(
          cipher.update(bytes.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES)),
          cipher.final(),
          cipher.getAuthTag(),
        )
      }
      return Buffer.concat(pieces)
    },
    plainBytes: (sealedBytes) => Math.max(0, sealedBytes - Math.ceil(sealedBytes / SEALED_PIECE) * TAG_BYTES),
    span({ start, end }, totalBytes) {
      const sealedTotal = totalBytes + pieceCount(totalBytes) * TAG_BYTES
      return {
        start: firstPiece(start, totalBytes) * SEALED_PIECE,
        end: Math.min(Math.max(1, Math.ceil(end / PIECE_BYTES)) * SEALED_PIECE, sealedTotal),
      }
    },
    open(tenant, handle, sealed, { start, end }, totalBytes) {
      const key = keyOf(tenant, handle)
      const first = firstPiece(start, totalBytes)
      const pieces: Buffer[] = []
      for (let offset = 0, i = first; offset < sealed.length; offset += SEALED_PIECE, i++) {
        const piece = sealed.subarray(offset, offset + SEALED_PIECE)
        const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(i), { authTagLength: TAG_BYTES })
        decipher.setAAD(placeOf(i, totalBytes))
        decipher.setAuthTag(piece.subarray(piece.length - TAG_BYTES))
        pieces.push(decipher.update(piece.subarray(0, piece.length - TAG_BYTES)), decipher.final())
      }
      const plain = Buffer.concat(pieces)
      const opened = plain.subarray(start - first * PIECE_BYTES, end - first * PIECE_BYTES)
      if (opened.length !== end - start) throw new Error('Sealed bytes are missing.')
      return opened
    },
  }
}

const placeOf = (piece: number, totalBytes: number): Buffer => Buffer.from(`${piece} of ${totalBytes}`)

/** An empty artifact has one empty piece: its absence of bytes is authenticated too. */
const pieceCount = (totalBytes: number): number => Math.max(1, Math.ceil(totalBytes / PIECE_BYTES))

/** A range that starts at the very end opens the last piece. */
const firstPiece = (start: number, totalBytes: number): number =>
  Math.min(Math.floor(start / PIECE_BYTES), pieceCount(totalBytes) - 1)

function nonceOf(piece: number): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(piece, 8)
  return nonce
}
