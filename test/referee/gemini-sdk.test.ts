import { type Content, type FunctionDeclaration, ApiError, GoogleGenAI } from '@google/genai'
import { afterEach, describe, expect, it } from 'vitest'
import {
  call,
  calls,
  overlong,
  refuse,
  say,
  startReferee,
  think,
  type RunningReferee,
  type StartRefereeOptions,
} from '../../src/testing/referee/index.ts'

const MODEL = 'gemini-3-pro-preview'
const functionDeclarations: FunctionDeclaration[] = [{ name: 'bash', parametersJsonSchema: { type: 'object' } }]
const config = { tools: [{ functionDeclarations }] }
const user = (text: string): Content => ({ role: 'user', parts: [{ text }] })

const running: RunningReferee[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((referee) => referee.close()))
})

// This SDK takes no fetch of its own, so it is tried over a socket only.
async function clientFor(options: Omit<StartRefereeOptions, 'wire'>) {
  const referee = await startReferee({ wire: 'gemini', ...options })
  running.push(referee)
  return { referee, client: new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: referee.url } }) }
}

describe('gemini referee with the real SDK', () => {
  it('runs a tool loop with parallel calls, streaming, in chunks that split characters and events', async () => {
    const script = [
      calls([{ name: 'bash', input: { command: 'ls “höhe” 🚀' } }, { name: 'bash' }], 'Ich prüfe 🚢, ob alles da ist.'),
      call('bash', { command: 'cat a' }),
      say('Fertig ✅'),
    ]
    const { client, referee } = await clientFor({ script, chunkBytes: 7, keepAliveEvery: 2 })
    const contents: Content[] = [user('Go')]
    let text = ''
    for (let step = 0; step < 3; step += 1) {
      const stream = await client.models.generateContentStream({ model: MODEL, contents, config })
      const parts: NonNullable<Content['parts']> = []
      let prompt: number | undefined
      text = ''
      for await (const chunk of stream) {
        parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []).filter((part) => part.text !== ''))
        prompt = chunk.usageMetadata?.promptTokenCount ?? prompt
        for (const part of chunk.candidates?.[0]?.content?.parts ?? []) text += part.text ?? ''
      }
      expect(prompt).toBe(referee.log[step]?.inputTokens)
      contents.push({ role: 'model', parts })
      const responses = parts.flatMap(({ functionCall }) =>
        functionCall === undefined
          ? []
          : [
              {
                functionResponse: {
                  id: functionCall.id ?? '',
                  name: functionCall.name ?? '',
                  response: { output: 'ok' },
                },
              },
            ],
      )
      if (responses.length > 0) contents.push({ role: 'user', parts: responses })
    }
    expect(text).toBe('Fertig ✅')
    expect(contents[1]?.parts?.flatMap((part) => part.functionCall?.args ?? [])[0]).toEqual({ command: 'ls “höhe” 🚀' })
    expect(referee.summary()).toMatchObject({ answered: 3, invalid: 0, overflows: 0, cacheBreaks: 0 })
  })

  it('asks Gemini 3 clients for the signature, byte for byte', async () => {
    const { client, referee } = await clientFor({ script: [call('bash', { command: 'ls' })] })
    const first = await client.models.generateContent({ model: MODEL, contents: [user('Go')], config })
    const [part] = first.candidates?.[0]?.content?.parts ?? []
    if (part?.functionCall === undefined) throw new Error('no call')
    const send = (model: string, changed: typeof part) =>
      client.models.generateContent({
        model,
        config,
        contents: [
          user('Go'),
          { role: 'model', parts: [changed] },
          { role: 'user', parts: [{ functionResponse: { name: 'bash', response: { output: 'a' } } }] },
        ],
      })
    const { thoughtSignature: signature = '', ...unsigned } = part
    await expect(send(MODEL, unsigned)).rejects.toThrow(/rule: signature-present/)
    await expect(send('gemini-2.5-pro', unsigned)).resolves.toBeDefined()
    await expect(send(MODEL, { ...unsigned, thoughtSignature: 'Zm9yZ2Vk' })).rejects.toThrow(/rule: signature-valid/)
    const other = { ...part, functionCall: { ...part.functionCall, args: { command: 'rm' } } }
    await expect(send(MODEL, other)).rejects.toThrow(/rule: signature-valid/)
    await expect(
      send(MODEL, { ...unsigned, thoughtSignature: 'skip_thought_signature_validator' }),
    ).resolves.toBeDefined()
    await expect(send(MODEL, { ...unsigned, thoughtSignature: signature })).resolves.toBeDefined()
    expect(referee.summary().invalid).toBe(3)
  })

  it('refuses a prompt that does not fit, and counts as it does for real', async () => {
    const { client, referee } = await clientFor({ window: 1_000, tokenizer: (text) => text.length })
    const failed = client.models.generateContent({ model: MODEL, contents: [user('x'.repeat(2_000))] })
    await expect(failed).rejects.toBeInstanceOf(ApiError)
    await expect(failed).rejects.toThrow(
      /The input token count \(2001\) exceeds the maximum number of tokens allowed \(1000\)/,
    )
    await client.models.generateContent({ model: MODEL, contents: [user('short')] })
    const counted = await client.models.countTokens({ model: MODEL, contents: [user('short')] })
    expect(counted.totalTokens).toBe(referee.log[1]?.inputTokens)
  })

  it('hands out thoughts when asked, refusals and length stops', async () => {
    const { client } = await clientFor({ script: [think('Hm, let me see.', say('Yes.')), refuse(), overlong()] })
    const thoughtful = { thinkingConfig: { includeThoughts: true } }
    const first = await client.models.generateContent({ model: MODEL, contents: [user('Hi')], config: thoughtful })
    expect(first.candidates?.[0]?.content?.parts).toMatchObject([{ thought: true }, { text: 'Yes.' }])
    const {
      candidatesTokenCount = 0,
      thoughtsTokenCount = 0,
      promptTokenCount = 0,
      totalTokenCount,
    } = first.usageMetadata ?? {}
    expect(thoughtsTokenCount).toBeGreaterThan(0)
    expect(totalTokenCount).toBe(promptTokenCount + candidatesTokenCount + thoughtsTokenCount)
    const second = await client.models.generateContent({ model: MODEL, contents: [user('Hi')] })
    expect(second.candidates?.[0]?.finishReason).toBe('SAFETY')
    const third = await client.models.generateContent({
      model: MODEL,
      contents: [user('Hi')],
      config: { maxOutputTokens: 10 },
    })
    expect(third.candidates?.[0]?.finishReason).toBe('MAX_TOKENS')
  })

  it('lists models', async () => {
    const { client } = await clientFor({ models: ['a'] })
    const pager = await client.models.list()
    expect(pager.page.map(({ name }) => name)).toEqual(['models/a'])
  })
})
