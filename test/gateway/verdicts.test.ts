import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { Budget } from '../../src/meter/index.ts'
import type { Wire } from '../../src/testing/referee/index.ts'
import { stage, WAYS, type Stage } from '../sdks/ways.ts'

/** Asks once, streamed or not, with the vendor's own SDK, and gives back what it understood. */
const ASK: Readonly<Record<Wire, (on: Stage, stream: boolean) => Promise<string>>> = {
  async 'anthropic-messages'({ base, fetch }, stream) {
    const client = new Anthropic({ apiKey: 'k', baseURL: base, maxRetries: 0, ...(fetch && { fetch }) })
    const request = { model: 'claude-opus-4-6', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hi' }] }
    const answer = stream ? await client.messages.stream(request).finalMessage() : await client.messages.create(request)
    expect(answer.stop_reason).toBe('end_turn')
    return answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  },
  async 'openai-chat'({ base, fetch }, stream) {
    const client = new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch && { fetch }) })
    const request = { model: 'gpt-4.1', messages: [{ role: 'user' as const, content: 'Hi' }] }
    const answer = stream
      ? await client.chat.completions.stream(request).finalChatCompletion()
      : await client.chat.completions.create(request)
    expect(answer.choices[0]!.finish_reason).toBe('stop')
    return answer.choices[0]!.message.content ?? ''
  },
  async 'openai-responses'({ base, fetch }, stream) {
    const client = new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch && { fetch }) })
    const request = { model: 'gpt-5.2', input: 'Hi' }
    const answer = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request)
    expect(answer.status).toBe('completed')
    return answer.output_text
  },
  async gemini({ base, fetch }, stream) {
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base, ...(fetch && { fetch }) } })
    const request = { model: 'gemini-2.5-pro', contents: 'Hi' }
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
