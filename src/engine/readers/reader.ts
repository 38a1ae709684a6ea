import { createHmac, timingSafeEqual } from 'node:crypto'
import { PlimsollError } from '../../core/errors.ts'
import { type Handle, handlesIn, isHandle } from '../../core/handles.ts'
import type { ArtifactStat, ArtifactStore } from '../../ports/artifact-store.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import { byteLength } from '../intake/text.ts'

export interface ReaderOptions {
  readonly store: ArtifactStore
  readonly tenant: string
  readonly provenance: ReaderProvenance
  /** Most bytes of one answer, its seal included. @default 12_000 */
  readonly maxBytes?: number
  /** A scan stops after this long and says how far it came. @default 10_000 */
  readonly timeoutMs?: number
  readonly clock?: Clock
}

/** What holds for the calls of one conversation, or for a single one. */
export interface ReaderCallOptions {
  /** Which of the tenant's artifacts are open to it. @default all of them */
  readonly mayOpen?: MayOpen
  /** The caller does not wait for the answer any more. */
  readonly signal?: AbortSignal
  /** Told now and then how much of the work is done, from 0 to 1. */
  readonly onProgress?: (share: number) => void
}

/** Whether a conversation holds, or has a view of, what a handle opens. */
export type MayOpen = (handle: Handle) => Promise<boolean>

/** What a reader says: bounded, and sealed so that it is never off-loaded again. */
export interface ReaderAnswer {
  /** False when the query or the code failed; `text` says why. */
  readonly ok: boolean
  readonly text: string
  readonly handles: readonly Handle[]
  /** There was more than `text` shows; it says how to get it. */
  readonly truncated: boolean
}

/** Less would not hold a header, a line and the seal. */
const LEAST_BYTES = 512
const DEFAULT_BYTES = 12_000
const DEFAULT_TIMEOUT_MS = 10_000

/** What the model asked for cannot be done; the message says what can. */
export const badInput = (message: string, advice?: string, cause?: unknown): PlimsollError =>
  new PlimsollError('bad-input', message, { advice, cause })

/** What the readers share: looking up artifacts, the room that an answer has, and sealing it. */
export interface Reader {
  readonly store: ArtifactStore
  readonly tenant: string
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  readonly progress: (share: number) => void
  /** Rejects with `not-found` and advice when there is no such artifact, or not for this conversation. */
  find(handle: string): Promise<ArtifactStat>
  /** Bytes left for header and body of an answer about so many artifacts. */
  room(handles: number): number
  /** Cuts what does not fit, as a last guard: readers keep within `room` themselves. */
  answer(body: string, handles: readonly Handle[], truncated: boolean, ok?: boolean): ReaderAnswer
}

export function readerOf(options: ReaderOptions, call: ReaderCallOptions = {}): Reader {
  const {
    store,
    tenant,
    provenance,
    maxBytes = DEFAULT_BYTES,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    clock = systemClock,
  } = options
  const { mayOpen, signal, onProgress = () => undefined } = call
  if (maxBytes < LEAST_BYTES)
    throw new PlimsollError(
      'bad-config',
      `A reader needs at least ${LEAST_BYTES} bytes to answer; maxBytes is ${maxBytes}.`,
    )
  const room = (handles: number): number => maxBytes - provenance.sealBytes(handles)
  return {
    store,
    tenant,
    clock,
    timeoutMs,
    signal,
    progress: onProgress,
    room,
    async find(handle) {
      const stat = isHandle(handle) ? await store.stat(tenant, handle) : undefined
      // The same words for what does not exist: a caller learns nothing about other conversations.
      if (stat !== undefined && ((await mayOpen?.(stat.handle)) ?? true)) return stat
      throw new PlimsollError('not-found', `There is no artifact ${JSON.stringify(handle.slice(0, 60))}.`, {
        advice: isHandle(handle)
          ? 'It may have been deleted, or belong to another conversation. Run the tool that produced it again.'
          : 'A handle is "art_" and 26 letters and digits, exactly as it was shown.',
        fields: { handle },
      })
    },
    answer(body, handles, truncated, ok = true) {
      const fitting = cutBytes(body, room(handles.length))
      return { ok, text: provenance.seal(tenant, fitting, handles), handles, truncated: truncated || fitting !== body }
    },
  }
}

/** The longest prefix of whole characters within `max` bytes. */
export function cutBytes(text: string, max: number): string {
  if (text.length * 3 <= max || byteLength(text) <= max) return text
  const bytes = Buffer.from(text, 'utf8').subarray(0, Math.max(0, max))
  return bytes.subarray(0, wholeCharacters(bytes)).toString('utf8')
}

/** How many of these bytes form whole characters, when the cut may have split the last one. */
export function wholeCharacters(bytes: Uint8Array): number {
  let end = bytes.length
  for (let back = 1; back <= 3 && back <= end; back++) {
    const byte = bytes[end - back] ?? 0
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      if (length > back) end -= back
      break
    }
    if (byte < 0x80) break
  }
  return end
}

/** How many bytes at the front belong to a character that began before them. */
export function brokenBytes(bytes: Uint8Array): number {
  const start = bytes.subarray(0, 4).findIndex((byte) => (byte & 0xc0) !== 0x80)
  return start === -1 ? Math.min(bytes.length, 3) : start
}

/**
 * Marks what a reader answered, so that intake knows it and never off-loads it again: a pointer to a pointer would send
 * the model in circles. The mark is a last line with the handles and a keyed proof over the text. It can be
 * checked with the secret, in another process too, and tool output cannot forge it.
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
