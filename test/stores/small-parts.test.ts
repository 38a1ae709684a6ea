import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { pieceReader, toPieces } from '../../src/drivers/events/postgres.ts'
import { memoryEvents } from '../../src/drivers/events/bus.ts'
import { BoundedMap } from '../../src/util/bounded-map.ts'
import { nullStore } from '../../src/drivers/sessions/null.ts'
import { queryWords, wordsOf } from '../../src/util/search/words.ts'
import { excerptOf } from '../../src/drivers/sessions/search-words.ts'
import { epoch, item, readAll } from '../../src/testing/session-store/records.ts'

const SEED = 7

describe('the null store', () => {
  it('takes everything and keeps nothing', async () => {
    const store = nullStore()
    expect(await store.append('t', 's', [item('a'), item('b')], 3)).toBe(5)
    expect(await readAll(store, 't', 's')).toEqual([])
    expect((await store.claimEpoch('t', 's', epoch('e', 'c'))).epoch.id).toBe('e')
    expect(await store.findEpochs('t', ['c'])).toEqual([])
    expect(await store.lease('t', 'w', 'p', 1)).toBe(true)
    expect(await store.setValue('t', 'k', 'v', true)).toBe('v')
    expect((await store.stats()).records).toBe(0)
  })
})

describe('a bounded map', () => {
  it('gives up the least used first and stays within its size', () => {
    const cache = new BoundedMap<string, number>(10)
    cache.set('a', 1, 4)
    cache.set('b', 2, 4)
    cache.get('a')
    cache.set('c', 3, 4)
    expect([cache.get('a'), cache.get('b'), cache.get('c'), cache.weight]).toEqual([1, undefined, 3, 8])
    cache.set('a', 9, 5)
    expect([cache.get('a'), cache.weight]).toEqual([9, 9])
    cache.set('huge', 4, 11)
    expect([cache.get('huge'), cache.weight]).toEqual([undefined, 0])
  })

  it(`keeps the order of use, whatever is asked of it (seed ${SEED})`, () => {
    const step = fc.record({
      does: fc.constantFrom('get', 'set', 'delete'),
      key: fc.nat(9),
      weight: fc.integer({ min: 1, max: 4 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cache = new BoundedMap<number, number>(12)
        let model: { key: number; value: number; weight: number }[] = []
        for (const [value, { does, key, weight }] of steps.entries()) {
          const known = model.find((entry) => entry.key === key)
          model = model.filter((entry) => entry !== known)
          if (does === 'get') expect(cache.get(key)).toBe(known?.value)
          else if (does === 'set') cache.set(key, value, weight)
          else expect(cache.delete(key)).toBe(known !== undefined)
          if (does === 'get' && known !== undefined) model.push(known)
          else if (does === 'set') model.push({ key, value, weight })
          while (model.reduce((sum, entry) => sum + entry.weight, 0) > 12) model.shift()
        }
        expect([...cache]).toEqual(model.map((entry) => [entry.key, entry.value]))
        expect(cache.weight).toBe(model.reduce((sum, entry) => sum + entry.weight, 0))
        expect([cache.size, cache.oldest]).toEqual([model.length, model[0]?.key])
      }),
      { seed: SEED, numRuns: 300 },
    )
  })
})

describe('words', () => {
  it(`finds every word that a text was indexed by (seed ${SEED})`, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const indexed = new Set(wordsOf(text))
        expect(queryWords(text).filter((forms) => !forms.some((form) => indexed.has(form)))).toEqual([])
      }),
      { seed: SEED, numRuns: 500 },
    )
  })

  it('keeps words free of everything that an index or a query language could read', () => {
    const hostile = `a'b "c" d* (e) f:g -h ^i {j} AND OR NOT NEAR a+b \\ \0 <-> & | !`
    for (const word of wordsOf(hostile)) expect(word).toMatch(/^[\p{L}\p{N}\p{M}]+$/u)
  })

  it('cuts excerpts at whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), fc.nat(), (text, at) => {
        const excerpt = excerptOf(text, at % (text.length + 1))
        expect(excerpt.length).toBeLessThanOrEqual(242)
        expect(excerpt).not.toMatch(/\p{Surrogate}/u)
      }),
      { seed: SEED, numRuns: 300 },
    )
  })
})

describe('events', () => {
  it(`travel in pieces of any text, mixed with others (seed ${SEED})`, () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 4000 })), { maxLength: 4 }),
        (texts) => {
          const messages = texts.map(([text, times]) => JSON.stringify({ text: text.repeat(times).slice(0, 30_000) }))
          const pieces = messages.map(toPieces)
          const read = pieceReader()
          const heard: string[] = []
          for (let i = 0; pieces.some((list) => i < list.length); i++) {
            for (const list of pieces) {
              const piece = list[i]
              if (piece === undefined) continue
              expect(Buffer.byteLength(piece)).toBeLessThan(8000)
              const whole = read(piece)
              if (whole !== undefined) heard.push(whole)
            }
          }
          expect(parsed(heard)).toEqual(parsed(messages))
        },
      ),
      { seed: SEED, numRuns: 50 },
    )
  })

  it('reach every listener of one process until it ends its subscription', async () => {
    const bus = memoryEvents()
    const heard: string[] = []
    const event: PlimsollEvent = {
      type: 'usage-missing',
      purpose: 'turn',
      model: 'm',
      at: 1,
      tenant: 't',
      session: 's',
    }
    const end = bus.subscribe(({ type }) => heard.push(`a ${type}`))
    bus.subscribe(({ type }) => heard.push(`b ${type}`))
    bus.publish(event)
    end()
    bus.publish(event)
    await bus.flush()
    expect(heard).toEqual(['a usage-missing', 'b usage-missing', 'b usage-missing'])
    await bus.close()
  })
})

const parsed = (list: readonly string[]): string[] => list.map((text) => JSON.stringify(JSON.parse(text))).sort()
