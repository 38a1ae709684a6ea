import { countLines } from '../text.ts'
import type { BodyView, ViewInput } from '../types.ts'
import { profileOf } from './profiles.ts'
import { textView } from './text.ts'

/** A page as its text: scripts, styles and navigation out, headings and lists as Markdown. */
export function htmlView(input: ViewInput): BodyView {
  const source = input.text.slice(input.from)
  const title = /<title[^>]{0,200}>([^<]{1,300})/i.exec(source.slice(0, 200_000))?.[1]?.trim()
  const page = pageText(mainPart(source))
  const view = textView({ ...input, text: page, from: 0 }, profileOf('html'))
  return {
    ...view,
    render(chars) {
      const head =
        title === undefined || chars < 80
          ? ''
          : `Title: ${input.clean(decodeEntities(title).slice(0, 160)).replaceAll('\n', ' ')}\n`
      const body = view.render(Math.max(0, chars - head.length))
      return {
        ...body,
        body: head + body.body,
        holds: `text of the page without markup, ${body.holds}`,
        leftOut: `${body.leftOut} of text, and all markup`,
      }
    },
  }
}

/** `<main>` or `<article>` when the page has one that is long enough to be the point of it. */
function mainPart(html: string): string {
  for (const tag of ['main', 'article']) {
    const open = html.search(new RegExp(`<${tag}[\\s>]`, 'i'))
    if (open < 0) continue
    const close = html.lastIndexOf(`</${tag}`)
    const part = html.slice(open, close > open ? close : html.length)
    if (part.length > 2_000) return part
  }
  return html
}

const SKIPPED = new Set(['script', 'style', 'noscript', 'svg', 'head', 'template', 'iframe', 'nav', 'footer'])
const BREAKS = new Set(
  'p div br tr table ul ol section article header blockquote pre hr form dl dt dd figure'.split(' '),
)

const MAX_PIECES = 20_000

/** One pass from tag to tag. A block whose end never comes is skipped to the end of the text only once. */
function pageText(html: string): string {
  const chunks: string[] = []
  let out: string[] = []
  const missing = new Set<string>()
  let at = 0
  while (at < html.length) {
    // Millions of small pieces weigh more than their text.
    if (out.length > MAX_PIECES) {
      chunks.push(tidy(decodeEntities(out.join(''))))
      out = []
    }
    const open = html.indexOf('<', at)
    if (open < 0) {
      out.push(html.slice(at))
      break
    }
    if (open > at) out.push(html.slice(at, open))
    if (html.startsWith('<!--', open)) {
      const end = html.indexOf('-->', open + 4)
      at = end < 0 ? html.length : end + 3
      continue
    }
    const close = html.indexOf('>', open + 1)
    if (close < 0) break
    const tag = /^<(\/?)([A-Za-z][A-Za-z0-9]*)/.exec(html.slice(open, open + 24))
    if (tag === null) {
      out.push('<')
      at = open + 1
      continue
    }
    at = close + 1
    const name = tag[2]!.toLowerCase()
    const ending = tag[1] === '/'
    if (!ending && SKIPPED.has(name) && html.charCodeAt(close - 1) !== 47 && !missing.has(name)) {
      const end = endOf(html, name, at)
      if (end < 0) missing.add(name)
      else at = end
      out.push('\n')
    } else out.push(markOf(name, ending))
  }
  chunks.push(tidy(decodeEntities(out.join(''))))
  return chunks.join('\n')
}

function endOf(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}\\s*>`, 'gi')
  end.lastIndex = from
  return end.exec(html) === null ? -1 : end.lastIndex
}

function markOf(name: string, ending: boolean): string {
  const heading = /^h([1-6])$/.exec(name)
  if (heading !== null) return ending ? '\n' : `\n\n${'#'.repeat(Number(heading[1]))} `
  if (name === 'li') return ending ? '' : '\n- '
  if (name === 'td' || name === 'th') return ending ? ' | ' : ''
  return BREAKS.has(name) ? '\n' : ''
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  mdash: '—',
  ndash: '–',
  hellip: '…',
  copy: '©',
  rsquo: '’',
  lsquo: '‘',
  rdquo: '”',
  ldquo: '“',
  middot: '·',
  times: '×',
}

function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi,
    (match, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? match
      const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal)
      return code > 31 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : ' '
    },
  )
}

const tidy = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/[\t \u00a0]{2,}|\t/g, ' ').trim())
    .filter((line) => line !== '' && line !== '-' && line !== '|')
    .join('\n')
    // A heading or list item whose text stands in an element of its own.
    .replace(/^(#{1,6}|-)\n(?=[^#-])/gm, '$1 ')

/** XML by lines. A minified document is one line; a break between tags makes head and tail mean something. */
export function xmlView(input: ViewInput): BodyView {
  const text = input.text.slice(input.from)
  const lines = countLines(text)
  const broken = text.length > 4_000 && text.length / lines > 800 ? text.replaceAll('><', '>\n<') : text
  return textView({ ...input, text: broken, from: 0 }, profileOf('plain'))
}
