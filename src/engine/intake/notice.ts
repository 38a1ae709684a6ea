import { classify } from './classify.ts'
import { counted, grouped, NOTICE_KEY, NOTICE_OPEN } from './text.ts'
import type { ContentKind, Size, Syntax } from './types.ts'

/** How much a notice says. A tiny budget still names the total and the handle. */
export type NoticeLevel = 'full' | 'short' | 'tiny' | 'handle'
export const NOTICE_LEVELS: readonly NoticeLevel[] = ['full', 'short', 'tiny', 'handle']

export interface NoticeFacts {
  readonly kind: ContentKind
  readonly format?: string
  readonly original: Size
  /** What the body holds, in words: "items 1-5 of 276". */
  readonly holds: string
  /** "271 of 276 items" */
  readonly leftOut: string
  readonly handle?: string
  readonly readers: readonly string[]
  /** One sentence of the tool's own summary. */
  readonly digest?: string
}

const READER_HINTS: Readonly<Record<string, string>> = {
  artifact_read: 'ranges of lines, bytes or items',
  artifact_grep: 'search',
  artifact_query: 'SQL over its records',
  artifact_run: 'your own JavaScript over all of it',
  artifact_extract: 'a question answered from it',
  recall: 'search in everything seen',
}

/** `recall` where no other tool opens handles. */
const COMPACT_HINT = 'with this handle: lines from start, or those that match a pattern'

export function noticeText(level: NoticeLevel, facts: NoticeFacts): string {
  if (level === 'handle') return facts.handle ?? `${grouped(facts.original.bytes)} bytes`
  const reader = facts.readers[0] === undefined ? '' : `${facts.readers[0]} `
  const where = facts.handle === undefined ? 'rest not stored' : `more: ${reader}${facts.handle}`
  if (level === 'tiny') return `${facts.leftOut} left out, ${grouped(facts.original.bytes)} bytes; ${where}`
  const name = facts.format === undefined ? facts.kind : `${facts.kind} (${facts.format})`
  if (level === 'short') return `${facts.kind}, ${sizeText(facts.original)}; left out ${facts.leftOut}; ${where}`
  const digest = facts.digest === undefined ? '' : ` ${facts.digest}`
  return `${name}, ${sizeText(facts.original)}. Shown: ${facts.holds}. Left out: ${facts.leftOut}.${digest} ${howToRead(facts)}`
}

function sizeText(size: Size): string {
  const items = size.items === undefined ? '' : `, ${counted(size.items, 'item')}`
  return `${counted(size.bytes, 'byte')}, ${counted(size.lines, 'line')}${items}`
}

function howToRead({ handle, readers }: Pick<NoticeFacts, 'handle' | 'readers'>): string {
  if (handle === undefined) return 'The rest was not stored; run the tool again with a narrower request to see it.'
  if (readers.length === 0) return `The full output is stored as ${handle}.`
  const isAlone = !readers.some((name) => name.endsWith('artifact_read'))
  const tools = readers.map((name) => {
    const hint = name === 'recall' && isAlone ? COMPACT_HINT : READER_HINTS[name]
    return hint === undefined ? name : `${name} (${hint})`
  })
  return `The full output is stored as ${handle}. Read more with ${tools.join(', ')}.`
}

/** Only the address, for when there is no room for a view. */
export function pointerText(output: string | Uint8Array, handle: string, readers: readonly string[]): string {
  const { kind, bytes, lines, items } = classify(output)
  const size = sizeText({ bytes, lines, chars: 0, items })
  return `${NOTICE_OPEN}${kind}, ${size}. There is no room to show it. ${howToRead({ handle, readers })}]`
}

/** Puts the notice in front of a body, in a form that the body's own syntax allows. */
export function assemble(syntax: Syntax, notice: string, body: string): string {
  if (syntax === 'json') {
    const head = `{"${NOTICE_KEY}":${JSON.stringify(notice)}`
    return body === '{}' || body === '' ? `${head}}` : `${head},${body.slice(1)}`
  }
  // A bracket inside would end the notice early for a program that reads it.
  const line = `${NOTICE_OPEN}${notice.replaceAll('\n', ' ')}]`
  const first = syntax === 'csv' ? `# ${line}` : line
  return body === '' ? first : `${first}\n${body}`
}
