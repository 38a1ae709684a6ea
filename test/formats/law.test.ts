import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import { applyEdits, type Edit } from '../../src/core/edits.ts'
import type { Item } from '../../src/core/item.ts'
import { arbitraryBodyText, WIRES, words } from '../support/generators/index.ts'
import { property } from '../support/property.ts'
import { CODECS, isRewrittenInPlace } from '../support/wires.ts'

/** What an item says, without where it stands. A result learns its tool's name from the call, which may be gone. */
function said(item: Item): unknown {
  const { id: _id, message: _message, origin: _origin, edited: _edited, toolName, ...rest } = item
  return item.kind === 'result' ? rest : { ...rest, toolName }
}

/** Instructions that lead after a drop belong to the head, so both are compared as one list. */
const allSaid = ({ head, items }: Conversation): unknown[] => [...head, ...items].map(said)

/** An item that we insert goes in front of the message it would otherwise split. */
function expectedItems(conversation: Conversation): Item[] {
  const out: Item[] = []
  const items = conversation.items
  for (const [i, item] of items.entries()) {
    const previous = out.findLast((one) => one.message >= 0)
    const isInside =
      item.message < 0 &&
      previous !== undefined &&
      items.slice(i + 1).some((later) => later.message === previous.message)
    if (!isInside) out.push(item)
    else
      out.splice(
        out.findIndex((one) => one.message === previous.message),
        0,
        item,
      )
  }
  return out
}

/** A change asked for by position: the generator cannot know which items a body has. */
const change = fc.record({
  op: fc.constantFrom('drop' as const, 'replace' as const, 'insert' as const),
  at: fc.nat(),
  text: words,
  role: fc.constantFrom('user' as const, 'assistant' as const),
})

function planOf(
  items: readonly Item[],
  changes: readonly { op: string; at: number; text: string; role: 'user' | 'assistant' }[],
): Edit[] {
  const plan: Edit[] = []
  const touched = new Set<string>()
  for (const [n, { op, at, text, role }] of changes.entries()) {
    const item = items[at % (items.length + 1)]
    if (op === 'insert') {
      plan.push({ op, id: `new${n}`, role, text, reason: 'test', ...(item !== undefined && { before: item.id }) })
      continue
    }
    if (item === undefined || touched.has(item.id)) continue
    if (op === 'drop') plan.push({ op, id: item.id, reason: 'test' })
    else if (item.sealed === true) continue
    else
      plan.push({
        op: 'replace',
        id: item.id,
        text: item.kind === 'call' ? JSON.stringify({ text }) : text,
        reason: 'test',
      })
    touched.add(item.id)
  }
  return plan
}

/** A rewritten picture is text from then on. */
const asRead = (item: Item): Item =>
  item.edited === true && item.kind === 'media'
    ? { ...item, kind: item.role === 'assistant' ? 'assistant' : 'user' }
    : item

describe.each(WIRES)('%s', (wire) => {
  const { decode, encode, spanOf } = CODECS[wire]
  const inPlace = ({ items }: Conversation, id: string): boolean =>
    isRewrittenInPlace(
      wire,
      items.find((item) => item.id === id)!,
    )

  it('gives every body back byte for byte', () => {
    property(arbitraryBodyText(wire), (text) => {
      expect(encode(decode(text))).toMatchObject({ text, losses: [] })
    })
  })

  it('gives every message at least one item, so that nothing disappears unseen', () => {
    property(arbitraryBodyText(wire), (text) => {
      const { items } = decode(text)
      expect(new Set(items.map((item) => item.id)).size).toBe(items.length)
      expect(items.every((item, i) => i === 0 || item.message >= items[i - 1]!.message)).toBe(true)
    })
  })

  it('changes only the bytes of an edited item', () => {
    property(fc.tuple(arbitraryBodyText(wire), fc.nat(), words), ([text, at, replacement]) => {
      const before = decode(text)
      const editable = before.items.filter((item) => item.sealed !== true && isRewrittenInPlace(wire, item))
      const item = editable[at % Math.max(1, editable.length)]
      if (item === undefined) return
      const [edit] = planOf([item], [{ op: 'replace', at: 0, text: replacement, role: 'user' }])
      const after = encode(applyEdits(before, [edit!])).text
      const { start, end } = spanOf(before, item)
      expect(after.startsWith(text.slice(0, start))).toBe(true)
      expect(after.endsWith(text.slice(end))).toBe(true)
      const read = decode(after)
      expect(read.head.map(said)).toEqual(before.head.map(said))
      expect(read.items.map(said)).toEqual(applyEdits(before, [edit!]).items.map((one) => said(asRead(one))))
    })
  })

  it('writes what a plan of drops, replacements and insertions asks for', () => {
    property(fc.tuple(arbitraryBodyText(wire), fc.array(change, { maxLength: 8 })), ([text, changes]) => {
      const before = decode(text)
      const plan = planOf(before.items, changes).filter((edit) => edit.op !== 'replace' || inPlace(before, edit.id))
      const after = applyEdits(before, plan)
      const { text: out, losses } = encode(after)
      expect(losses).toEqual([])
      const expected = [...before.head, ...expectedItems(after)].map((one) => said(asRead(one)))
      expect(allSaid(decode(out))).toEqual(expected)
    })
  })

  it('takes every item out when the plan drops them all', () => {
    property(arbitraryBodyText(wire), (text) => {
      const before = decode(text)
      const plan = before.items.map((item): Edit => ({ op: 'drop', id: item.id, reason: 'test' }))
      const after = decode(encode(applyEdits(before, plan)).text)
      expect(after.items).toEqual([])
      expect(after.head.map(said)).toEqual(before.head.map(said))
    })
  })
})
