import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Item } from '../../src/core/item.ts'
import { cutsOf, newestUserIndex, openStepStart, turnsOf } from '../../src/core/turns.ts'
import { decode } from '../../src/formats/anthropic-messages/decode.ts'
import { arbitraryBodyText, WIRES } from '../support/generators/index.ts'
import { item, messyItems } from '../support/items.ts'
import { property } from '../support/property.ts'
import { CODECS } from '../support/wires.ts'

const indexes = (items: readonly Item[], kind: Item['kind']): number[] =>
  items.flatMap((one, i) => (one.kind === kind ? [i] : []))

describe('pairing', () => {
  it('gives each call and each result at most one partner, of the same id or name, in order', () => {
    property(messyItems, (items) => {
      const { answers, pending, orphans } = turnsOf(items)
      expect(new Set(answers.values()).size).toBe(answers.size)
      for (const [call, result] of answers) {
        expect(result).toBeGreaterThan(call)
        const [a, b] = [items[call]!, items[result]!]
        const sameId = a.callId === b.callId
        expect(sameId || ((a.callId === undefined || b.callId === undefined) && a.toolName === b.toolName)).toBe(true)
      }
      expect([...answers.keys(), ...pending].sort((a, b) => a - b)).toEqual(indexes(items, 'call'))
      expect([...answers.values(), ...orphans].sort((a, b) => a - b)).toEqual(indexes(items, 'result'))
    })
  })

  it('leaves no result beside an open call of its id', () => {
    property(messyItems, (items) => {
      const { pending, orphans } = turnsOf(items)
      for (const result of orphans) {
        const { callId } = items[result]!
        if (callId === undefined) continue
        expect(pending.some((call) => call < result && items[call]!.callId === callId)).toBe(false)
      }
    })
  })

  it('pairs every call of a generated conversation, on every wire', () => {
    for (const wire of WIRES) {
      property(arbitraryBodyText(wire), (text) => {
        const { pending, orphans } = turnsOf(CODECS[wire].decode(text).items)
        expect({ pending, orphans }).toEqual({ pending: [], orphans: [] })
      })
    }
  })

  it('answers the oldest open call when an id is used again in each turn', () => {
    const items = [
      item('i0', { kind: 'call', callId: 'call_0' }),
      item('i1', { kind: 'result', callId: 'call_0' }),
      item('i2', { kind: 'call', callId: 'call_0' }),
      item('i3', { kind: 'result', callId: 'call_0' }),
    ]
    expect([...turnsOf(items).answers]).toEqual([
      [0, 1],
      [2, 3],
    ])
  })

  it('keeps two calls of one id apart when a run was interrupted between them', () => {
    const items = [
      item('i0', { kind: 'call', callId: 'a' }),
      item('i1', { kind: 'call', callId: 'a' }),
      item('i2', { kind: 'result', callId: 'a' }),
    ]
    expect(turnsOf(items)).toMatchObject({ pending: [1], orphans: [] })
  })

  it('pairs by name where the wire has no ids, also when results come in another order', () => {
    const items = [
      item('i0', { kind: 'call', toolName: 'bash' }),
      item('i1', { kind: 'call', toolName: 'read' }),
      item('i2', { kind: 'result', toolName: 'read' }),
      item('i3', { kind: 'result', toolName: 'bash' }),
    ]
    expect(Object.fromEntries(turnsOf(items).answers)).toEqual({ 0: 3, 1: 2 })
  })

  it('pairs a result that lost its id with the call of its name', () => {
    const items = [
      item('i0', { kind: 'call', callId: 'x', toolName: 'bash' }),
      item('i1', { kind: 'result', toolName: 'bash' }),
    ]
    expect([...turnsOf(items).answers]).toEqual([[0, 1]])
  })
})

describe('legal cuts', () => {
  it('covers the items with steps, without gap or overlap', () => {
    property(messyItems, (items) => {
      const turns = turnsOf(items)
      let at = 0
      for (const step of turns.steps) {
        expect(step.from).toBe(at)
        expect(step.to).toBeGreaterThan(step.from)
        at = step.to
      }
      expect(at).toBe(items.length)
      expect(cutsOf(turns)).toEqual(items.length === 0 ? [] : [...turns.steps.map((step) => step.from), items.length])
    })
  })

  it('separates no call from its result, at any cut', () => {
    property(messyItems, (items) => {
      const whole = turnsOf(items)
      for (const cut of cutsOf(whole)) {
        const before = turnsOf(items.slice(0, cut))
        const after = turnsOf(items.slice(cut))
        expect(before.pending).toEqual(whole.pending.filter((i) => i < cut))
        expect(after.orphans.map((i) => i + cut)).toEqual(whole.orphans.filter((i) => i >= cut))
        expect([...after.answers].map(([call, result]) => [call + cut, result + cut])).toEqual(
          [...whole.answers].filter(([call]) => call >= cut),
        )
      }
    })
  })

  it('splits no message and starts nothing with a result', () => {
    property(messyItems, (items) => {
      for (const cut of cutsOf(turnsOf(items))) {
        if (cut === 0 || cut === items.length) continue
        expect(items[cut]!.message).not.toBe(items[cut - 1]!.message)
        expect(items[cut]!.kind).not.toBe('result')
      }
    })
  })

  it('leaves no new orphan and no new open call when whole steps are dropped', () => {
    property(fc.tuple(messyItems, fc.array(fc.boolean(), { minLength: 24, maxLength: 24 })), ([items, dropped]) => {
      const whole = turnsOf(items)
      const kept = whole.steps.flatMap((step, n) =>
        dropped[n] === true ? [] : Array.from({ length: step.to - step.from }, (_, k) => step.from + k),
      )
      const after = turnsOf(kept.map((i) => items[i]!))
      expect(after.orphans.map((i) => kept[i])).toEqual(whole.orphans.filter((i) => kept.includes(i)))
      expect(after.pending.map((i) => kept[i])).toEqual(whole.pending.filter((i) => kept.includes(i)))
    })
  })

  it('keeps reasoning with what it led to', () => {
    const items = [
      item('i0', { kind: 'user' }),
      item('i1', { kind: 'reasoning' }),
      item('i2', { kind: 'reasoning' }),
      item('i3', { kind: 'assistant' }),
      item('i4', { kind: 'call', callId: 'a' }),
      item('i5', { kind: 'result', callId: 'a' }),
      item('i6', { kind: 'reasoning' }),
      item('i7', { kind: 'assistant' }),
    ]
    expect(cutsOf(turnsOf(items))).toEqual([0, 1, 6, 8])
  })

  it('keeps parallel calls and all their results in one step', () => {
    const items = [
      item('i0', { kind: 'call', callId: 'a', message: 0 }),
      item('i1', { kind: 'call', callId: 'b', message: 0 }),
      item('i2', { kind: 'result', callId: 'b', message: 1 }),
      item('i3', { kind: 'result', callId: 'a', message: 2 }),
      item('i4', { kind: 'assistant', message: 3 }),
    ]
    expect(turnsOf(items).steps).toEqual([
      { from: 0, to: 4, hasCalls: true, pending: false },
      { from: 4, to: 5, hasCalls: false, pending: false },
    ])
  })

  it('keeps a server-side pair inside its assistant message', () => {
    const text = JSON.stringify({
      messages: [
        { role: 'user', content: 'tide?' },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
            { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
            { type: 'text', text: 'High at noon.' },
          ],
        },
        { role: 'user', content: 'thanks' },
      ],
    })
    const { items } = decode(text)
    expect(turnsOf(items)).toMatchObject({ pending: [], orphans: [] })
    expect(cutsOf(turnsOf(items))).toEqual([0, 1, 4, 5])
  })
})

describe('the open step and the newest user message', () => {
  const call = item('i1', { kind: 'call', callId: 'a' })
  const result = item('i2', { kind: 'result', callId: 'a' })

  it('opens at the call whose result the model has not seen answered', () => {
    const items = [item('i0', { kind: 'user' }), call, result]
    expect(openStepStart(items, turnsOf(items))).toBe(1)
  })

  it('opens at a pending call', () => {
    const items = [item('i0', { kind: 'user' }), call]
    expect(openStepStart(items, turnsOf(items))).toBe(1)
  })

  it.each(['instruction', 'user'] as const)('is open still when the client adds a message behind it: %s', (kind) => {
    const role = kind === 'user' ? 'user' : 'system'
    const added = { ...item('i3', { kind, role }), message: 9 }
    const items = [item('i0', { kind: 'user' }), call, result, added, { ...added, id: 'i4', message: 10 }]
    expect(openStepStart(items, turnsOf(items))).toBe(1)
    const answered = [...items, item('i5', { kind: 'assistant' }), { ...added, id: 'i6', message: 12 }]
    expect(openStepStart(answered, turnsOf(answered))).toBe(answered.length)
  })

  it('is closed once the model went on', () => {
    const items = [item('i0', { kind: 'user' }), call, result, item('i3', { kind: 'assistant' })]
    expect(openStepStart(items, turnsOf(items))).toBe(4)
  })

  it('does not take an insertion of ours for a user message', () => {
    const items = [item('i0', { kind: 'user' }), { ...item('i1', { kind: 'user' }), message: -1 }]
    expect(newestUserIndex(items)).toBe(0)
    expect(newestUserIndex([])).toBe(-1)
  })
})

it('pairs 200,000 items of one id without going quadratic', () => {
  const items = Array.from({ length: 200_000 }, (_, i) =>
    item(`i${i}`, { kind: i < 100_000 ? 'call' : 'result', callId: 'call_0' }),
  )
  const turns = turnsOf(items)
  expect(turns.answers.size).toBe(100_000)
  expect(turns.steps).toHaveLength(1)
})
