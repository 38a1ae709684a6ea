import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyEdits, type Edit } from '../../src/core/edits.ts'
import { isPlimsollError } from '../../src/core/errors.ts'
import { arbitraryBodyText, WIRES, type WireName } from '../support/generators/index.ts'
import { largeBody } from '../support/large-bodies.ts'
import { property } from '../support/property.ts'
import { CODECS } from '../support/wires.ts'

/** The list that a wire keeps its history in. */
const LISTS: Readonly<Record<WireName, string>> = {
  'anthropic-messages': 'messages',
  'openai-chat': 'messages',
  'openai-responses': 'input',
  gemini: 'contents',
  'ollama-chat': 'messages',
  'bedrock-converse': 'messages',
}

/** Decodes and, if that works, gives the text back. Anything but a typed refusal is a failure of ours. */
function outcome(wire: WireName, text: string): 'same' | 'refused' {
  try {
    const { decode, encode } = CODECS[wire]
    expect(encode(decode(text)).text).toBe(text)
    return 'same'
  } catch (error) {
    if (isPlimsollError(error, 'bad-input')) return 'refused'
    throw error
  }
}

describe.each(WIRES)('%s', (wire) => {
  const list = LISTS[wire]

  it.each([
    ['nothing', ''],
    ['no JSON', 'GET / HTTP/1.1'],
    ['half a body', '{"messages":[{"role":"user","content":"hal'],
    ['a list', '[]'],
    ['a number', '7'],
    ['null', 'null'],
    ['a string', '"messages"'],
    ['a lone surrogate', '{"messages":[{"role":"user","content":"\ud83d"}]}'],
    ['a history that is no list', `{"${list}":7}`],
    ['a history of strings', `{"${list}":["hello"]}`],
    ['a history of nothing', `{"${list}":[null]}`],
    ['a history of lists', `{"${list}":[[]]}`],
  ])('refuses %s with a typed error', (_name, text) => {
    expect(outcome(wire, text)).toBe('refused')
  })

  it('refuses a body that was cut anywhere', () => {
    property(fc.tuple(arbitraryBodyText(wire), fc.nat()), ([text, at]) => {
      const cut = text.trimEnd().slice(0, at % text.trimEnd().length)
      expect(outcome(wire, cut)).toBe('refused')
    })
  })

  it('takes any JSON where a block or a field is expected, or refuses it with a typed error', () => {
    const odd = fc.jsonValue({ maxDepth: 3 })
    property(
      fc.tuple(odd, odd, odd, fc.constantFrom('user', 'assistant', 'model', 'tool', 'system')),
      ([a, b, c, role]) => {
        for (const message of [
          { role, content: a, parts: a, tool_calls: b, reasoning_details: c },
          {
            role,
            content: [
              { type: 'text', text: a },
              { type: 'tool_use', input: b, id: c },
            ],
            parts: [{ text: a }],
          },
          { role, parts: [{ functionCall: a }, { functionResponse: { response: b, parts: c } }], content: [] },
          { type: 'function_call_output', call_id: a, output: b, name: c },
          { type: 'reasoning', summary: a, content: b },
          {
            role,
            content: [
              { type: 'image_url', image_url: a },
              { type: 'input_file', file_data: b },
            ],
            tool_calls: [{ function: c }],
          },
          {
            role,
            content: [
              { type: 'tool_result', tool_use_id: a, content: b },
              { type: 'document', source: c },
            ],
          },
        ]) {
          outcome(wire, JSON.stringify({ [list]: [message], tools: [] }))
        }
        outcome(
          wire,
          JSON.stringify({
            [list]: [],
            system: a,
            instructions: a,
            systemInstruction: a,
            tools: b,
            generationConfig: c,
          }),
        )
      },
    )
  })

  it('carries nesting 100,000 levels deep', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    for (const fragment of [
      `{"role":"user","content":[{"type":"x","x":${deep}}],"parts":[{"x":${deep}}]}`,
      `{"type":"function_call","role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"x":${deep}}}],"parts":[{"functionCall":{"name":"b","args":{"x":${deep}}}}]}`,
    ]) {
      expect(outcome(wire, `{"${list}":[${fragment}],"vendor":${deep}}`)).toBe('same')
    }
  })

  it('keeps escaped lone surrogates as they came', () => {
    const text = `{"${list}":[{"role":"user","content":${wire === 'bedrock-converse' ? '[{"text":"\\ud83d"}]' : '"\\ud83d"'},"parts":[{"text":"\\ud83d"}]}]}`
    expect(outcome(wire, text)).toBe('same')
  })

  it('carries a body of 50 MB', () => {
    expect(outcome(wire, largeBody(wire, 50 * 1024 * 1024))).toBe('same')
  })

  it('carries an object of 100,000 keys and a message of 20,000 parts', () => {
    const keys = Array.from({ length: 100_000 }, (_, i) => `"k${i}":${i}`).join(',')
    const part = '{"type":"tool_use","id":"a","name":"b","input":{},"functionCall":{"name":"b","args":{}}}'
    const parts = Array.from({ length: 20_000 }, () => part).join(',')
    const body = `{"${list}":[{"role":"user","content":[${parts}],"parts":[${parts}]}],"tools":[],${keys}}`
    expect(outcome(wire, body)).toBe('same')
    const { decode, encode } = CODECS[wire]
    const before = decode(body)
    const plan = before.items.flatMap((item, i): Edit[] => {
      if (i % 2 === 0) return [{ op: 'drop', id: item.id, reason: 'test' }]
      return item.sealed === true ? [] : [{ op: 'replace', id: item.id, text: '{"short":true}', reason: 'test' }]
    })
    expect(decode(encode(applyEdits(before, plan)).text).items).toHaveLength(before.items.length >> 1)
  })
})
