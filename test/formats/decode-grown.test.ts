import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import { applyEdits } from '../../src/core/edits.ts'
import { arbitraryBody, arbitraryBodyText, WIRES, type WireName } from '../support/generators/index.ts'
import { property } from '../support/property.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { CODECS } from '../support/wires.ts'

const LISTS: Readonly<Record<WireName, string>> = {
  'anthropic-messages': 'messages',
  gemini: 'contents',
  'ollama-chat': 'messages',
  'bedrock-converse': 'messages',
  'openai-chat': 'messages',
  'openai-responses': 'input',
}

/** Everything a caller can see of a decoded body: items, spans, and what an edit of it writes. */
function seen(wire: WireName, read: () => Conversation): unknown {
  const { encode, spanOf } = CODECS[wire]
  try {
    const conversation = read()
    const { source: _, ...rest } = conversation
    const spans = conversation.items.map((item) => {
      const { start, end } = spanOf(conversation, item)
      return [start, end]
    })
    const drops = conversation.items.filter((_, i) => i % 2 === 1)
    const edited = applyEdits(
      conversation,
      drops.map(({ id }) => ({ op: 'drop' as const, id, reason: 'test' })),
    )
    return { rest, spans, written: encode(edited).text }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

function expectSame(wire: WireName, text: string, earlier: string): void {
  const { decode } = CODECS[wire]
  let before: Conversation
  try {
    before = decode(earlier)
  } catch {
    return
  }
  expect(seen(wire, () => codecOf(wire).decode(text, before))).toEqual(seen(wire, () => decode(text)))
}

describe.each(WIRES)('%s: a body read after an earlier one', (wire) => {
  const { decode } = CODECS[wire]
  const list = LISTS[wire]

  it('is what it is when read alone, however the client grew, cut or changed it', () => {
    const grown = fc.record({
      body: arbitraryBody(wire),
      indent: fc.constantFrom(0, 2),
      keep: fc.nat(),
      other: arbitraryBody(wire),
      model: fc.string(),
    })
    property(grown, ({ body, indent, keep, other, model }) => {
      const elements = body[list]
      if (!Array.isArray(elements)) return
      const first = elements.slice(0, keep % (elements.length + 1))
      const earlier = { ...body, [list]: first }
      const [long, short, forked, renamed] = [
        body,
        earlier,
        { ...body, [list]: [...first, ...[other[list] ?? []].flat()] },
        { model, ...body },
      ].map((value) => JSON.stringify(value, undefined, indent))
      expectSame(wire, long!, short!)
      expectSame(wire, short!, long!)
      expectSame(wire, forked!, long!)
      expectSame(wire, renamed!, long!)
    })
  })

  it('is refused for the same reason when its text is broken', () => {
    const broken = fc.tuple(
      arbitraryBodyText(wire),
      fc.nat(),
      fc.nat(12),
      fc.constantFrom('', ',', ']', '"', '{', '\ud800'),
    )
    property(broken, ([text, at, length, put]) => {
      const from = at % text.length
      expectSame(wire, text.slice(0, from) + put + text.slice(from + length), text)
    })
  })

  it('shares the items of what both begin with', () => {
    let shared = 0
    property(
      arbitraryBody(wire),
      (body) => {
        const elements = body[list]
        if (!Array.isArray(elements) || elements.length < 3) return
        const before = decode(JSON.stringify({ ...body, [list]: elements.slice(0, -1) }))
        const after = codecOf(wire).decode(JSON.stringify(body), before)
        const last = elements.length - 2
        for (const item of before.items) {
          if (item.message >= last) continue
          expect(after.items.includes(item)).toBe(true)
          shared++
        }
      },
      100,
    )
    expect(shared).toBeGreaterThan(0)
  })

  it('looks for the list that counts when its key comes twice', () => {
    const element = JSON.stringify(
      wire === 'gemini' ? { role: 'user', parts: [{ text: 'one' }] } : { role: 'user', content: 'one' },
    )
    const two = `${element},${element.replace('one', 'two')}`
    expectSame(wire, `{"${list}":[${two}],"${list}":[${element}]}`, `{"${list}":[${two}]}`)
    expectSame(wire, `{"${list}":[${two},]}`, `{"${list}":[${two}]}`)
  })
})

describe('gemini: a body read after an earlier one', () => {
  it('is not taken for the earlier one where another list counts now', () => {
    const contents = (words: string): string => JSON.stringify([{ role: 'user', parts: [{ text: words }] }])
    const earlier = `{"request":{"contents":${contents('wrapped')}}}`
    expectSame('gemini', `{"request":{"contents":${contents('wrapped')}},"contents":${contents('own')}}`, earlier)
  })
})

describe('a body whose tools are far longer than its messages and stand behind them', () => {
  it('is read from where it is new', () => {
    const tools = Array.from({ length: 40 }, (_, n) => ({
      type: 'function',
      function: { name: `tool_${n}`, description: 'What it does. '.repeat(30), parameters: { type: 'object' } },
    }))
    const messages = [
      { role: 'system', content: 'You are an engineer.' },
      { role: 'user', content: 'Find out why checkout is slow.' },
    ]
    const bodyOf = (list: readonly object[]): string => JSON.stringify({ model: 'gpt-4.1', messages: list, tools })
    const before = CODECS['openai-chat'].decode(bodyOf(messages))
    const next = [...messages, { role: 'assistant', content: 'I look.' }, { role: 'user', content: 'Do.' }]
    const { items } = codecOf('openai-chat').decode(bodyOf(next), before)
    expect(before.items.map((item, i) => item === items[i])).toEqual([true])
  })
})
