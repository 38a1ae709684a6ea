import { omittedChars, omittedLines } from './markers.ts'
import { boundary, byteLength, countLines, cutHeadBytes, cutTailBytes, eachLine, lineStart } from './text.ts'

export interface HeadTailOptions {
  /** @default 128 */
  readonly headLines?: number
  /** @default 128 */
  readonly tailLines?: number
  /** Of the result, marker included. @default 10240 */
  readonly maxBytes?: number
  /** Of the result, marker included; needs `countTokens`. */
  readonly maxTokens?: number
  readonly countTokens?: (text: string) => number
}

export interface HeadTail {
  readonly text: string
  readonly truncated: boolean
  readonly omittedLines: number
  readonly totalLines: number
}

/**
 * First and last lines within limits of lines, bytes and tokens at once. Lines go from the middle outwards, so the first and
 * the last one stay longest; when not even those fit, each is cut, the last one at its start.
 */
export function headTail(text: string, options: HeadTailOptions = {}): HeadTail {
  const { headLines = 128, tailLines = 128, maxBytes = 10_240, maxTokens = Infinity, countTokens } = options
  const totalLines = countLines(text)
  const fits = (candidate: string): boolean =>
    // Length first: it needs no pass over a long text.
    candidate.length <= maxBytes &&
    byteLength(candidate) <= maxBytes &&
    (countTokens === undefined || countTokens(candidate) <= maxTokens)
  if (totalLines <= headLines + tailLines && fits(text)) return { text, truncated: false, omittedLines: 0, totalLines }

  const starts = lineStarts(text, headLines, tailLines, totalLines)
  const share = headLines / (headLines + tailLines)
  let best: HeadTail | undefined
  // The more lines, the longer the text: halving finds the most that fit.
  let [few, many] = [2, Math.min(headLines + tailLines, totalLines - 1)]
  while (few <= many) {
    const keep = Math.ceil((few + many) / 2)
    const heads = Math.max(1, Math.min(headLines, Math.round(keep * share)))
    const tails = Math.max(1, Math.min(tailLines, keep - heads))
    const omitted = totalLines - heads - tails
    const candidate = `${starts.head(heads)}\n${omittedLines(omitted, totalLines)}\n${starts.tail(tails)}`
    if (omitted > 0 && fits(candidate)) {
      best = { text: candidate, truncated: true, omittedLines: omitted, totalLines }
      few = keep + 1
    } else many = keep - 1
  }
  return best ?? byCharacters(text, totalLines, maxBytes, fits)
}

/** One line, or lines too long to show whole: the two ends by characters. */
function byCharacters(text: string, totalLines: number, maxBytes: number, fits: (text: string) => boolean): HeadTail {
  for (let room = maxBytes; room >= 1; room = Math.floor(room * 0.85)) {
    const marker = omittedChars(text.length, text.length)
    const half = Math.floor((room - marker.length - 2) / 2)
    if (half < 1) break
    const head = cutHeadBytes(text, half)
    const tail = cutTailBytes(text, half)
    const candidate = `${head}\n${omittedChars(text.length - head.length - tail.length, text.length)}\n${tail}`
    if (head.length + tail.length < text.length && fits(candidate)) {
      return { text: candidate, truncated: true, omittedLines: 0, totalLines }
    }
  }
  const bare = omittedChars(text.length, text.length)
  return { text: fits(bare) ? bare : '', truncated: true, omittedLines: totalLines, totalLines }
}

function lineStarts(text: string, headLines: number, tailLines: number, totalLines: number) {
  const headEnds: number[] = []
  eachLine(text, (_, end) => {
    headEnds.push(end)
    return headEnds.length < headLines
  })
  const tailStarts: number[] = []
  const stop = text.endsWith('\n') ? text.length - 1 : text.length
  let end = stop
  for (let i = 0; i < tailLines && i < totalLines; i++) {
    const start = lineStart(text, end)
    tailStarts.push(start)
    end = start - 1
    if (start === 0) break
  }
  return {
    head: (lines: number): string => text.slice(0, boundary(text, headEnds[Math.min(lines, headEnds.length) - 1] ?? 0)),
    tail: (lines: number): string => text.slice(tailStarts[Math.min(lines, tailStarts.length) - 1] ?? stop, stop),
  }
}
