import type { StreamEvent } from '../../core/codec.ts'

/** One event with the exact text that it came in. */
export interface Frame {
  readonly raw: string
  /** Undefined for comments and other frames without data. */
  readonly event: StreamEvent | undefined
}

/** Reads events from byte chunks cut anywhere. */
export interface EventParser {
  /** Events completed by this chunk. */
  push(chunk: Uint8Array | string): StreamEvent[]
  /** The event that was open when the stream ended. */
  end(): StreamEvent[]
}

/** How the events of a stream travel. */
export interface Framing {
  /** What a stream of ours says that it is. */
  readonly contentType: string
  /** What a client says that it takes. */
  readonly accept: string
  isStream(contentType: string | undefined): boolean
  parser(): EventParser
  /** The same with the text that each event came in, so that what passes unchanged passes byte for byte. */
  frames(): { push(bytes: Uint8Array): Frame[]; end(): Frame[] }
  write(event: StreamEvent): string
  /** Tells a client that somebody is there; empty where the framing has no such thing. */
  readonly keepAlive: string
}
