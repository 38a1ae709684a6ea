import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import { applyEdits, changeEnvelope, type Edit } from '../../src/core/edits.ts'
import type { Item } from '../../src/core/item.ts'
import { item, messyItems } from '../support/items.ts'
import { property } from '../support/property.ts'

const conversation = (items: readonly Item[]): Conversation => ({
  format: 'test',
  head: [],
  items,
  tools: [],
  settings: { stream: false, reasoning: false },
  source: { format: 'test', value: null },
})

const insert = (id: string, before?: string): Edit => ({
  op: 'insert',
  id,
  role: 'user',
  text: id,
  reason: 'test',
  ...(before !== undefined && { before }),
})

const marks = fc.array(fc.constantFrom('keep', 'drop', 'replace', 'insert'), { minLength: 24, maxLength: 24 })

function planOf(items: readonly Item[], marks: readonly string[]): Edit[] {
  return items.flatMap(({ id }, i): Edit[] => {
    if (marks[i] === 'drop') return [{ op: 'drop', id, reason: 'test' }]
    if (marks[i] === 'replace') return [{ op: 'replace', id, text: `new ${id}`, reason: 'test' }]
    if (marks[i] !== 'insert') return []
    return [{ op: 'insert', id: `+${id}`, role: 'user', text: 'note', before: id, reason: 'test' }]
  })
}

describe('applyEdits', () => {
  it('does to each item what the plan says and nothing to the others', () => {
    property(fc.tuple(messyItems, marks), ([items, marks]) => {
      const before = conversation(items)
      const frozen = JSON.stringify(before)
      const after = applyEdits(before, planOf(items, marks))
      const expected = items.flatMap((one, i) => {
        if (marks[i] === 'drop') return []
        if (marks[i] === 'replace') return [`new ${one.id}`]
        return marks[i] === 'insert' ? ['note', one.text] : [one.text]
      })
      expect(after.items.map((one) => one.text)).toEqual(expected)
      for (const one of after.items) {
        if (one.edited !== true && one.message >= 0) expect(items).toContain(one)
      }
      expect(JSON.stringify(before)).toBe(frozen)
    })
  })

  it('gives the same view in whatever order independent edits stand', () => {
    property(fc.tuple(messyItems, marks), ([items, marks]) => {
      const plan = planOf(items, marks)
      expect(applyEdits(conversation(items), plan.toReversed())).toEqual(applyEdits(conversation(items), plan))
    })
  })

  it('leaves a conversation alone when there is nothing to do', () => {
    const before = conversation([item('i0', { kind: 'user' })])
    expect(applyEdits(before, [])).toBe(before)
  })

  it('keeps insertions at one place in the order of the plan, in front of an item that goes', () => {
    const plan: Edit[] = [insert('x', 'i1'), insert('y', 'i1'), { op: 'drop', id: 'i1', reason: 'test' }, insert('z')]
    const items = [item('i0', { kind: 'user' }), item('i1', { kind: 'assistant' }), item('i2', { kind: 'user' })]
    expect(applyEdits(conversation(items), plan).items.map((one) => one.id)).toEqual(['i0', 'x', 'y', 'i2', 'z'])
  })

  it('takes media away with the text that a replacement speaks for', () => {
    const picture = item('i0', { kind: 'result', media: [{ type: 'image', data: 'AAAA' }] })
    const plan: Edit[] = [{ op: 'replace', id: 'i0', text: 'a picture', reason: 'test' }]
    expect(applyEdits(conversation([picture]), plan).items).toEqual([
      { id: 'i0', kind: 'result', role: 'tool', text: 'a picture', message: 0, edited: true },
    ])
  })

  it.each([
    ['drop', { op: 'drop', id: 'gone', reason: 'test' }],
    ['replace', { op: 'replace', id: 'gone', text: 'x', reason: 'test' }],
    ['insert', { op: 'insert', id: 'x', role: 'user', text: 'x', before: 'gone', reason: 'test' }],
  ] as const)('refuses to %s at an item that is not there', (_op, edit) => {
    const before = conversation([item('i0', { kind: 'user' })])
    expect(() => applyEdits(before, [edit])).toThrowError(expect.objectContaining({ code: 'bad-input' }))
  })
})

it('adds envelope changes to the ones already there', () => {
  const once = changeEnvelope(conversation([]), { maxOutputTokens: 5 })
  expect(changeEnvelope(once, { addInstruction: 'Be brief.' }).changes).toEqual({
    maxOutputTokens: 5,
    addInstruction: 'Be brief.',
  })
})
