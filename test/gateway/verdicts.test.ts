import type { SdkWire as Wire } from '../support/sdk-wires.ts'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { Budget } from '../../src/meter/index.ts'
import { say } from '../../src/testing/referee/index.ts'
import { stage, WAYS, type Stage } from '../sdks/ways.ts'

/** Asks once, streamed or not, with the vendor's own SDK, and gives back what it understood. */
const ASK: Readonly<Record<Wire, (on: Stage, stream: boolean) => Promise<string>>> = {
  async 'anthropic-messages'({ base, fetch }, stream) {
    const client = new Anthropic({ apiKey: 'k', baseURL: base, maxRetries: 0, ...(fetch && { fetch }) })
    const request = {
      model: 'claude-opus-4-6',
      max_tokens: 500,
      messages: [{ role: 'user' as const, content: 'Hi' }],
      tools: [{ name: 'log', input_schema: { type: 'object' as const } }],
    }
    const answer = stream ? await client.messages.stream(request).finalMessage() : await client.messages.create(request)
    expect(answer.stop_reason).toBe('end_turn')
    return answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  },
  async 'openai-chat'({ base, fetch }, stream) {
    const client = new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch && { fetch }) })
    const request = {
      model: 'gpt-4.1',
      messages: [{ role: 'user' as const, content: 'Hi' }],
      tools: [{ type: 'function' as const, function: { name: 'log' } }],
    }
    const answer = stream
      ? await client.chat.completions.stream(request).finalChatCompletion()
      : await client.chat.completions.create(request)
    expect(answer.choices[0]!.finish_reason).toBe('stop')
    return answer.choices[0]!.message.content ?? ''
  },
  async 'openai-responses'({ base, fetch }, stream) {
    const client = new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch && { fetch }) })
    const request = {
      model: 'gpt-5.2',
      input: 'Hi',
      tools: [{ type: 'function' as const, name: 'log', parameters: { type: 'object' }, strict: false }],
    }
    const answer = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request)
    expect(answer.status).toBe('completed')
    return answer.output_text
  },
  async gemini({ base, fetch }, stream) {
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base, ...(fetch && { fetch }) } })
    const request = {
      model: 'gemini-2.5-pro',
      contents: 'Hi',
      config: { tools: [{ functionDeclarations: [{ name: 'log' }] }] },
    }
    if (!stream) return (await client.models.generateContent(request)).text ?? ''
    let text = ''
    for await (const chunk of await client.models.generateContentStream(request)) text += chunk.text ?? ''
    return text
  },
}

/** Nothing may be spent at all. */
const spent: Budget = { name: 'nothing', scope: 'session', unit: 'tokens', hard: 1, finalShare: 0 }

describe.each(Object.keys(ASK) as Wire[])('a budget that is used up, on %s', (wire) => {
  it.each(WAYS.flatMap((way) => [true, false].map((stream) => [way, stream] as const)))(
    'becomes an answer that the SDK understands, through the %s (streamed: %s)',
    async (way, stream) => {
      const on = await stage(way, { referee: { wire }, plimsoll: { budgets: [spent] } })
      expect(await ASK[wire](on, stream)).toMatch(/^Plimsoll stopped this run before the model was called/)
      expect(on.referee.log.filter((exchange) => exchange.kind === 'generate')).toEqual([])
      expect(on.events.find((event) => event.type === 'verdict-given')).toMatchObject({ verdict: { kind: 'halt' } })
    },
  )
})

/** Whatever is spent is too much: one answer, a closing one, and then none. */
const meagre: Budget = { name: 'meagre', scope: 'session', unit: 'tokens', hard: 1, enforce: 'settled' }

/** How each wire says that no tool may be called. */
const NO_TOOLS: Readonly<Record<Wire, object>> = {
  'anthropic-messages': { tool_choice: { type: 'none' } },
  'openai-chat': { tool_choice: 'none' },
  'openai-responses': { tool_choice: 'none' },
  gemini: { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
}

describe.each(Object.keys(ASK) as Wire[])('a run that comes to its end, on %s', (wire) => {
  it.each(WAYS.flatMap((way) => [true, false].map((stream) => [way, stream] as const)))(
    'gets an answer, a closing answer, and a halt, each of them valid and with its headers, through the %s (streamed: %s)',
    async (way, stream) => {
      const on = await stage(way, {
        referee: { wire, script: [say('First.'), say('All that I found.')] },
        plimsoll: { budgets: [meagre] },
      })
      const headers: Headers[] = []
      const real = on.fetch ?? globalThis.fetch
      const watching: typeof globalThis.fetch = async (input, init) => {
        // The same question three times is three conversations, unless somebody says that it is one.
        const named = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}))
        named.set('x-plimsoll-session', 'run')
        const response = await real(input, { ...init, headers: named })
        headers.push(response.headers)
        return response
      }
      const watched = { ...on, fetch: watching }
      expect(await ASK[wire](watched, stream)).toBe('First.')
      expect(await ASK[wire](watched, stream)).toBe('All that I found.')
      expect(await ASK[wire](watched, stream)).toMatch(/^Plimsoll stopped this run.*Budget "meagre" allows 1/)
      expect(headers.map((one) => one.get('x-plimsoll-verdict'))).toEqual(['proceed', 'final', 'halt'])
      for (const one of headers) {
        expect(Number(one.get('x-plimsoll-load'))).toBeGreaterThan(0)
        expect(Number(one.get('x-plimsoll-limit'))).toBeGreaterThan(0)
        expect(one.get('x-plimsoll-saved')).toBe('0')
        expect(one.get('x-plimsoll-session')).toBe(headers[0]!.get('x-plimsoll-session'))
      }
      expect(on.referee.summary()).toMatchObject({ answered: 2, invalid: 0 })
      const [, closing] = on.referee.log
      expect(closing!.body).toMatchObject(NO_TOOLS[wire])
      expect(Buffer.from(closing!.raw).toString()).toContain('Answer now with what you have')
      expect(headers[2]!.get('content-type')).toContain(stream ? 'text/event-stream' : 'application/json')
    },
  )
})
