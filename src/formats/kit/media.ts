import type { Media } from '../../core/item.ts'
import { defined } from './reading.ts'

const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*),/

/** Splits what travels as a URL into an inline payload or a reference. */
export function readUrl(url: string | undefined): Pick<Media, 'mime' | 'data' | 'reference'> {
  if (url === undefined) return {}
  // Only the head is matched: a payload may be tens of megabytes.
  const head = url.startsWith('data:') ? DATA_URL.exec(url.slice(0, 256)) : null
  if (head === null) return { reference: url }
  return defined({ mime: head[1] === '' ? undefined : head[1], data: url.slice(head[0].length) })
}

export const dataUrl = (mime: string, data: string): string => `data:${mime};base64,${data}`

/** What kind of thing a mime type names, as far as the meter treats it differently. */
export function mediaTypeOf(mime: string | undefined): Media['type'] {
  if (mime === undefined) return 'file'
  if (mime.startsWith('image/')) return 'image'
  if (mime.startsWith('audio/')) return 'audio'
  if (mime.startsWith('video/')) return 'video'
  return mime === 'application/pdf' || mime.startsWith('text/') ? 'document' : 'file'
}
