import { type Count, unknownCount, countFrom } from '../../core/count.ts'
import type { Media } from '../../core/item.ts'
import { audioSeconds, pdfPages } from './documents.ts'
import { imageSize } from './image-size.ts'
import { imageTokens } from './image-tokens.ts'

/** A page is billed as its text and, on most vendors, as a picture too. */
interface PageRule {
  readonly tokens: number
  readonly low: number
  readonly high: number
  /** The fullest page. */
  readonly most: number
}

const PAGE_CLAUDE: PageRule = { tokens: 2500, low: 500, high: 3000, most: 4600 }
const PAGE_GEMINI: PageRule = { tokens: 258, low: 258, high: 560, most: 560 }
const PAGE_ELSE: PageRule = { tokens: 1200, low: 200, high: 1600, most: 2400 }

const GEMINI_AUDIO_PER_SECOND = 32
const AUDIO_PER_SECOND = 10
const GEMINI_VIDEO_PER_SECOND = 300
/** Speech at the lowest usual bit rate: the most seconds that a number of bytes can hold. */
const LEAST_AUDIO_BYTES_PER_SECOND = 1000
const LEAST_VIDEO_BYTES_PER_SECOND = 20_000

/** Pages that are assumed behind a file id, the most that are assumed in a file that cannot be read, and the most that vendors take. */
const ASSUMED_PAGES = 6
const MOST_ASSUMED_PAGES = 30
const MOST_PAGES = 100
/** A packed page is seldom under 3 kB; pages with pictures have about this much, and scans twice as much. */
const LEAST_PAGE_BYTES = 3_000
const PAGE_BYTES = 100_000

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
  return unknownCount(tokens, count.low, Math.max(count.high + (count.unsure ?? 0), tokens))
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
  const { tokens, low, high } = imageTokens(model, family, size)
  return size === undefined ? unknownCount(tokens, low, high) : { tokens, low, high, source: 'estimate' }
}

function document(media: Media, model: string, family: string): Count {
  if (media.mime?.startsWith('image/') === true) return image(media, model, family)
  const rule = family.startsWith('claude') ? PAGE_CLAUDE : family === 'gemini' ? PAGE_GEMINI : PAGE_ELSE
  if (media.data === undefined) {
    return unknownCount(rule.tokens * ASSUMED_PAGES, rule.low, rule.most * MOST_PAGES)
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
    const { tokens, low, high, most } = rule
    return countFrom(tokens * pages, low * pages, high * pages, (most - high) * pages, 'estimate')
  }
  const most = Math.min(MOST_PAGES, Math.max(1, Math.ceil(bytes / LEAST_PAGE_BYTES)))
  const likely = Math.min(most, MOST_ASSUMED_PAGES, Math.max(1, Math.ceil(bytes / PAGE_BYTES)))
  return unknownCount(rule.tokens * likely, rule.low, rule.most * most)
}

function seconds(media: Media, perSecond: number, leastBytesPerSecond: number): Count {
  if (media.data === undefined) return unknownCount(perSecond * 60, perSecond, perSecond * 3600)
  const known = media.type === 'audio' ? audioSeconds(media.data) : undefined
  if (known !== undefined) {
    const tokens = Math.max(1, Math.ceil(known * perSecond))
    return { tokens, low: Math.floor(tokens * 0.9), high: Math.ceil(tokens * 1.1), source: 'estimate' }
  }
  const most = Math.max(1, Math.ceil((media.data.length * 3) / 4 / leastBytesPerSecond))
  return unknownCount(Math.ceil((most * perSecond) / 8), 1, most * perSecond)
}
