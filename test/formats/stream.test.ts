import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { wires } from '../../src/formats/registry.ts'
import type { ModelResponse, StreamEvent, StreamReducer } from '../../src/core/codec.ts'
import { stream as anthropicMessages } from '../../src/formats/anthropic-messages/answers.ts'
import { stream as gemini } from '../../src/formats/gemini/answers.ts'
import { stream as openaiChat } from '../../src/formats/openai-chat/answers.ts'
import { stream as openaiResponses } from '../../src/formats/openai-responses/answers.ts'

const STREAMS = {
  'anthropic-messages': anthropicMessages,
  gemini,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
}
type Wire = keyof typeof STREAMS

/** The events of a fixture; framing has tests of its own. */
function events(wire: Wire, name: string): StreamEvent[] {
  const text = readFileSync(join(import.meta.dirname, '../fixtures/wire', wire, `${name}.sse`), 'utf8')
  return text.split('\n\n').flatMap((block) => {
    const field = (key: string): string[] =>
      block.split('\n').flatMap((line) => (line.startsWith(`${key}: `) ? [line.slice(key.length + 2)] : []))
    const [event] = field('event')
    const data = field('data')
    return data.length === 0 ? [] : [{ data: data.join('\n'), ...(event !== undefined && { event }) }]
  })
}

function run(wire: Wire, name: string): StreamReducer {
  const reducer = STREAMS[wire]()
  for (const event of events(wire, name)) reducer.push(event)
  return reducer
}

const lines = ({ items }: ModelResponse): string[] =>
  items.map(({ kind, callId, toolName, text }) =>
    [kind, callId, toolName, text].filter((one) => one !== undefined).join(' '),
  )

describe('openai-chat', () => {
  it('puts parallel calls together from split deltas, with the usage of the last chunk', () => {
    const reducer = run('openai-chat', 'parallel-calls')
    expect(reducer.error).toBeUndefined()
    const response = reducer.response()
    expect(lines(response)).toEqual(['call call_a read {"path":"a.log"}', 'call call_b read {"path":"b.log"}'])
    expect(response).toMatchObject({
      id: 'chatcmpl-1',
      model: 'gpt-4o-mini-2024-07-18',
      stop: 'tool-use',
      usage: { input: 1200, cacheRead: 1024, cacheWrite: 0, output: 40, reasoning: 0 },
    })
  })

  it('is done at [DONE] and not before', () => {
    const reducer = openaiChat()
    const all = events('openai-chat', 'parallel-calls')
    for (const event of all.slice(0, -1)) reducer.push(event)
    expect(reducer.done).toBe(false)
    reducer.push(all.at(-1)!)
    expect(reducer.done).toBe(true)
  })

  it('reads reasoning in the fields of compatible vendors', () => {
    const plain = run('openai-chat', 'reasoning-content').response()
    expect(lines(plain)).toEqual(['reasoning Let me see.', 'assistant It is B4 🚢.'])
    expect(plain.usage).toEqual({ input: 50, cacheRead: 48, cacheWrite: 0, output: 30, reasoning: 12 })
    const structured = run('openai-chat', 'reasoning-details').response()
    expect(lines(structured)).toEqual(['reasoning Let me.', 'assistant Done.'])
    expect(structured.items[0]!.sealed).toBe(true)
  })

  it('says nothing about usage that never came, and takes zeros for nothing', () => {
    const cut = run('openai-chat', 'no-usage')
    expect(cut.done).toBe(false)
    expect(cut.response()).toEqual({
      id: 'chatcmpl-1',
      model: 'gpt-4o-mini-2024-07-18',
      items: [{ id: 'r.0', role: 'assistant', message: 0, kind: 'assistant', text: 'Half an ans' }],
      stop: 'unknown',
    })
    expect(run('openai-chat', 'calls-without-index').response().usage).toBeUndefined()
  })

  it('keeps calls apart that come whole and without an index, and sees that tools are wanted', () => {
    const response = run('openai-chat', 'calls-without-index').response()
    expect(lines(response)).toEqual(['call x read {}', 'call y bash {"c":1}'])
    expect(response.stop).toBe('tool-use')
  })

  it('hands on an error inside the stream', () => {
    expect(run('openai-chat', 'error').error).toMatchObject({ type: 'server_error' })
  })

  it('reads refusals and the old function call', () => {
    expect(run('openai-chat', 'refusal').response()).toMatchObject({ stop: 'refusal', items: [{ text: 'I cannot.' }] })
    expect(lines(run('openai-chat', 'legacy-function').response())).toEqual(['call read {"a":1}'])
  })
})

describe('openai-responses', () => {
  const expected = ['reasoning Two files.', 'call call_a read {"path":"a.log"}', 'call call_b read {"path":"b.log"}']
  const usage = { input: 900, cacheRead: 512, cacheWrite: 0, output: 70, reasoning: 40 }

  it.each(['parallel-calls', 'empty-closing-list'])('reads reasoning and parallel calls (%s)', (name) => {
    const reducer = run('openai-responses', name)
    expect(reducer.done).toBe(true)
    expect(lines(reducer.response())).toEqual(expected)
    expect(reducer.response()).toMatchObject({ id: 'resp_1', stop: 'tool-use', usage })
  })

  it('rebuilds a cut stream from its deltas', () => {
    const reducer = run('openai-responses', 'cut')
    expect(reducer.done).toBe(false)
    expect(lines(reducer.response())).toEqual(expected)
    expect(reducer.response().usage).toBeUndefined()
  })

  it('reads text', () => {
    const response = run('openai-responses', 'text').response()
    expect(lines(response)).toEqual(['assistant It is B4 🚢.'])
    expect(response).toMatchObject({ stop: 'end', usage })
  })

  it('tells a cut answer from a failed one', () => {
    const incomplete = run('openai-responses', 'incomplete')
    expect(incomplete.response().stop).toBe('length')
    expect(incomplete.error).toBeUndefined()
    const failed = run('openai-responses', 'failed')
    expect(failed.response().stop).toBe('error')
    expect(failed.error).toMatchObject({ code: 'server_error' })
    expect(lines(failed.response())).toEqual(['assistant It is B4 🚢.'])
  })

  it('hands on an error event', () => {
    expect(run('openai-responses', 'error').error).toMatchObject({ code: 'rate_limit_exceeded' })
  })

  it('reads refusals, zero usage and custom tools', () => {
    const refusal = run('openai-responses', 'refusal').response()
    expect(refusal).toMatchObject({ stop: 'refusal', items: [{ kind: 'assistant', text: 'I cannot.' }] })
    expect(refusal.usage).toBeUndefined()
    expect(lines(run('openai-responses', 'custom-tool').response())).toEqual(['call call_c patch *** Begin'])
  })
})

describe('gemini', () => {
  const usage = { input: 800, cacheRead: 600, cacheWrite: 0, output: 50, reasoning: 30 }

  it('joins chunks of thoughts and of text, and keeps the signature by itself', () => {
    const reducer = run('gemini', 'text')
    expect(reducer.done).toBe(true)
    expect(lines(reducer.response())).toEqual(['reasoning Let me see.', 'assistant It is B4 🚢.', 'reasoning '])
    expect(reducer.response()).toMatchObject({ id: 'r1', model: 'gemini-3-pro', stop: 'end', usage })
  })

  it('reads parallel calls over several chunks', () => {
    const response = run('gemini', 'parallel-calls').response()
    expect(lines(response)).toEqual(['assistant Both.', 'call read {"path":"a.log"}', 'call read {"path":"b.log"}'])
    expect(response.stop).toBe('tool-use')
    expect(response.items.map((item) => item.sealed)).toEqual([undefined, true, undefined])
  })

  it('tells a blocked prompt, a cut answer and zero usage', () => {
    const blocked = run('gemini', 'blocked')
    expect(blocked.done).toBe(true)
    expect(blocked.response()).toMatchObject({ stop: 'refusal', items: [], usage: { input: 12, output: 0 } })
    expect(run('gemini', 'length').response()).toMatchObject({ stop: 'length' })
    expect(run('gemini', 'length').response().usage).toBeUndefined()
  })

  it('hands on an error and unwraps Code Assist', () => {
    expect(run('gemini', 'error').error).toMatchObject({ status: 'UNAVAILABLE' })
    expect(run('gemini', 'code-assist').response()).toMatchObject({ stop: 'end', items: [{ text: 'Wrapped.' }], usage })
  })
})

describe('anthropic-messages', () => {
  it('reads thinking, text and parallel calls, with the cached tokens inside the input', () => {
    const reducer = run('anthropic-messages', 'thinking-and-calls')
    expect(reducer.done).toBe(true)
    const response = reducer.response()
    expect(lines(response)).toEqual([
      'reasoning Two files.',
      'assistant Both 🚢.',
      'call toolu_a read {"path":"a.log"}',
      'call toolu_b read {}',
    ])
    expect(response).toMatchObject({
      stop: 'tool-use',
      usage: { input: 2110, cacheRead: 2000, cacheWrite: 100, output: 60, reasoning: 0 },
    })
  })

  it('hands on an error event and keeps what a cut stream had', () => {
    expect(run('anthropic-messages', 'error').error).toMatchObject({ type: 'overloaded_error' })
    const cut = run('anthropic-messages', 'cut')
    expect(cut.done).toBe(false)
    expect(lines(cut.response())).toEqual(['call toolu_a read {"partial":"{\\"path\\": \\"a"}'])
    expect(cut.response().usage).toBeUndefined()
  })
})

describe.each(Object.keys(STREAMS) as Wire[])('%s', (wire) => {
  it.each([
    '',
    'not json',
    '[]',
    '"text"',
    'null',
    '{}',
    '{"type":7}',
    '{"choices":"x","candidates":{}}',
    '{"delta":[]}',
  ])('ignores noise: %s', (data) => {
    const reducer = STREAMS[wire]()
    reducer.push({ data })
    expect(reducer.done).toBe(false)
    expect(reducer.error).toBeUndefined()
    expect(reducer.response().items).toEqual([])
  })

  it('does not walk over the holes that a huge index leaves', () => {
    const far = 4_000_000_000
    const reducer = STREAMS[wire]()
    const payloads = [
      { type: 'content_block_start', index: far, content_block: { type: 'text', text: 'x' } },
      { choices: [{ delta: { tool_calls: [{ index: far, id: 'a', function: { name: 'b', arguments: '{}' } }] } }] },
      { type: 'response.output_text.delta', output_index: far, content_index: far, delta: 'x' },
      {
        candidates: [
          {
            content: {
              parts: [{ functionCall: { name: 'b', partialArgs: [{ jsonPath: '$.a[4000000000]', boolValue: true }] } }],
            },
          },
        ],
      },
    ]
    for (const payload of payloads) reducer.push({ data: JSON.stringify(payload) })
    expect(reducer.response().items).toHaveLength(1)
  })

  it('gives the same answer whenever it is asked', () => {
    const name = wire === 'anthropic-messages' ? 'thinking-and-calls' : 'parallel-calls'
    const asked = STREAMS[wire]()
    for (const event of events(wire, name)) {
      asked.push(event)
      asked.response()
    }
    expect(asked.response()).toEqual(run(wire, name).response())
  })
})

describe('numbers that an upstream chose', () => {
  /** A stream whose only part has this number, by wire. */
  const streams: Readonly<Record<string, (index: number) => readonly object[]>> = {
    'anthropic-messages': (index) => [
      { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index, delta: { type: 'text_delta', text: 'Hello' } },
    ],
    'openai-chat': (index) => [
      {
        choices: [
          { index: 0, delta: { tool_calls: [{ index, id: 'a', function: { name: 'bash', arguments: '{}' } }] } },
        ],
      },
    ],
    'openai-responses': (output_index) => [
      { type: 'response.output_item.added', output_index, item: { type: 'message', id: 'm' } },
      { type: 'response.output_item.done', output_index, item: { type: 'message', id: 'm' } },
    ],
  }

  it.each(Object.keys(streams))('leave no holes between the parts: %s', (format) => {
    const { codec, steps } = wires.find((wire) => wire.codec.format === format)!
    const stream = codec.stream()
    for (const data of streams[format]!(1_000_000)) stream.push({ data: JSON.stringify(data) })
    expect(steps.partsOf(stream.body())).toHaveLength(1)
  })
})
