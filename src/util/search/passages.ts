/** A part of a text that can be understood alone: a paragraph, some lines of code, some sentences of a long paragraph. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Longer paragraphs are cut at lines, longer lines at sentences. */
const LONGEST = 700
/** Shorter paragraphs (a heading, a brace, a name) are joined with the next one. */
const SHORT = 40
const SENTENCE_END = /[.!?。！？][)"'\]”’]*\s+|[。！？]/gu

/** The passages of a text, in order, without the white space around them. */
export function passagesOf(text: string): Span[] {
  const spans: Span[] = []
  let open: Span | undefined
  const close = (): void => {
    if (open !== undefined) spans.push(open)
    open = undefined
  }
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    const line = trimmed(text, at, end)
    at = end + 1
    if (line === undefined) {
      if (open !== undefined && open.to - open.from >= SHORT) close()
      continue
    }
    if (open !== undefined && line.to - open.from > LONGEST) close()
    if (line.to - line.from > LONGEST) spans.push(...sentences(text, line))
    else open = { from: open?.from ?? line.from, to: line.to }
  }
  close()
  return spans
}

/** Removes white space around a passage, but not the indentation of its first line. */
function trimmed(text: string, from: number, to: number): Span | undefined {
  let end = to
  while (end > from && text.charCodeAt(end - 1) <= 32) end--
  return end === from ? undefined : { from, to: end }
}

function sentences(text: string, { from, to }: Span): Span[] {
  const spans: Span[] = []
  let start = from
  let last = from
  const cutAt = (end: number): void => {
    // Text without sentences, such as data, is cut anywhere, but not within a character.
    while (end - start > LONGEST) {
      const cut = start + LONGEST - (isHighSurrogate(text, start + LONGEST - 1) ? 1 : 0)
      spans.push({ from: start, to: cut })
      start = cut
    }
    last = end
  }
  SENTENCE_END.lastIndex = from
  for (let match = SENTENCE_END.exec(text); match !== null && match.index < to; match = SENTENCE_END.exec(text)) {
    const end = Math.min(to, match.index + match[0].length)
    if (end - start > LONGEST && last > start) {
      spans.push({ from: start, to: last })
      start = last
    }
    cutAt(end)
  }
  if (to - start > LONGEST && last > start) {
    spans.push({ from: start, to: last })
    start = last
  }
  cutAt(to)
  if (start < to) spans.push({ from: start, to })
  return spans
}

const isHighSurrogate = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xd800
