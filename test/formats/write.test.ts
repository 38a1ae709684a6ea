import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import { changeEnvelope } from '../../src/core/edits.ts'
import { canonicalJson } from '../../src/core/identity.ts'
import type { Item } from '../../src/core/item.ts'
import { turnsOf } from '../../src/core/turns.ts'
import { CODECS, type WireFormat } from '../../src/formats/registry.ts'
import { arbitraryBodyText, WIRES } from '../support/generators/index.ts'
import { property } from '../support/property.ts'

const PAIRS = WIRES.flatMap((from) => WIRES.filter((to) => to !== from).map((to) => ({ from, to })))

/** Rules about what is said and how a script happens to end; no way of writing it down could keep or break them. */
const OF_THE_CONTENT = new Set(
  'body-shape output-cap max-tokens first-message-user no-prefill no-trailing-space starts-with-user ends-with-user'.split(
    ' ',
  ),
)

/** What is said, as far as every wire can say it. Chat puts a message's calls behind its text. */
function told(item: Item): string {
  const text = item.kind === 'call' ? canonicalJson(item.text) : item.text
  return `${item.kind === 'instruction' ? 'user' : item.kind} ${item.toolName ?? ''} ${text}`
}

/** A message of Ollama's has one text: what other wires say in parts stands in it one behind the other. */
const inPieces = (items: readonly Item[], to: WireFormat): readonly Item[] =>
  to !== 'ollama-chat'
    ? items
    : items.flatMap((item) =>
        item.kind === 'call' || item.kind === 'result'
          ? [item]
          : item.text
              .split('\n\n')
              .map((text) => ({ ...item, kind: item.role === 'assistant' ? 'assistant' : 'user', text })),
      )

const isWhole = (item: Item): boolean => item.kind !== 'media' && item.text !== '' && !item.text.endsWith(' left out]')

const headOf = ({ head }: Conversation): string => head.map((item) => item.text).join('\n\n')

const pictures = (items: readonly Item[]): number => items.reduce((sum, item) => sum + (item.media?.length ?? 0), 0)

describe.each(PAIRS)('$from written as $to', ({ from, to }) => {
  it('says the same or names what it cannot say, and keeps pairs and rules', () => {
    property(arbitraryBodyText(from), (text) => {
      const before = CODECS[from].decode(text)
      const { text: written, losses } = CODECS[to].encode(before)
      const after = CODECS[to].decode(written)
      const gone = new Set(
        before.items
          .filter((item) => item.kind === 'reasoning' || item.kind === 'opaque' || item.serverSide === true)
          .map((item) => item.id),
      )
      const named = new Set(losses.map((loss) => loss.itemId))
      for (const id of gone) expect(named).toContain(id)
      const kept = before.items.filter((item) => !gone.has(item.id))
      expect(inPieces(after.items, to).filter(isWhole).map(told).sort()).toEqual(
        inPieces(kept, to)
          .filter(isWhole)
          .map((item) => told(asPortable(item, to)))
          .sort(),
      )
      expect(headOf(after)).toBe(headOf(before))
      const lostPictures = losses.filter(({ what }) => /^(?:image|document|audio|video|file)\b/.test(what)).length
      expect(pictures(after.items) + lostPictures).toBe(pictures(kept))
      const { pending, orphans } = turnsOf(after.items)
      expect({ pending, orphans }).toEqual({ pending: [], orphans: [] })
      const broken = CODECS[to].check(JSON.parse(written)).filter(({ rule }) => !OF_THE_CONTENT.has(rule))
      expect(broken).toEqual([])
    })
  })
})

/** Free text of a custom tool travels inside an object. */
function asPortable(item: Item, to: WireFormat): Item {
  if (item.kind !== 'call') return item
  try {
    JSON.parse(item.text)
    return item
  } catch {
    return { ...item, text: JSON.stringify(to === 'openai-chat' ? { note: item.text } : { input: item.text }) }
  }
}

describe('what is carried over', () => {
  const chat: Conversation = CODECS['openai-chat'].decode(
    JSON.stringify({
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Which berth?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call.1', type: 'function', function: { name: 'berth', arguments: '{"ship":"Ada"}' } }],
        },
        { role: 'tool', tool_call_id: 'call.1', content: 'B4' },
      ],
      tools: [
        { type: 'function', function: { name: 'berth', description: 'Finds it', parameters: { type: 'object' } } },
      ],
      max_tokens: 99,
      temperature: 0.2,
      stop: 'END',
      stream: true,
      seed: 7,
    }),
  )

  it('writes instructions, tools, caps and sampling where the other wire keeps them', () => {
    const { text, losses } = CODECS['anthropic-messages'].encode(chat)
    expect(JSON.parse(text)).toEqual({
      model: 'm',
      max_tokens: 99,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Which berth?' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call_0', name: 'berth', input: { ship: 'Ada' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'B4' }] },
      ],
      tools: [{ name: 'berth', description: 'Finds it', input_schema: { type: 'object' } }],
      stream: true,
      temperature: 0.2,
      stop_sequences: ['END'],
    })
    expect(losses).toEqual([{ itemId: '', what: 'the setting seed', minor: true }])
  })

  it('applies changes of the envelope in the wire that is written', () => {
    const changed = changeEnvelope(chat, { maxOutputTokens: 5, addInstruction: 'Now.' })
    const body: unknown = JSON.parse(CODECS.gemini.encode(changed).text)
    expect(body).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Now.' }] },
      generationConfig: { maxOutputTokens: 5, temperature: 0.2, stopSequences: ['END'] },
    })
  })

  const CHOICES = {
    'anthropic-messages': { tool_choice: { type: 'tool', name: 'berth', disable_parallel_tool_use: true } },
    'openai-chat': {
      tool_choice: { type: 'function', function: { name: 'berth' } },
      parallel_tool_calls: false,
    },
    'openai-responses': { tool_choice: { type: 'function', name: 'berth' }, parallel_tool_calls: false },
    gemini: { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['berth'] } } },
  } as const

  /** Ollama's API has no word for it. */
  const SAY_IT = (Object.keys(CHOICES) as (keyof typeof CHOICES)[]).filter((to) => to !== 'openai-chat')

  it.each(SAY_IT)('tells the model which tool to call, as %s says it', (to) => {
    const forced = CODECS['openai-chat'].decode(
      JSON.stringify({
        model: 'm',
        messages: [{ role: 'user', content: 'Which berth?' }],
        tools: [{ type: 'function', function: { name: 'berth', parameters: { type: 'object' } } }],
        ...CHOICES['openai-chat'],
      }),
    )
    const { text, losses } = CODECS[to].encode(forced)
    expect(JSON.parse(text)).toMatchObject(CHOICES[to])
    expect(losses.map(({ what }) => what)).toEqual(to === 'gemini' ? ['the wish for one call at a time'] : [])
    const back = { ...CODECS[to].decode(text), settings: { model: 'm', stream: false, reasoning: false } }
    const { tool_choice } = JSON.parse(CODECS['openai-chat'].encode(back).text) as { tool_choice: unknown }
    expect(tool_choice).toEqual(CHOICES['openai-chat'].tool_choice)
  })

  it('tells losses that change the answer from those that do not', () => {
    const wish = CODECS['openai-chat'].decode(
      JSON.stringify({
        model: 'm',
        messages: [{ role: 'user', content: 'Hi' }],
        user: 'u',
        n: 1,
        logprobs: false,
        reasoning_effort: 'low',
        response_format: { type: 'json_object' },
      }),
    )
    const { losses } = CODECS['anthropic-messages'].encode(wish)
    expect(losses.filter(({ minor }) => minor !== true).map(({ what }) => what)).toEqual([
      'the setting response_format',
    ])
  })

  it('names history that only the provider holds', () => {
    const chained = CODECS['openai-responses'].decode('{"model":"m","input":"go on","previous_response_id":"resp_1"}')
    expect(CODECS['openai-chat'].encode(chained).losses).toEqual([
      { itemId: '', what: 'history that the provider holds (previous_response_id)' },
    ])
  })
})
