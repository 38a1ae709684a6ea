import type { Item } from '../../../core/item.ts'
import type { CallReader } from './arguments.ts'
import { fileNames } from './file-names.ts'
import { lineKey } from './line-key.ts'

const BEFORE = /^old|^search$|^before$/i
const AFTER = /^new|^replace|^after$/i

/** Whether an edit behind an item took a line, by its key, out of the file that the item is about. */
export type IsStale = (key: string) => boolean

/** Knows which lines later edits took out of the files that earlier texts show. */
export function staleLines(
  items: readonly Item[],
  calls: CallReader,
): (index: number, call: Item | undefined) => IsStale | undefined {
  /** By path: each line that an edit took out, and where the last such edit stands. */
  const gone = new Map<string, Map<string, number>>()
  const pathOf = (item: Item | undefined): string | undefined =>
    item?.kind === 'call' ? calls.pathOf(item) : undefined
  const nameOf = fileNames(items.map(pathOf).filter((path) => path !== undefined))
  for (const [index, item] of items.entries()) {
    const path = pathOf(item)
    if (path === undefined) continue
    const lines = takenOutBy(calls.argumentsOf(item))
    if (lines.size === 0) continue
    const known = gone.get(nameOf(path)) ?? new Map<string, number>()
    for (const key of lines) known.set(key, index)
    gone.set(nameOf(path), known)
  }
  return (index, call) => {
    const path = pathOf(call)
    const lines = path === undefined ? undefined : gone.get(nameOf(path))
    return lines === undefined ? undefined : (key) => (lines.get(key) ?? -1) > index
  }
}

/** Whether an argument of this name holds what an edit replaces. */
export const isReplaced = (name: string): boolean => BEFORE.test(name)

function takenOutBy(input: Readonly<Record<string, unknown>> | undefined): ReadonlySet<string> {
  const entries = Object.entries(input ?? {})
  const textOf = (pattern: RegExp): unknown => entries.find(([key]) => pattern.test(key))?.[1]
  const [before, after] = [textOf(BEFORE), textOf(AFTER)]
  if (typeof before !== 'string' || typeof after !== 'string') return new Set()
  const lines = new Set(before.split('\n').map(lineKey))
  for (const line of after.split('\n')) lines.delete(lineKey(line))
  lines.delete('')
  return lines
}
