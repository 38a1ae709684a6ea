import { isUtf8 } from 'node:buffer'
import { PlimsollError } from '../../core/errors.ts'
import { LONG_LIFE, SHORT_LIFE } from '../../core/cache.ts'
import type { RequestSettings } from '../../core/conversation.ts'
import type { Item, ItemCore, Media, Role, ToolDeclaration } from '../../core/item.ts'
import { type Fields, listOf, recordOf } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'

/** Small readers for the codecs: a wrong type becomes an error that names its path. */

export function badInput(format: string, path: string, expected: string): PlimsollError {
  return new PlimsollError('bad-input', `${format}: ${path} should be ${expected}.`, { fields: { format, path } })
}

export function arrayOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined
}

/** The elements of a list, checked to be objects; those before `from` already were. */
export function objectsIn(list: readonly unknown[], format: string, path: string, from = 0): readonly Fields[] {
  for (let i = from; i < list.length; i++)
    if (recordOf(list[i]) === undefined) throw badInput(format, `${path}[${i}]`, 'an object')
  return list as readonly Fields[]
}

/** The declarations in a list of tools, each with its text; empty if there is no list. */
export function toolsUnder(
  root: JsonNode,
  key: string,
  format: string,
  read: (tool: Fields) => Omit<ToolDeclaration, 'text'>,
): ToolDeclaration[] {
  const list = member(root, key)
  if (list === undefined || list.value === null) return []
  if (!Array.isArray(list.value)) throw badInput(format, key, 'an array')
  return objectsIn(list.value, format, key).map((tool, i) => ({ ...read(tool), text: list.at(i)!.raw }))
}

const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*),/

/** Splits a URL into an inline payload or a reference. */
export function readUrl(url: string | undefined): Pick<Media, 'mime' | 'data' | 'reference'> {
  if (url === undefined) return {}
  // Only the beginning is matched: a payload may have tens of megabytes.
  const head = url.startsWith('data:') ? DATA_URL.exec(url.slice(0, 256)) : null
  if (head === null) return { reference: url }
  return { mime: head[1] || undefined, data: url.slice(head[0].length) }
}

export const dataUrl = (mime: string, data: string): string => `data:${mime};base64,${data}`

/** The media type of a MIME type, as far as the meter distinguishes them. */
export function mediaTypeOf(mime: string | undefined): Media['type'] {
  if (mime === undefined) return 'file'
  if (mime.startsWith('image/')) return 'image'
  if (mime.startsWith('audio/')) return 'audio'
  if (mime.startsWith('video/')) return 'video'
  return mime === 'application/pdf' || mime.startsWith('text/') ? 'document' : 'file'
}

/** Completes an item with its id and message. */
export const placedItem = (
  format: string,
  place: { readonly message: number },
  at: number,
  role: Role,
  core: ItemCore,
): Item => ({
  ...core,
  id: `m${place.message}.${at}`,
  role,
  message: place.message,
  origin: { format, value: place },
})

/** Tool names by call id, because most results do not contain them. A repeated id means the later call. */
export function toolNamesIn(messages: readonly (readonly Item[])[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const items of messages)
    for (const { kind, callId, toolName } of items)
      if (kind === 'call' && callId !== undefined && toolName !== undefined) names.set(callId, toolName)
  return names
}

/**
 * What the client's cache marks say, in the order in which the vendor reads a request; one at the top level stands for the last block. What stands
 * behind the first short mark is forgotten first, and that is nearly all of a long conversation.
 */
export function cacheMarksIn(body: Fields): Pick<RequestSettings, 'cacheLife' | 'marks'> {
  const lists: readonly (readonly [list: unknown, path: string])[] = [
    [body['tools'], 'tools'],
    [body['system'], 'system'],
    ...listOf(body['messages']).map(
      (message, at) => [recordOf(message)?.['content'], `messages[${at}].content`] as const,
    ),
    [[body], ''],
  ]
  const marks = lists.flatMap(([list, path]) =>
    listOf(list).flatMap((holder, at) => {
      const mark = recordOf(recordOf(holder)?.['cache_control'])
      return mark === undefined ? [] : [{ path: path === '' ? 'cache_control' : `${path}[${at}]`, ttl: mark['ttl'] }]
    }),
  )
  if (marks.length === 0) return {}
  const cacheLife = marks.some(({ ttl }) => ttl !== '1h') ? SHORT_LIFE : LONG_LIFE
  return { cacheLife, marks: marks.map(({ path }) => path) }
}

/** Types that are text though their names do not begin so. */
const TEXT_TYPE =
  /^text\/|^application\/(?:json|jsonl|x-ndjson|xml|yaml|x-yaml|toml|sql|javascript|x-javascript|typescript|x-sh)\b|\+(?:json|xml|yaml)\b/

/** The words of an inline file that is text; undefined for any other, and where its bytes are not what its type says. */
function wordsIn({ type, mime, data }: Media): string | undefined {
  if (data === undefined || (type !== 'document' && type !== 'file')) return undefined
  if (mime !== undefined && !TEXT_TYPE.test(mime)) return undefined
  const bytes = Buffer.from(data, 'base64')
  const isWhole = bytes.length === Math.floor((data.replace(/=+$/, '').length * 3) / 4)
  // A file of no type is text where its bytes are.
  const isOther = mime === undefined && (bytes.includes(0) || bytes.toString('latin1', 0, 4) === '%PDF')
  return isWhole && !isOther && isUtf8(bytes) ? bytes.toString('utf8') : undefined
}

/** A file beside what a message says: text counts and is shortened as text, anything else by its own rules. */
export function fileCore(media: Media, kind: Item['kind']): Pick<Item, 'kind' | 'text' | 'media' | 'isFile'> {
  const words = wordsIn(media)
  return words === undefined ? { kind: 'media', text: '', media: [media] } : { kind, text: words, isFile: true }
}

/** What a result says: the words of its texts and text files in order, and what is no text. */
export function resultCore(parts: readonly (string | Media)[]): Pick<Item, 'text' | 'media'> {
  const texts: string[] = []
  const media: Media[] = []
  for (const part of parts) {
    const words = typeof part === 'string' ? part : wordsIn(part)
    if (words !== undefined) texts.push(words)
    else media.push(part as Media)
  }
  return { text: texts.join('\n'), media: media.length > 0 ? media : undefined }
}
