import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import { applyEdits, changeEnvelope } from '../../src/core/edits.ts'
import type { Item } from '../../src/core/item.ts'
import { detectFormat, wireOf } from '../../src/formats/registry.ts'
import { eventsOf, type AnswerPart } from '../../src/formats/wire/answer.ts'
import { arbitraryBodyText, words } from '../support/generators/index.ts'
import { property } from '../support/property.ts'

const { codec, framing, answers } = wireOf('ollama-chat')

/** What an item says, without where it stands; a result learns its tool's name from a call that may be gone. */
const said = ({ kind, text, callId, media }: Item): unknown => ({ kind, text, callId, media })
const allSaid = ({ head, items }: Conversation): unknown[] => [...head, ...items].map(said)
const isValid = (text: string): void => expect(codec.check(JSON.parse(text))).toEqual([])

describe('a body of Ollama’s own chat', () => {
  it('comes back byte for byte, and is told from the wires that it resembles', () => {
    property(arbitraryBodyText('ollama-chat'), (text) => {
      expect(codec.encode(codec.decode(text))).toMatchObject({ text, losses: [] })
      expect(detectFormat(text)).toBe('ollama-chat')
      isValid(text)
    })
  })

  it('loses what is dropped and nothing else', () => {
    property(fc.tuple(arbitraryBodyText('ollama-chat'), fc.array(fc.nat(), { maxLength: 4 })), ([text, places]) => {
      const before = codec.decode(text)
      const gone = new Set(places.map((at) => at % Math.max(1, before.items.length)))
      const items = before.items.filter((_, i) => !gone.has(i))
      const dropped = codec.encode({ ...before, items }).text
      expect(allSaid(codec.decode(dropped)).filter((one) => (one as Item).text !== '' || hasMore(one as Item))).toEqual(
        allSaid({ ...before, items }).filter((one) => (one as Item).text !== '' || hasMore(one as Item)),
      )
      isValid(dropped)
    })
  })

  it('shows the words of a picture that was taken out, behind those of its message', () => {
    const body = { model: 'm', messages: [{ role: 'user', content: 'See', images: ['aGk=', 'aG8='] }] }
    const before = codec.decode(JSON.stringify(body))
    const plan = [{ op: 'replace' as const, id: 'm0.1', text: '[picture]', reason: 'test' }]
    const { text } = codec.encode({ ...before, ...applyEdits(before, plan) })
    expect(JSON.parse(text)).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'See\n\n[picture]', images: ['aG8='] }],
    })
  })

  it('says its window, its cap, and that it streams unless it is told not to', () => {
    const settings = (extra: object): object =>
      codec.decode(JSON.stringify({ model: 'm', messages: [], ...extra })).settings
    expect(settings({ options: { num_ctx: 4_096, num_predict: 200 }, think: true })).toEqual({
      model: 'm',
      stream: true,
      reasoning: true,
      window: 4_096,
      maxOutputTokens: 200,
    })
    expect(settings({ stream: false, options: { num_predict: -1 } })).toEqual({
      model: 'm',
      stream: false,
      reasoning: false,
    })
  })

  it('takes tools, a cap and an instruction into its envelope', () => {
    const text = JSON.stringify({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      options: { num_ctx: 4_096 },
    })
    const changed = changeEnvelope(codec.decode(text), {
      maxOutputTokens: 99,
      addInstruction: 'Be brief.',
      addTools: [{ name: 'read', description: 'Reads.', parameters: { type: 'object' } }],
    })
    expect(JSON.parse(codec.encode(changed).text)).toEqual({
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
      options: { num_ctx: 4_096, num_predict: 99 },
      tools: [{ type: 'function', function: { name: 'read', description: 'Reads.', parameters: { type: 'object' } } }],
    })
    const without = codec.encode(changeEnvelope(codec.decode(codec.encode(changed).text), { keepTools: [] })).text
    expect(JSON.parse(without)).not.toHaveProperty('tools')
  })
})

const hasMore = ({ kind, media }: Item): boolean => kind === 'call' || kind === 'result' || media !== undefined

describe('an answer of Ollama’s', () => {
  const part: fc.Arbitrary<AnswerPart> = fc.oneof(
    words.map((text): AnswerPart => ({ kind: 'text', text })),
    words.map((text): AnswerPart => ({ kind: 'reasoning', text })),
    words.map((text): AnswerPart => ({ kind: 'call', text: JSON.stringify({ text }), id: 'c', name: 'read' })),
  )
  const head = { id: 'x', model: 'm', nowSeconds: 1 }

  it('says the same whole, as lines, and however the lines are cut', () => {
    property(fc.tuple(fc.array(part, { minLength: 1, maxLength: 4 }), fc.nat({ max: 50 })), ([parts, size]) => {
      const end = {
        parts,
        stop: 'end' as const,
        usage: { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      }
      const whole = codec.readResponse(answers.writer().whole(head, end))
      const text = eventsOf(answers.writer(), head, end).map(framing.write).join('')
      const [parser, frames, reducer] = [framing.parser(), framing.frames(), codec.stream()]
      const bytes = Buffer.from(text)
      let raw = ''
      for (let at = 0; at < bytes.length; at += size + 1) {
        const chunk = bytes.subarray(at, at + size + 1)
        parser.push(chunk).forEach((event) => reducer.push(event))
        raw += frames
          .push(chunk)
          .map((frame) => frame.raw)
          .join('')
      }
      parser.end().forEach((event) => reducer.push(event))
      raw += frames
        .end()
        .map((frame) => frame.raw)
        .join('')
      expect(raw).toBe(text)
      expect(reducer.done).toBe(true)
      const streamed = reducer.response()
      expect({ ...streamed, items: streamed.items.map(said) }).toEqual({ ...whole, items: whole.items.map(said) })
      expect(streamed.usage).toMatchObject({ input: 7, output: 3 })
    })
  })

  it('has an error in its stream as the server words it', () => {
    const reducer = codec.stream()
    framing
      .parser()
      .push(framing.write(answers.errorEvent(answers.error(500, 'upstream', 'model stopped'))))
      .forEach((event) => reducer.push(event))
    expect(reducer.error).toBe('model stopped')
  })
})
