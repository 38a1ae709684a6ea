import { describe, expect, it } from 'vitest'
import { createPlimsoll, type PlimsollEvent } from '../../src/index.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { words } from '../learning/words.ts'

const WINDOW = 60_000
/** What the model has to say at one place, and what the client lets it say. */
const NEEDED = 12_000
const ASKED = 16_000

const CHARACTERS_PER_TOKEN = 4

interface Body {
  readonly max_tokens: number
  readonly stream?: boolean
}

interface Case {
  readonly url: string
  request(steps: number): object
  answer(input: number, output: number, isCut: boolean): object
}

const WIRES: Readonly<Record<string, Case>> = {
  'anthropic-messages': {
    url: 'https://api.anthropic.com/v1/messages',
    request: (steps) => ({ ...toolLoop({ steps, resultLength: 6_000, maxTokens: ASKED }), model: 'claude-opus-4-1' }),
    answer: (input, output, isCut) => ({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: isCut ? 'half of it' : 'all of it' }],
      stop_reason: isCut ? 'max_tokens' : 'end_turn',
      usage: { input_tokens: input, output_tokens: output },
    }),
  },
  'openai-chat': {
    url: 'https://api.openai.com/v1/chat/completions',
    request: (steps) => ({
      model: 'gpt-4o',
      max_tokens: ASKED,
      messages: [
        { role: 'user', content: 'Read all of it.' },
        ...Array.from({ length: steps }, (_, step) => [
          { role: 'assistant', content: words(step, 6_000) },
          { role: 'user', content: `And then ${step}?` },
        ]).flat(),
      ],
    }),
    answer: (input, output, isCut) => ({
      id: 'c',
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: isCut ? 'half of it' : 'all of it' },
          finish_reason: isCut ? 'length' : 'stop',
        },
      ],
      usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    }),
  },
}

describe('an answer that a lowered cap would cut', () => {
  it.each(Object.keys(WIRES))('%s: is asked for again with room made, and both calls are paid for', async (name) => {
    const { url, request, answer } = WIRES[name]!
    const events: PlimsollEvent[] = []
    const caps: number[] = []
    const billed: number[] = []
    const plimsoll = createPlimsoll({
      store: 'memory:',
      artifacts: 'memory:',
      window: WINDOW,
      onEvent: (event) => events.push(event),
      // oxlint-disable-next-line typescript/require-await -- a transport is asynchronous
      fetch: async (_url, init) => {
        const text = Buffer.from(init?.body as Uint8Array).toString()
        const { max_tokens: cap } = JSON.parse(text) as Body
        const input = Math.round(text.length / CHARACTERS_PER_TOKEN)
        const isCut = cap < NEEDED
        caps.push(cap)
        billed.push(isCut ? cap : NEEDED)
        return Response.json(answer(input, isCut ? cap : NEEDED, isCut))
      },
    })
    const headers = { 'content-type': 'application/json', 'x-plimsoll-session': 's', authorization: 'Bearer k' }
    // Long enough that only a lowered cap fits beside it, in a conversation of which no answer was seen.
    for (let steps = 20; !(caps[0]! < NEEDED); steps++) {
      expect(steps).toBeLessThan(60)
      caps.length = billed.length = events.length = 0
      const response = await plimsoll.fetch(url, {
        method: 'POST',
        headers: { ...headers, 'x-plimsoll-session': `s${steps}` },
        body: JSON.stringify(request(steps)),
      })
      expect(await response.text()).toContain('all of it')
    }
    expect(caps[0]).toBeLessThan(NEEDED)
    expect(caps).toHaveLength(2)
    expect(caps[1]).toBeGreaterThanOrEqual(NEEDED)
    const outputs = events.flatMap((event) => (event.type === 'usage-recorded' ? [event.usage.output] : []))
    await plimsoll.close()
    expect(outputs).toEqual(billed)
    expect(events.filter((event) => event.type === 'warning' && event.topic === 'output-cut')).toHaveLength(1)
  })
})
