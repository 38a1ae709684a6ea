import OpenAI from 'openai'
import type { FunctionTool, ResponseInput, ResponseInputItem } from 'openai/resources/responses/responses'
import { afterEach, describe, expect, it } from 'vitest'
import {
  call,
  calls,
  createReferee,
  overlong,
  say,
  startReferee,
  think,
  type RunningReferee,
  type StartRefereeOptions,
} from '../../src/testing/referee/index.ts'

const MODEL = 'gpt-5.2'
const tools: FunctionTool[] = [{ type: 'function', name: 'bash', strict: false, parameters: { type: 'object' } }]
const go: ResponseInputItem = { role: 'user', content: 'Go' }
const output = (call_id: string): ResponseInputItem => ({ type: 'function_call_output', call_id, output: 'ok' })

const running: RunningReferee[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((referee) => referee.close()))
})

async function clientFor(way: 'in-process' | 'http', options: Omit<StartRefereeOptions, 'wire'>) {
  const all = { wire: 'openai-responses', ...options } as const
  if (way === 'in-process') {
    const referee = createReferee(all)
    return { referee, client: new OpenAI({ apiKey: 'key', maxRetries: 0, fetch: referee.fetch }) }
  }
  const referee = await startReferee(all)
  running.push(referee)
  return { referee, client: new OpenAI({ apiKey: 'key', maxRetries: 0, baseURL: `${referee.url}/v1` }) }
}

const stateless = { model: MODEL, tools, store: false, include: ['reasoning.encrypted_content' as const] }

describe.each(['in-process', 'http'] as const)('openai-responses referee with the real SDK, %s', (way) => {
  it('runs a stateless tool loop with sealed reasoning, streaming, in chunks that split characters and events', async () => {
    const script = [
      think('Erst prüfen 🤔', calls([{ name: 'bash', input: { command: 'ls “höhe” 🚀' } }, { name: 'bash' }])),
      think('Noch eins.', call('bash', { command: 'cat a' })),
      say('Fertig ✅'),
    ]
    const { client, referee } = await clientFor(way, { script, chunkBytes: 7, keepAliveEvery: 3 })
    const input: ResponseInput = [go]
    let text = ''
    for (let step = 0; step < 3; step += 1) {
      const stream = client.responses.stream({ ...stateless, input })
      const response = await stream.finalResponse()
      expect(response.usage?.input_tokens).toBe(referee.log[step]?.inputTokens)
      for (const item of response.output) {
        const { parsed_arguments: _unused, ...plain } = item as typeof item & { parsed_arguments?: unknown }
        input.push(plain as ResponseInputItem)
      }
      for (const item of response.output) if (item.type === 'function_call') input.push(output(item.call_id))
      text = response.output_text
    }
    expect(text).toBe('Fertig ✅')
    expect(input[2]).toMatchObject({ type: 'function_call', arguments: '{"command":"ls “höhe” 🚀"}' })
    expect(referee.summary()).toMatchObject({ answered: 3, invalid: 0, overflows: 0, cacheBreaks: 0 })
  })

  it('holds a call to its reasoning and reasoning to its call', async () => {
    const { client, referee } = await clientFor(way, { script: [think('Hm.', call('bash'))] })
    const first = await client.responses.create({ ...stateless, input: [go] })
    const [reasoning, use] = first.output
    if (reasoning?.type !== 'reasoning' || use?.type !== 'function_call') throw new Error('unexpected answer')
    const send = (...items: ResponseInput) => client.responses.create({ ...stateless, input: [go, ...items] })
    await expect(send(use, output(use.call_id))).rejects.toThrow(/rule: call-has-reasoning/)
    await expect(send(reasoning, go)).rejects.toThrow(/rule: reasoning-followed/)
    await expect(send(reasoning, use)).rejects.toThrow(/rule: calls-answered/)
    const forged = { ...reasoning, encrypted_content: `${String(reasoning.encrypted_content).slice(0, -8)}AAAAAAA=` }
    await expect(send(forged, use, output(use.call_id))).rejects.toMatchObject({ code: 'invalid_encrypted_content' })
    await expect(send(reasoning, use, output(use.call_id))).resolves.toBeDefined()
    expect(referee.summary()).toMatchObject({ invalid: 4, answered: 2 })
  })

  it('continues a stored response, and only with what is new', async () => {
    const { client, referee } = await clientFor(way, { script: [think('Hm.', call('bash')), say('Done.')] })
    const first = await client.responses.create({ model: MODEL, tools, input: [go] })
    const use = first.output.find((item) => item.type === 'function_call')
    if (use === undefined) throw new Error('no call')
    const chained = { model: MODEL, tools, previous_response_id: first.id }
    await expect(client.responses.create({ ...chained, input: [go] })).rejects.toThrow(/rule: calls-answered/)
    await expect(client.responses.create({ ...chained, input: [use, output(use.call_id)] })).rejects.toThrow(
      /rule: unique-item-ids/,
    )
    const second = await client.responses.create({ ...chained, input: [output(use.call_id)] })
    expect(second.output_text).toBe('Done.')
    expect(referee.log.at(-1)?.inputTokens).toBeGreaterThan(referee.log[0]?.inputTokens ?? Infinity)
    const lost = client.responses.create({ model: MODEL, previous_response_id: 'resp_unknown', input: [go] })
    await expect(lost).rejects.toMatchObject({ code: 'previous_response_not_found' })
  })

  it('compacts into a sealed item that stands for the history', async () => {
    const { client, referee } = await clientFor(way, { script: () => say('ok') })
    const input: ResponseInput = [
      go,
      { role: 'assistant', content: 'word '.repeat(4_000) },
      { role: 'user', content: 'More' },
    ]
    const compacted = await client.responses.compact({ model: MODEL, input })
    expect(compacted.output.map(({ type }) => type)).toEqual([undefined, undefined, 'compaction'])
    const next = [...compacted.output, { role: 'user', content: 'On' }] as ResponseInput
    await client.responses.create({ model: MODEL, input: next })
    expect(referee.log[1]?.inputTokens).toBeLessThan((referee.log[0]?.inputTokens ?? 0) / 5)
    const blob = compacted.output.at(-1) as unknown as { encrypted_content: string }
    const tampered = { ...blob, encrypted_content: `x${blob.encrypted_content}` } as unknown as ResponseInputItem
    await expect(client.responses.create({ model: MODEL, input: [tampered, go] })).rejects.toThrow(
      /rule: compaction-unsealed/,
    )
  })

  it('refuses a prompt that does not fit, counts tokens, and stops at the cap', async () => {
    const { client, referee } = await clientFor(way, {
      window: 1_000,
      tokenizer: (text) => text.length,
      script: [overlong()],
    })
    const long = { model: MODEL, input: 'x'.repeat(2_000) }
    await expect(client.responses.create(long)).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' })
    const response = await client.responses.create({ model: MODEL, input: 'short', max_output_tokens: 20 })
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    const counted = await client.responses.inputTokens.count({ model: MODEL, input: 'short' })
    expect(counted.input_tokens).toBe(referee.log[1]?.inputTokens)
  })
})
