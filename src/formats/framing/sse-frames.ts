import type { Frame } from './framing.ts'
import { createSseParser } from './sse.ts'

/** Cuts a byte stream into events and keeps their text, so that what passes unchanged passes byte for byte. */
export function frameReader(): { push(bytes: Uint8Array): Frame[]; end(): Frame[] } {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const parser = createSseParser()
  let open = ''
  /** Up to here no border was found. */
  let seen = 0
  const take = (): Frame[] => {
    const frames: Frame[] = []
    const border = /\r\n\r\n|\n\n|\r\r/g
    let from = 0
    // A border may have been cut between two chunks; a long event is not searched again from its beginning.
    border.lastIndex = Math.max(0, seen - 3)
    for (let match = border.exec(open); match !== null; match = border.exec(open)) {
      const raw = open.slice(from, border.lastIndex)
      frames.push({ raw, event: parser.push(raw)[0] })
      from = border.lastIndex
    }
    open = open.slice(from)
    seen = open.length
    return frames
  }
  return {
    push(bytes) {
      open += decoder.decode(bytes, { stream: true })
      return take()
    },
    end() {
      open += decoder.decode()
      const frames = take()
      const rest = open
      open = ''
      if (rest === '') return frames
      const [event] = [...parser.push(rest), ...parser.end()]
      return [...frames, { raw: rest, event }]
    },
  }
}
