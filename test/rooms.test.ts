import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cycles, importGraph, sourceFiles, sourceOf } from './support/imports.ts'

/** A folder with more files than this is a street without house numbers. */
const MOST_FILES = 15

/** Lists of things of one kind, a file each. */
const LISTS = new Set(['cli/commands', 'core'])

/** What the composition knows: its own parts, and little else. */
const MOST_COMPOSED = 15

describe('rooms', () => {
  const graph = importGraph()

  it('hold at most fifteen files each', () => {
    const counts = new Map<string, number>()
    for (const file of sourceFiles()) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
    expect([...counts].filter(([folder, count]) => count > MOST_FILES && !LISTS.has(folder))).toEqual([])
  })

  it('load in an order: no module needs one that needs it, not even for its types', () => {
    expect(cycles(graph, () => true)).toEqual([])
  })

  it('are put together from a few parts', () => {
    const parts = new Set(graph.get('plimsoll.ts')!.flatMap(({ file, typeOnly }) => (typeOnly ? [] : [file])))
    expect(parts.size).toBeLessThanOrEqual(MOST_COMPOSED)
  })

  it('keep nothing in the core between two calls', () => {
    const state = /^(?:export )?(?:let |const \w+(?:: [^=]+)? = new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\))/m
    expect(sourceFiles().filter((file) => file.startsWith('core/') && state.test(sourceOf(file)))).toEqual([])
  })
})
