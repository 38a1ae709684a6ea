import { indexJson, member } from '../../../formats/json/json-index.ts'
import { type Fields, isRecord } from '../../../core/values.ts'
import type { HiddenStep, HiddenWire } from '../../../formats/wire/steps.ts'

/** A body with elements put behind its history; every other byte stays. A history that is one string becomes a list. */
export function appendHistory(text: string, wire: HiddenWire, added: readonly Fields[]): string {
  const list = member(indexJson(text), wire.list)
  if (list === undefined) return text
  const fresh = added.map((element) => JSON.stringify(element)).join(',')
  if (typeof list.value === 'string') {
    const first = JSON.stringify({ role: 'user', content: list.value })
    return `${text.slice(0, list.start)}[${first},${fresh}]${text.slice(list.end)}`
  }
  const empty = Array.isArray(list.value) && list.value.length === 0
  return `${text.slice(0, list.end - 1)}${empty ? '' : ','}${fresh}${text.slice(list.end - 1)}`
}

/** Steps to put back, by the index of the history's element at which their answer begins. */
export type StepsByIndex = ReadonlyMap<number, readonly HiddenStep[]>

/** A body with hidden steps back in their places. Elements that no step touches keep their bytes. */
export function insertSteps(text: string, wire: HiddenWire, steps: StepsByIndex): string {
  if (steps.size === 0) return text
  const list = member(indexJson(text), wire.list)
  const nodes = list?.items
  if (list === undefined || nodes === undefined) return text
  // An element keeps its own text as long as it stays the same object.
  const raw = new Map<unknown, string>()
  let history: readonly Fields[] = nodes.map((node) => {
    const value = isRecord(node.value) ? node.value : {}
    raw.set(value, text.slice(node.start, node.end))
    return value
  })
  // From the back, so that the indexes before stay true.
  for (const [index, own] of [...steps].sort(([a], [b]) => b - a)) history = wire.insert(history, index, own)
  const elements = history.map((element) => raw.get(element) ?? JSON.stringify(element))
  return `${text.slice(0, list.start)}[${elements.join(',')}]${text.slice(list.end)}`
}
