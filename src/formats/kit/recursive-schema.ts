import { recordOf, stringOf, type Fields } from '../../core/values.ts'

const DEFINED = /^#\/(?:\$defs|definitions)\/(.+)$/

/** Whether one of a schema's definitions leads back to itself. */
export function isRecursiveSchema(schema: unknown): boolean {
  const fields = recordOf(schema) ?? {}
  const definitions: Fields = { ...recordOf(fields['definitions']), ...recordOf(fields['$defs']) }
  const leadsTo = new Map(Object.entries(definitions).map(([name, body]) => [name, [...referencesIn(body)]]))
  // Names are taken away once nothing is left that they lead to; what cannot be taken away leads back to itself.
  const leftOf = new Map([...leadsTo].map(([name, names]) => [name, names.filter((one) => leadsTo.has(one)).length]))
  const ledToBy = new Map<string, string[]>()
  for (const [name, names] of leadsTo) for (const one of names) if (leadsTo.has(one)) addTo(ledToBy, one, name)
  const free = [...leftOf].filter(([, left]) => left === 0).map(([name]) => name)
  let taken = 0
  for (let name = free.pop(); name !== undefined; name = free.pop()) {
    taken++
    for (const one of ledToBy.get(name) ?? []) {
      const left = leftOf.get(one)! - 1
      leftOf.set(one, left)
      if (left === 0) free.push(one)
    }
  }
  return taken < leadsTo.size
}

function referencesIn(body: unknown): ReadonlySet<string> {
  const found = new Set<string>()
  const waiting: unknown[] = [body]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (Array.isArray(value)) waiting.push(...value)
    const fields = recordOf(value)
    if (fields === undefined) continue
    const [, name] = DEFINED.exec(stringOf(fields['$ref']) ?? '') ?? []
    if (name !== undefined) found.add(name)
    waiting.push(...Object.values(fields))
  }
  return found
}

function addTo(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
