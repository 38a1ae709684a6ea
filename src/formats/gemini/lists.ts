import type { JsonNode } from '../json/json-index.ts'
import { spliceArray, type ArrayPart, type Splice } from '../json/splice.ts'

/** Like `spliceArray`, for a list that may stand there as a single object. */
export function spliceList(text: string, list: JsonNode, parts: readonly ArrayPart[]): Splice[] {
  if (list.type === 'array') return spliceArray(text, list, parts)
  const own = parts.indexOf(0)
  if (own < 0) return [{ start: list.start, end: list.end, text: `[${parts.join(',')}]` }]
  const before = parts.slice(0, own).map((part) => `${part},`)
  const after = parts.slice(own + 1).map((part) => `,${part}`)
  return [
    { start: list.start, end: list.start, text: `[${before.join('')}` },
    { start: list.end, end: list.end, text: `${after.join('')}]` },
  ]
}
