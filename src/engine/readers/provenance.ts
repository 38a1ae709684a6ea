import { createHmac, timingSafeEqual } from 'node:crypto'
import { handlesIn, type Handle } from '../../core/handles.ts'

/**
 * Marks what a reader answered, so that intake knows it and never off-loads it again: a pointer to a pointer would send
 * the model in circles. The mark is a last line with the handles and a keyed proof over the text. Whoever holds the
 * secret can check it, in another process too, and tool output cannot forge it.
 */
export interface ReaderProvenance {
  seal(tenant: string, body: string, handles: readonly Handle[]): string
  /** A sealed text without its seal. */
  open(text: string): string
  /** The artifacts that a text was read from; undefined when no reader of this tenant wrote it. */
  handlesOf(tenant: string, text: string): readonly Handle[] | undefined
  /** Bytes that `seal` adds. */
  sealBytes(handles: number): number
}

/** 80 bits: more than an attacker can try, and few tokens. */
const PROOF_LENGTH = 20
const SEAL = /\n\[from ((?:art_[0-9a-z]{26} )+)read ([0-9a-f]{20})\]$/

const lineOf = (handles: readonly Handle[], proof: string): string =>
  `\n[from ${handles.map((handle) => `${handle} `).join('')}read ${proof}]`

export function readerProvenance(secret: Uint8Array): ReaderProvenance {
  const own = Uint8Array.from(secret)
  const proofOf = (tenant: string, body: string, handles: readonly Handle[]): string =>
    createHmac('sha256', own)
      .update(JSON.stringify(['reader', tenant, handles, body]))
      .digest('hex')
      .slice(0, PROOF_LENGTH)
  return {
    seal(tenant, body, handles) {
      const trimmed = body.trimEnd()
      return trimmed + lineOf(handles, proofOf(tenant, trimmed, handles))
    },
    open: (text) => text.trimEnd().replace(SEAL, ''),
    handlesOf(tenant, text) {
      // Clients trim results, or end them with a newline; neither makes it another text.
      const trimmed = text.trimEnd()
      if (!trimmed.endsWith(']')) return undefined
      const match = SEAL.exec(trimmed)
      if (match === null) return undefined
      const [line, names = '', proof = ''] = match
      const handles = handlesIn(names)
      const expected = proofOf(tenant, trimmed.slice(0, -line.length), handles)
      return timingSafeEqual(Buffer.from(proof), Buffer.from(expected)) ? handles : undefined
    },
    sealBytes: (handles) =>
      lineOf(
        Array.from({ length: handles }, () => 'x'.repeat(30)),
        'x'.repeat(PROOF_LENGTH),
      ).length,
  }
}
