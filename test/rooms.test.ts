import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cycles, importGraph, sourceFiles, sourceOf } from './support/imports.ts'

/** A folder with more files than this is a street without house numbers. */
const MOST_FILES = 15

const ROOMS = ['compose/', 'engine/', 'gateway/', 'lab/']

/** Pairs that describe each other: their types meet, their code does not. */
const MOST_TYPE_CYCLES = 3

/** What the composition knows: its own parts, and little else. */
const MOST_COMPOSED = 15

describe('rooms', () => {
  const graph = importGraph()

  it('hold at most fifteen files each', () => {
    const counts = new Map<string, number>()
    for (const file of sourceFiles().filter((one) => ROOMS.some((room) => one.startsWith(room))))
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
    expect([...counts].filter(([, count]) => count > MOST_FILES)).toEqual([])
  })

  it('load in an order: no module needs one that needs it', () => {
    expect(cycles(graph, ({ typeOnly }) => !typeOnly)).toEqual([])
  })

  it('describe each other in a few places only', () => {
    const found = cycles(graph, () => true)
    expect(found.length, JSON.stringify(found, undefined, 2)).toBeLessThanOrEqual(MOST_TYPE_CYCLES)
  })

  it('are put together from a few parts', () => {
    const parts = new Set(graph.get('compose/plimsoll.ts')!.map(({ file }) => file))
    expect(parts.size).toBeLessThanOrEqual(MOST_COMPOSED)
  })

  it('keep nothing in the core between two calls', () => {
    const state = /^(?:export )?(?:let |const \w+(?:: [^=]+)? = new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\))/m
    expect(sourceFiles().filter((file) => file.startsWith('core/') && state.test(sourceOf(file)))).toEqual([])
  })
})
