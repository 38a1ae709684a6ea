import { type Content, type FunctionDeclaration, ApiError, GoogleGenAI } from '@google/genai'
import { describe, expect, it } from 'vitest'
import { call, calls, say, type Script } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, WAYS, type Stage } from './ways.ts'

const MODEL = 'gemini-3-pro-preview'
const functionDeclarations: FunctionDeclaration[] = [{ name: 'read_log', parametersJsonSchema: { type: 'object' } }]
const config = { tools: [{ functionDeclarations }], maxOutputTokens: 512 }

const clientOf = ({ base, fetch }: Stage): GoogleGenAI =>
  new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: base, ...(fetch !== undefined && { fetch }) } })

async function loop(client: GoogleGenAI): Promise<string> {
  const contents: Content[] = [{ role: 'user', parts: [{ text: 'Find out why checkout is slow.' }] }]
  for (let step = 1; ; step++) {
    const parts: NonNullable<Content['parts']> = []
    for await (const chunk of await client.models.generateContentStream({ model: MODEL, contents, config })) {
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []).filter((part) => part.text !== ''))
    }
    contents.push({ role: 'model', parts })
    const uses = parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]))
    if (uses.length === 0) return parts.map((part) => part.text ?? '').join('')
    contents.push({
      role: 'user',
      parts: uses.map(({ id = '', name = '' }, i) => ({
        functionResponse: { id, name, response: { output: toolOutput(step * 3 + i) } },
      })),
    })
  }
}

const longScript =
  (turns: number): Script =>
  ({ number }) => {
    if (number >= turns) return say('Done.')
    const one = { name: 'read_log', input: { step: number } }
    return number % 5 === 0 ? calls([one, one, one], 'Three at once.') : call('read_log', { step: number })
  }

describe.each(WAYS)('@google/genai through the %s', (way) => {
  it('runs a hundred turns in an 8k window without one refused request', async () => {
    const on = await stage(way, {
      referee: { wire: 'gemini', window: 8_000, script: longScript(100) },
      plimsoll: { window: 8_000 },
    })
    expect(await loop(clientOf(on))).toBe('Done.')
    expect(on.referee.summary()).toMatchObject({ answered: 100, overflows: 0, invalid: 0, faults: 0 })
  })

  it('recovers an overflow, streamed', async () => {
    const on = await stage(way, {
      referee: { wire: 'gemini', window: 6_000, script: longScript(30) },
      plimsoll: { window: 1_000_000 },
    })
    expect(await loop(clientOf(on))).toBe('Done.')
    expect(on.referee.summary()).toMatchObject({ answered: 30, overflows: 1, invalid: 0 })
  })

  it('counts tokens, answers whole, and hands errors on', async () => {
    const on = await stage(way, { referee: { wire: 'gemini', faults: [{ on: 3, fault: { kind: 'server-error' } }] } })
    const client = clientOf(on)
    expect((await client.models.countTokens({ model: MODEL, contents: 'Hello' })).totalTokens).toBeGreaterThan(0)
    expect((await client.models.generateContent({ model: MODEL, contents: 'Hello' })).text).toBe('Done.')
    await expect(client.models.generateContent({ model: MODEL, contents: 'Hello' })).rejects.toBeInstanceOf(ApiError)
  })
})
