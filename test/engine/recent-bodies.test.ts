import { describe, expect, it } from 'vitest'
import type { Codec } from '../../src/core/codec.ts'
import { createRecentBodies, weightOf } from '../../src/engine/memo/memo.ts'
import { codecs } from '../../src/formats/registry.ts'

const chat = codecs.get('openai-chat')!
const say = (n: number): object => ({ role: n % 2 === 0 ? 'user' : 'assistant', content: `message ${n}` })
const bodyOf = (count: number, model = 'gpt-4.1'): string =>
  JSON.stringify({ model, messages: Array.from({ length: count }, (_, n) => say(n)) })

/** Tells which earlier body, if any, the codec was given. */
function watched(): { codec: Codec; before: (string | undefined)[] } {
  const before: (string | undefined)[] = []
  const codec: Codec = {
    ...chat,
    decode(text, earlier) {
      before.push(earlier?.settings.model)
      return chat.decode(text, earlier)
    },
  }
  return { codec, before }
}

describe('recent bodies', () => {
  it('reads a grown body from the one it grew from, among other conversations of the same client', () => {
    const { codec, before } = watched()
    const bodies = createRecentBodies()
    for (const model of ['a', 'b', 'c']) bodies.decode('me', codec, bodyOf(6, model))
    const first = bodies.decode('me', codec, bodyOf(8, 'b'))
    const second = bodies.decode('me', codec, bodyOf(10, 'b'))
    expect(before.slice(3)).toEqual(['b', 'b'])
    expect(second.items[7]).toBe(first.items[7])
    expect(second.items).toHaveLength(10)
  })

  it('keeps conversations apart that only share their beginning, however they take turns', () => {
    const bodies = createRecentBodies()
    const bodyIn = (name: string, count: number): string =>
      JSON.stringify({
        model: 'm',
        messages: [
          { role: 'user', content: 'The same reminder for everybody. '.repeat(20) },
          ...Array.from({ length: count }, (_, n) => ({ role: 'user', content: `${name} says ${n} `.repeat(10) })),
        ],
      })
    const names = Array.from({ length: 20 }, (_, n) => `agent ${n}`)
    const last = new Map(names.map((name) => [name, bodies.decode('me', chat, bodyIn(name, 3))]))
    for (const count of [4, 5, 6]) {
      for (const name of names) {
        const grown = bodies.decode('me', chat, bodyIn(name, count))
        const before = last.get(name)!.items
        expect(before.filter((item, at) => item === grown.items[at])).toHaveLength(before.length)
        last.set(name, grown)
      }
    }
  })

  it('tells runs of the same task apart that differ in one word near their beginning', () => {
    const bodies = createRecentBodies()
    const bodyIn = (run: number, count: number): string =>
      JSON.stringify({
        model: 'm',
        messages: [
          { role: 'system', content: 'You are an engineer. You look for causes and do not guess.' },
          { role: 'user', content: `Run ${run}: find out why checkout is slow.` },
          ...Array.from({ length: count }, (_, n) => ({ role: 'user', content: `step ${n} `.repeat(200) })),
        ],
      })
    // Each run is over before the next begins, and its last body is longer than all but the last of the next.
    for (let run = 0; run < 5; run++) {
      let before = bodies.decode('me', chat, bodyIn(run, 20)).items
      for (let count = 21; count < 25; count++) {
        const { items } = bodies.decode('me', chat, bodyIn(run, count))
        expect(before.filter((item, at) => item === items[at])).toHaveLength(before.length)
        before = items
      }
    }
  })

  it('never reads one owner from what another sent', () => {
    const { codec, before } = watched()
    const bodies = createRecentBodies()
    const mine = bodies.decode('me', codec, bodyOf(6))
    const yours = bodies.decode('you', codec, bodyOf(6))
    expect(before).toEqual([undefined, undefined])
    expect(yours.items[0]).not.toBe(mine.items[0])
  })

  it('holds no more than it was told to', () => {
    const { codec, before } = watched()
    const bodies = createRecentBodies({ bytes: 2 * weightOf(bodyOf(6), 6) })
    for (const owner of ['one', 'two', 'three', 'one']) bodies.decode(owner, codec, bodyOf(6))
    expect(before).toEqual([undefined, undefined, undefined, undefined])
    const many = createRecentBodies({ perOwner: 2 })
    for (const model of ['x', 'y', 'z', 'x']) many.decode('me', codec, bodyOf(6, model.repeat(200)))
    expect(before.at(-1)).not.toBe('x'.repeat(200))
  })
})
