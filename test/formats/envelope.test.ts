import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EnvelopeChanges, NewTool } from '../../src/core/conversation.ts'
import { applyEdits, changeEnvelope } from '../../src/core/edits.ts'
import { arbitraryBodyText, WIRES, words, type WireName } from '../support/generators/index.ts'
import { property } from '../support/property.ts'
import { CODECS } from '../support/wires.ts'

const OURS: NewTool = { name: 'artifact_read', description: 'Reads it', parameters: { type: 'object', properties: {} } }

const changed = (wire: WireName, text: string, changes: EnvelopeChanges): string =>
  CODECS[wire].encode(changeEnvelope(CODECS[wire].decode(text), changes)).text

const bodyAfter = (wire: WireName, body: unknown, changes: EnvelopeChanges): unknown =>
  JSON.parse(changed(wire, JSON.stringify(body), changes))

const names = (wire: WireName, text: string): string[] => CODECS[wire].decode(text).tools.map((tool) => tool.name)

describe.each(WIRES)('%s', (wire) => {
  const { decode, encode } = CODECS[wire]

  it('sets the output cap and nothing else', () => {
    property(fc.tuple(arbitraryBodyText(wire), fc.integer({ min: 16, max: 9_999 })), ([text, maxOutputTokens]) => {
      const before = decode(text)
      const after = decode(changed(wire, text, { maxOutputTokens }))
      expect(after.settings).toEqual({ ...before.settings, maxOutputTokens })
      expect(after.items).toEqual(before.items.map((item) => ({ ...item, origin: expect.anything() })))
      expect(after.tools).toEqual(before.tools)
    })
  })

  it('adds an instruction at the end of the head', () => {
    property(fc.tuple(arbitraryBodyText(wire), words), ([text, addInstruction]) => {
      const before = decode(text)
      const after = decode(changed(wire, text, { addInstruction }))
      const said = after.head.map((item) => item.text).join('\n\n')
      expect(said).toContain(addInstruction)
      for (const item of before.head) expect(said).toContain(item.text)
      expect(after.items.map((item) => item.text)).toEqual(before.items.map((item) => item.text))
    })
  })

  it("adds tools after the client's own", () => {
    property(arbitraryBodyText(wire), (text) => {
      const after = names(wire, changed(wire, text, { addTools: [OURS] }))
      const own = names(wire, text)
      expect(after.filter((name) => name !== OURS.name)).toEqual(own)
      expect(after).toContain(OURS.name)
    })
  })

  it('keeps the tools that are allowed', () => {
    property(arbitraryBodyText(wire), (text) => {
      const own = names(wire, text)
      const keepTools = ['bash', 'read_file']
      const kept = own.filter((name) => keepTools.includes(name))
      const after = changed(wire, text, { keepTools })
      if (kept.length > 0) expect(names(wire, after)).toEqual(kept)
      const beside = names(wire, changed(wire, text, { keepTools, addTools: [OURS] }))
      expect(beside).toEqual(expect.arrayContaining([...kept, OURS.name]))
      expect(beside).toHaveLength(kept.length + 1)
    })
  })

  it('writes all changes at once, together with edits', () => {
    property(arbitraryBodyText(wire), (text) => {
      const before = decode(text)
      const edited = applyEdits(before, [
        {
          op: 'insert',
          id: 'x',
          role: 'user',
          text: 'note',
          reason: 'test',
          ...(before.items[0] && { before: before.items[0].id }),
        },
        ...before.items.slice(0, 1).map(({ id }) => ({ op: 'drop', id, reason: 'test' }) as const),
      ])
      const changes: EnvelopeChanges = {
        maxOutputTokens: 77,
        addInstruction: 'Answer now.',
        addTools: [OURS],
        keepTools: ['bash'],
      }
      const after = decode(encode(changeEnvelope(edited, changes)).text)
      expect(after.settings.maxOutputTokens).toBe(77)
      expect(after.head.map((item) => item.text).join()).toContain('Answer now.')
      expect(after.tools.map((tool) => tool.name)).toContain(OURS.name)
      expect(after.items.map((item) => item.text)).toContain('note')
    })
  })
})

describe('a turn without tools', () => {
  it('keeps the list and forbids its use, since history and cache need it', () => {
    const tools = [{ name: 'bash', input_schema: {} }]
    expect(bodyAfter('anthropic-messages', { messages: [], tools }, { keepTools: [] })).toMatchObject({
      tools,
      tool_choice: { type: 'none' },
    })
    const chatTools = [{ type: 'function', function: { name: 'bash' } }]
    expect(bodyAfter('openai-chat', { messages: [], tools: chatTools }, { keepTools: [] })).toMatchObject({
      tools: chatTools,
      tool_choice: 'none',
    })
    const flat = [{ type: 'function', name: 'bash' }]
    expect(bodyAfter('openai-responses', { input: [], tools: flat }, { keepTools: [] })).toMatchObject({
      tools: flat,
      tool_choice: 'none',
    })
  })

  it('forbids functions by mode on Gemini and takes away what Google runs by itself', () => {
    const declared = { functionDeclarations: [{ name: 'bash' }] }
    const body = { contents: [], tools: [declared, { googleSearch: {} }] }
    expect(bodyAfter('gemini', body, { keepTools: [] })).toEqual({
      contents: [],
      tools: [declared],
      toolConfig: { functionCallingConfig: { mode: 'NONE' } },
    })
    expect(bodyAfter('gemini', { contents: [], tools: [{ googleSearch: {} }] }, { keepTools: [] })).toEqual({
      contents: [],
      tools: [],
    })
  })
})

describe('choices that name a tool which went away', () => {
  it.each([
    [
      'openai-chat' as const,
      {
        messages: [],
        tools: [
          { type: 'function', function: { name: 'a' } },
          { type: 'function', function: { name: 'b' } },
        ],
        tool_choice: { type: 'function', function: { name: 'b' } },
      },
      { tool_choice: 'auto' },
    ],
    [
      'openai-chat' as const,
      { messages: [], functions: [{ name: 'a' }, { name: 'b' }], function_call: { name: 'b' } },
      { functions: [{ name: 'a' }], function_call: 'auto' },
    ],
    [
      'openai-responses' as const,
      {
        input: 'x',
        tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] },
      },
      { tool_choice: 'auto' },
    ],
    [
      'gemini' as const,
      {
        contents: [],
        tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'b' }] }],
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['b'] } },
      },
      { toolConfig: { functionCallingConfig: { mode: 'AUTO' } } },
    ],
    [
      'anthropic-messages' as const,
      {
        messages: [],
        tools: [
          { name: 'a', input_schema: {} },
          { name: 'b', input_schema: {} },
        ],
        tool_choice: { type: 'tool', name: 'b' },
      },
      { tool_choice: { type: 'auto' } },
    ],
  ])('become automatic: %s', (wire, body, expected) => {
    expect(bodyAfter(wire, body, { keepTools: ['a'] })).toMatchObject(expected)
  })
})

describe('where a wire has more than one place', () => {
  it('writes the cap that a chat model takes', () => {
    const cap = { maxOutputTokens: 9 }
    expect(bodyAfter('openai-chat', { model: 'gpt-5.1', messages: [] }, cap)).toHaveProperty('max_completion_tokens', 9)
    expect(bodyAfter('openai-chat', { model: 'o4-mini', messages: [] }, cap)).toHaveProperty('max_completion_tokens', 9)
    expect(bodyAfter('openai-chat', { model: 'llama3', messages: [] }, cap)).toHaveProperty('max_tokens', 9)
    expect(bodyAfter('openai-chat', { messages: [], max_tokens: 1, max_completion_tokens: 2 }, cap)).toMatchObject({
      max_tokens: 9,
      max_completion_tokens: 9,
    })
  })

  it('writes new keys in the case that a Gemini body uses', () => {
    const body = { contents: [], safety_settings: [] }
    expect(bodyAfter('gemini', body, { maxOutputTokens: 9, addInstruction: 'x', addTools: [OURS] })).toEqual({
      contents: [],
      safety_settings: [],
      generation_config: { max_output_tokens: 9 },
      system_instruction: { parts: [{ text: 'x' }] },
      tools: [
        {
          function_declarations: [
            { name: OURS.name, description: OURS.description, parametersJsonSchema: OURS.parameters },
          ],
        },
      ],
    })
  })

  it('changes the request inside a Code Assist body', () => {
    const body = { model: 'gemini-2.5-pro', request: { contents: [] } }
    expect(bodyAfter('gemini', body, { maxOutputTokens: 9 })).toEqual({
      model: 'gemini-2.5-pro',
      request: { contents: [], generationConfig: { maxOutputTokens: 9 } },
    })
  })

  it('leaves the strictness of Responses tools off, which would be on by default', () => {
    expect(bodyAfter('openai-responses', { input: 'x' }, { addTools: [OURS] })).toEqual({
      input: 'x',
      tools: [{ type: 'function', ...OURS, strict: false }],
    })
  })
})
