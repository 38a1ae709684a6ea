import { PlimsollError } from '../../core/errors.ts'
import type { Item, ItemCore, Media, Role } from '../../core/item.ts'
import { type Fields, recordOf } from '../../core/values.ts'
import type { Writable } from '../../util/writable.ts'

/** Small readers shared by the codecs: they turn a wrong type into an error that names the place. */

export function badInput(format: string, path: string, expected: string): PlimsollError {
  return new PlimsollError('bad-input', `${format}: ${path} should be ${expected}.`, { fields: { format, path } })
}

export function arrayOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined
}

/** The elements of a list, each checked to be an object; those before `from` were. */
export function objectsIn(list: readonly unknown[], format: string, path: string, from = 0): readonly Fields[] {
  for (let i = from; i < list.length; i++)
    if (recordOf(list[i]) === undefined) throw badInput(format, `${path}[${i}]`, 'an object')
  return list as readonly Fields[]
}

const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*),/

/** Splits what travels as a URL into an inline payload or a reference. */
export function readUrl(url: string | undefined): Pick<Media, 'mime' | 'data' | 'reference'> {
  if (url === undefined) return {}
  // Only the head is matched: a payload may be tens of megabytes.
  const head = url.startsWith('data:') ? DATA_URL.exec(url.slice(0, 256)) : null
  if (head === null) return { reference: url }
  return { mime: head[1] || undefined, data: url.slice(head[0].length) }
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

/**
 * An item in its place in a body. Every item is made here, field by field and in one order: so that items have few shapes, and a
 * spread would copy each of them in the runtime of the language.
 */
export function placedItem(
  format: string,
  place: { readonly message: number },
  at: number,
  role: Role,
  core: ItemCore,
): Writable<Item> {
  const { message } = place
  const origin = { format, value: place }
  const item: Writable<Item> = { id: `m${message}.${at}`, kind: core.kind, role, text: core.text, message, origin }
  if (core.callId !== undefined) item.callId = core.callId
  if (core.toolName !== undefined) item.toolName = core.toolName
  if (core.isError !== undefined) item.isError = core.isError
  if (core.serverSide !== undefined) item.serverSide = core.serverSide
  if (core.sealed !== undefined) item.sealed = core.sealed
  if (core.sealedCharacters !== undefined) item.sealedCharacters = core.sealedCharacters
  if (core.seal !== undefined) item.seal = core.seal
  if (core.media !== undefined) item.media = core.media
  if (core.standsForPrefix !== undefined) item.standsForPrefix = core.standsForPrefix
  return item
}

/** Names of tools by call id: most results do not carry them. */
export interface ToolNames {
  get(callId: string): string | undefined
  set(callId: string, name: string): void
}

/**
 * Knows the calls of messages that were read before. A result answers a call that stands just before it, so they are looked at from
 * the end, and only as far as needed.
 */
export function toolNamesIn(messages: readonly (readonly Item[])[]): ToolNames {
  const names = new Map<string, string>()
  let unread = messages.length
  return {
    set: (callId, name) => void names.set(callId, name),
    get(callId) {
      while (!names.has(callId) && unread > 0) take(messages[--unread]!)
      return names.get(callId)
    },
  }

  function take(items: readonly Item[]): void {
    // An id that is used again means the later call.
    for (const { kind, callId, toolName } of items.toReversed()) {
      if (kind === 'call' && callId !== undefined && toolName !== undefined && !names.has(callId))
        names.set(callId, toolName)
    }
  }
}

/** What was read of a body: the items of each message, and those behind the head in one list. */
export interface ReadItems {
  readonly items: readonly Item[]
  readonly itemsOf: readonly (readonly Item[])[]
  /** Messages of the head. @default 0 */
  readonly headCount?: number
}

/** The instructions that a list of messages begins with stand in no message. */
export const headOf = (itemsOf: readonly (readonly Item[])[], headCount: number): Item[] =>
  itemsOf.slice(0, headCount).flatMap((read) => read.map((item) => ({ ...item, message: -1 })))

/** Whether an earlier body, of whose messages the first `kept` are these, has the same head. */
export const isHeadKept = (headCount: number, known: ReadItems | undefined, kept: number): boolean =>
  known !== undefined && kept >= headCount && (known.headCount ?? 0) === headCount

/**
 * The items behind the head in one list. `kept` messages at the start are those of an earlier body, whose own list is taken over: put
 * together message by message it would cost more with every turn.
 */
export function itemsBehindHead(
  itemsOf: readonly (readonly Item[])[],
  headCount: number,
  known: ReadItems | undefined,
  kept: number,
): Item[] {
  const isTakenOver = known !== undefined && kept > headCount && (known.headCount ?? 0) === headCount
  const added: Item[] = []
  for (let at = isTakenOver ? kept : headCount; at < itemsOf.length; at++)
    for (const item of itemsOf[at]!) added.push(item)
  if (!isTakenOver) return added
  const gone = countFrom(known.itemsOf, kept)
  return known.items.slice(0, known.items.length - gone).concat(added)
}

function countFrom(itemsOf: readonly (readonly Item[])[], from: number): number {
  let count = 0
  for (let at = from; at < itemsOf.length; at++) count += itemsOf[at]!.length
  return count
}
