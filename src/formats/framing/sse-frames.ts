import type { Frame } from './framing.ts'
import { createSseParser } from './sse.ts'

/** A server that never ends an event must not fill the memory: what is longer passes without being read, and so does the rest. */
const MAX_EVENT_CHARS = 8 * 1024 * 1024

/** Cuts a byte stream into events and keeps their text, so that what passes unchanged passes byte for byte. */
export function frameReader(): { push(bytes: Uint8Array): Frame[]; end(): Frame[] } {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const parser = createSseParser()
  /** The open event, in the pieces it came in: joined once, so that an event of many chunks stays linear. */
  let pieces: string[] = []
  let size = 0
  /** The last characters of it, since a border may be cut between two chunks. */
  let tail = ''
  let isBlind = false
  const close = (last: string): string => {
    const raw = pieces.join('') + last
    pieces = []
    size = 0
    tail = ''
    return raw
  }
  const take = (text: string): Frame[] => {
    if (isBlind) return text === '' ? [] : [{ raw: text, event: undefined }]
    const frames: Frame[] = []
    // A run of empty lines is one border: a server may send millions of them.
    const border = /(?:\r\n){2,}|\n{2,}|\r{2,}/g
    const held = tail.length
    const searched = tail + text
    let from = 0
    for (let match = border.exec(searched); match !== null; match = border.exec(searched)) {
      const to = border.lastIndex - held
      const raw = close(text.slice(from, to))
      frames.push({ raw, event: parser.push(raw)[0] })
      from = to
    }
    if (from < text.length) {
      pieces.push(text.slice(from))
      size += text.length - from
      tail = (from === 0 ? searched : text.slice(from)).slice(-3)
    }
    if (size <= MAX_EVENT_CHARS) return frames
    isBlind = true
    return [...frames, { raw: close(''), event: undefined }]
  }
  return {
    push: (bytes) => take(decoder.decode(bytes, { stream: true })),
    end() {
      const frames = take(decoder.decode())
      const raw = close('')
      if (raw === '') return frames
      const [event] = [...parser.push(raw), ...parser.end()]
      return [...frames, { raw, event }]
    },
  }
}
