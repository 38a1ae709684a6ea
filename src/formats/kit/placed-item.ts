import type { Item, ItemCore, Role } from '../../core/item.ts'
import type { Writable } from '../../util/writable.ts'

/**
 * An item in its place in a body. Every item is made here, field by field and in one order: whoever reads items meets few shapes, and a
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
