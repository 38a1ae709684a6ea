import { PlimsollError } from '../../core/errors.ts'
import type { Item, ItemCore, Media, Role, ToolDeclaration } from '../../core/item.ts'
import { type Fields, recordOf } from '../../core/values.ts'
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
