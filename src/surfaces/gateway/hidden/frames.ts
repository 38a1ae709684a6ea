import type { ServerSentEvent } from '../../../core/codec.ts'
import { createSseParser } from '../../../formats/sse.ts'

/** One event with the exact text that it came in. */
export interface Frame {
  readonly raw: string
  /** Undefined for comments and other frames without data. */
  readonly event: ServerSentEvent | undefined
}

/** Cuts a byte stream into events and keeps their text, so that what passes unchanged passes byte for byte. */
export function frameReader(): { push(bytes: Uint8Array): Frame[]; end(): Frame[] } {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let open = ''
  const take = (): Frame[] => {
    const frames: Frame[] = []
    const border = /\r\n\r\n|\n\n|\r\r/g
    let from = 0
    for (let match = border.exec(open); match !== null; match = border.exec(open)) {
      frames.push(frameOf(open.slice(from, border.lastIndex)))
      from = border.lastIndex
    }
    open = open.slice(from)
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
      return rest === '' ? frames : [...frames, frameOf(rest)]
    },
  }
}

function frameOf(raw: string): Frame {
  const parser = createSseParser()
  const [event] = [...parser.push(raw), ...parser.end()]
  return { raw, event }
}
