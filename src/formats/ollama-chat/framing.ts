import type { StreamEvent } from '../../core/codec.ts'
import type { Frame, Framing } from '../framing/framing.ts'

const TYPE = 'application/x-ndjson'
/** A server that never ends a line must not fill the memory. */
const MOST_CHARACTERS = 64 * 1024 * 1024

/** One JSON object per line. */
export const jsonLines: Framing = {
  contentType: TYPE,
  accept: TYPE,
  isStream: (contentType = '') => contentType.includes('ndjson'),
  parser() {
    const { push, end } = frames()
    const events = (read: readonly Frame[]): StreamEvent[] => read.flatMap(({ event }) => event ?? [])
    return {
      push: (chunk) => events(push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)),
      end: () => events(end()),
    }
  },
  frames,
  write: ({ data }) => `${data}\n`,
  keepAlive: '',
}

function frames(): { push(bytes: Uint8Array): Frame[]; end(): Frame[] } {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  // The open line, in the pieces it arrived in: joining once per line keeps a line of many chunks linear.
  let open: string[] = []
  let size = 0
  const take = (text: string): Frame[] => {
    const read: Frame[] = []
    let from = 0
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      read.push(frameOf(open.join('') + text.slice(from, at + 1)))
      open = []
      size = 0
      from = at + 1
    }
    if (from < text.length) {
      open.push(from === 0 ? text : text.slice(from))
      size += text.length - from
      if (size > MOST_CHARACTERS) throw new RangeError(`A line is longer than ${MOST_CHARACTERS} characters.`)
    }
    return read
  }
  return {
    push: (bytes) => take(decoder.decode(bytes, { stream: true })),
    end() {
      const read = take(decoder.decode())
      const rest = open.join('')
      open = []
      return rest === '' ? read : [...read, frameOf(rest)]
    },
  }
}

function frameOf(raw: string): Frame {
  const data = raw.trim()
  return { raw, event: data === '' ? undefined : { data } }
}
