import type { Item } from '../../core/item.ts'

const written = new WeakMap<Item, string>()

/** An item's text as a JSON string. What an epoch put in place of others is sent with every request after it. */
export function jsonTextOf(item: Item): string {
  const known = written.get(item)
  if (known !== undefined) return known
  const json = JSON.stringify(item.text)
  written.set(item, json)
  return json
}
