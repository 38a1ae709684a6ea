import type { Count } from '../../core/count.ts'
import type { Media } from '../../core/item.ts'
import { audioSeconds, pdfPages } from './documents.ts'
import { imageSize } from './image-size.ts'
import { imageTokens } from './image-tokens.ts'

/** A page is billed as its text and, on most vendors, as a picture too. */
interface PageRule {
  readonly tokens: number
  readonly low: number
  readonly high: number
}

const PAGE_CLAUDE: PageRule = { tokens: 2500, low: 500, high: 4600 }
const PAGE_GEMINI: PageRule = { tokens: 258, low: 258, high: 560 }
const PAGE_ELSE: PageRule = { tokens: 1200, low: 200, high: 2400 }

const GEMINI_AUDIO_PER_SECOND = 32
const AUDIO_PER_SECOND = 10
const GEMINI_VIDEO_PER_SECOND = 300
/** Speech at the lowest usual bit rate: the most seconds that a number of bytes can hold. */
const LEAST_AUDIO_BYTES_PER_SECOND = 1000
const LEAST_VIDEO_BYTES_PER_SECOND = 20_000

/** Pages that are assumed behind a file id, and the most that vendors take. */
const ASSUMED_PAGES = 10
const MOST_PAGES = 100

/**
 * Tokens of a picture, document or sound by the vendor's own rules. The base64 text is never counted as text: the same picture
 * costs the same whether it was packed into 100 kB or 5 MB. What cannot be seen is `unknown`, never zero.
 */
export function countMedia(media: Media, { model, family, isKnown = true }: MediaTarget): Count {
  const count = byRule(media, model, family)
  return isKnown || count.source !== 'unknown' ? count : byBytes(media, count)
}

/** Where a picture goes. */
export interface MediaTarget {
  readonly model: string
  readonly family: string
  /** False for a model that no catalogue knows: nobody can say by which rule it counts. @default true */
  readonly isKnown?: boolean
}

/** Four bytes to a token, as servers count that treat media as text. */
const BYTES_PER_TOKEN = 4

/** Neither the model's rule nor the picture's size is known: its bytes are the only thing that grows with what it may cost. */
function byBytes({ data }: Media, count: Count): Count {
  if (data === undefined) return count
  const tokens = Math.max(count.tokens, Math.ceil((data.length * 3) / 4 / BYTES_PER_TOKEN))
  return { tokens, low: count.low, high: Math.max(count.high, tokens), source: 'unknown' }
}

function byRule(media: Media, model: string, family: string): Count {
  switch (media.type) {
    case 'image':
      return image(media, model, family)
    case 'audio':
      return seconds(
        media,
        family === 'gemini' ? GEMINI_AUDIO_PER_SECOND : AUDIO_PER_SECOND,
        LEAST_AUDIO_BYTES_PER_SECOND,
      )
    case 'video':
      return seconds(media, GEMINI_VIDEO_PER_SECOND, LEAST_VIDEO_BYTES_PER_SECOND)
    case 'document':
    case 'file':
      return document(media, model, family)
  }
}

function image(media: Media, model: string, family: string): Count {
  const size = media.data === undefined ? undefined : imageSize(media.data)
  return { ...imageTokens(model, family, size), source: size === undefined ? 'unknown' : 'estimate' }
}

function document(media: Media, model: string, family: string): Count {
  if (media.mime?.startsWith('image/') === true) return image(media, model, family)
  const rule = family.startsWith('claude') ? PAGE_CLAUDE : family === 'gemini' ? PAGE_GEMINI : PAGE_ELSE
  if (media.data === undefined) {
    return { tokens: rule.tokens * ASSUMED_PAGES, low: rule.low, high: rule.high * MOST_PAGES, source: 'unknown' }
  }
  const bytes = Math.floor((media.data.length * 3) / 4)
  if (media.mime?.startsWith('text/') === true || media.mime === 'application/json') {
    return {
      tokens: Math.ceil(bytes / 3.5),
      low: Math.floor(bytes / 5),
      high: Math.ceil(bytes / 2),
      source: 'estimate',
    }
  }
  const pages = pdfPages(media.data)
  if (pages !== undefined) {
    return { tokens: rule.tokens * pages, low: rule.low * pages, high: rule.high * pages, source: 'estimate' }
  }
  // A packed page is seldom under 3 kB; a scan is seldom over 200 kB.
  const most = Math.min(MOST_PAGES, Math.max(1, Math.ceil(bytes / 3000)))
  const likely = Math.min(most, Math.max(1, Math.ceil(bytes / 50_000)))
  return { tokens: rule.tokens * likely, low: rule.low, high: rule.high * most, source: 'unknown' }
}

function seconds(media: Media, perSecond: number, leastBytesPerSecond: number): Count {
  if (media.data === undefined)
    return { tokens: perSecond * 60, low: perSecond, high: perSecond * 3600, source: 'unknown' }
  const known = media.type === 'audio' ? audioSeconds(media.data) : undefined
  if (known !== undefined) {
    const tokens = Math.max(1, Math.ceil(known * perSecond))
    return { tokens, low: Math.floor(tokens * 0.9), high: Math.ceil(tokens * 1.1), source: 'estimate' }
  }
  const most = Math.max(1, Math.ceil((media.data.length * 3) / 4 / leastBytesPerSecond))
  return { tokens: Math.ceil((most * perSecond) / 8), low: 1, high: most * perSecond, source: 'unknown' }
}
