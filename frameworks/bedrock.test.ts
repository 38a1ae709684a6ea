import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock'
import { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk'
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
  type ContentBlock,
  type Message,
} from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import * as strands from '@strands-agents/sdk'
import { generateText, stepCountIs, streamText, tool } from 'ai-6'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { plimsollHandler } from '../src/adapters/aws-sdk.ts'
import { startProxy } from '../src/gateway/proxy.ts'
import { createPlimsoll, type Plimsoll } from '../src/index.ts'
import { call, say, startReferee } from '../src/testing/referee/index.ts'
import { toolOutput } from '../test/sdks/ways.ts'

const MODEL = 'us.anthropic.claude-sonnet-4-6-v1:0'
const REGION = 'eu-west-1'
const STEPS = 40
const TASK = 'Read all logs.'
const KEYS = { accessKeyId: 'AKIAOWN', secretAccessKey: 'own/secret+key' }

/** Where a client sends its requests, and through what. */
interface Place {
  readonly url: string
  readonly plimsoll: Plimsoll
  /** In this process; behind the proxy a client is only pointed at it. */
  readonly isInside: boolean
  readonly apiKey?: string
}

/** The SDK’s own handler speaks HTTP/2 to Bedrock, and the proxy HTTP/1.1. */
const handlerOf = ({ plimsoll, isInside }: Place): never =>
  (isInside ? plimsollHandler(plimsoll) : new NodeHttpHandler()) as never

type Run = (place: Place, stream: boolean) => Promise<string>

const clientOf = (place: Place): BedrockRuntimeClient =>
  new BedrockRuntimeClient({
    endpoint: place.url,
    region: REGION,
    maxAttempts: 1,
    requestHandler: handlerOf(place),
    ...(place.apiKey !== undefined && { token: { token: place.apiKey }, authSchemePreference: ['httpBearerAuth'] }),
  })

const converse: Run = async (place, stream) => {
  const client = clientOf(place)
  const messages: Message[] = [{ role: 'user', content: [{ text: TASK }] }]
  const json = { type: 'object', properties: { step: { type: 'number' } } }
  for (let step = 1; ; step++) {
    const input = {
      modelId: MODEL,
      messages,
      inferenceConfig: { maxTokens: 500 },
      toolConfig: { tools: [{ toolSpec: { name: 'read_log', inputSchema: { json } } }] },
    }
    const content: ContentBlock[] = []
    if (stream) {
      const inputs: string[] = []
      for await (const { contentBlockStart, contentBlockDelta } of (await client.send(new ConverseStreamCommand(input)))
        .stream!) {
        const toolUse = contentBlockStart?.start?.toolUse
        if (toolUse !== undefined) content.push({ toolUse: { ...toolUse, input: {} } as never })
        const delta = contentBlockDelta?.delta
        if (delta?.text !== undefined) content[0] = { text: (content[0]?.text ?? '') + delta.text }
        if (delta?.toolUse !== undefined) inputs.push(delta.toolUse.input ?? '')
      }
      for (const block of content) if (block.toolUse !== undefined) block.toolUse.input = JSON.parse(inputs.join(''))
    } else content.push(...(await client.send(new ConverseCommand(input))).output!.message!.content!)
    const calls = content.flatMap(({ toolUse }) => toolUse ?? [])
    if (calls.length === 0) return content.map(({ text = '' }) => text).join('')
    const results = calls.map(({ toolUseId }) => ({
      toolResult: { toolUseId, content: [{ text: toolOutput(step, 16) }] },
    }))
    messages.push({ role: 'assistant', content }, { role: 'user', content: results })
  }
}

interface Block {
  readonly type: string
  readonly id?: string
  readonly text?: string
}

/** Claude's own loop, whoever sends the request. */
async function claudeLoop(ask: (messages: object[]) => Promise<readonly Block[]>): Promise<string> {
  const messages: object[] = [{ role: 'user', content: TASK }]
  for (let step = 1; ; step++) {
    const content = await ask(messages)
    const calls = content.filter(({ type }) => type === 'tool_use')
    if (calls.length === 0) return content.map(({ text = '' }) => text).join('')
    const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: toolOutput(step, 16) }))
    messages.push({ role: 'assistant', content }, { role: 'user', content: results })
  }
}

const TOOLS = [{ name: 'read_log', input_schema: { type: 'object' as const } }]

const invoke: Run = (place, stream) => {
  const client = clientOf(place)
  return claudeLoop(async (messages) => {
    const body = JSON.stringify({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 500, messages, tools: TOOLS })
    const input = { modelId: MODEL, contentType: 'application/json', body }
    if (!stream)
      return (
        JSON.parse((await client.send(new InvokeModelCommand(input))).body.transformToString()) as { content: Block[] }
      ).content
    const blocks: Record<string, unknown>[] = []
    for await (const { chunk } of (await client.send(new InvokeModelWithResponseStreamCommand(input))).body!) {
      const event = JSON.parse(Buffer.from(chunk!.bytes!).toString('utf8'))
      if (event.type === 'content_block_start') blocks.push({ ...event.content_block, json: '' })
      if (event.delta?.text !== undefined) blocks.at(-1)!['text'] += event.delta.text
      if (event.delta?.partial_json !== undefined) blocks.at(-1)!['json'] += event.delta.partial_json
    }
    return blocks.map(
      ({ json, ...block }) => (json === '' ? block : { ...block, input: JSON.parse(String(json)) }) as never,
    )
  })
}

const anthropic: Run = ({ url, plimsoll, isInside, apiKey }, stream) => {
  const client = new AnthropicBedrock({
    baseURL: url,
    awsRegion: REGION,
    maxRetries: 0,
    ...(isInside && { fetch: plimsoll.fetch }),
    // Its type wants either; which of them is known only here.
    ...((apiKey === undefined
      ? { awsAccessKey: KEYS.accessKeyId, awsSecretKey: KEYS.secretAccessKey }
      : { apiKey }) as {
      apiKey: string
    }),
  })
  return claudeLoop(async (messages) => {
    const request = { model: MODEL, max_tokens: 500, messages, tools: TOOLS } as never
    const answer = stream ? await client.messages.stream(request).finalMessage() : await client.messages.create(request)
    return answer.content as Block[]
  })
}

const aiSdk: Run = async ({ url, plimsoll, isInside, apiKey }, stream) => {
  const bedrock = createAmazonBedrock({
    baseURL: url,
    region: REGION,
    ...(isInside && { fetch: plimsoll.fetch }),
    ...(apiKey === undefined ? KEYS : { apiKey }),
  })
  let step = 0
  const options = {
    model: bedrock(MODEL) as never,
    prompt: TASK,
    maxRetries: 0,
    maxOutputTokens: 500,
    stopWhen: stepCountIs(STEPS + 1),
    tools: {
      read_log: tool({
        description: 'Reads a log.',
        inputSchema: z.object({ step: z.number() }),
        execute: () => Promise.resolve(toolOutput(++step, 16)),
      }),
    },
  }
  return stream ? await streamText(options).text : (await generateText(options)).text
}

const strandsAgent: Run = async (place, stream) => {
  const { url, apiKey } = place
  const agent = new strands.Agent({
    model: new strands.BedrockModel({
      modelId: MODEL,
      region: REGION,
      maxTokens: 500,
      stream,
      ...(apiKey !== undefined && { apiKey }),
      clientConfig: {
        endpoint: url,
        maxAttempts: 1,
        requestHandler: handlerOf(place),
      },
    }),
    tools: [
      strands.tool({
        name: 'read_log',
        description: 'Reads a log.',
        inputSchema: z.object({ step: z.number() }),
        callback: ({ step }) => toolOutput(step, 16),
      }),
    ],
    printer: false,
    conversationManager: new strands.NullConversationManager(),
  })
  return JSON.stringify((await agent.invoke(TASK)).lastMessage)
}

const CLIENTS = [
  { name: 'the AWS SDK’s Converse', wire: 'bedrock-converse', run: converse },
  { name: 'the AWS SDK’s InvokeModel', wire: 'anthropic-messages', run: invoke },
  { name: 'Anthropic’s SDK for Bedrock', wire: 'anthropic-messages', run: anthropic },
  { name: 'the AI SDK', wire: 'bedrock-converse', run: aiSdk },
  { name: 'Strands', wire: 'bedrock-converse', run: strandsAgent },
] as const

const open: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
  vi.unstubAllEnvs()
})

describe.each(CLIENTS)('$name', ({ wire, run }) => {
  const cases = (['in process', 'proxy'] as const).flatMap((way) =>
    (['a signature', 'a key'] as const).flatMap((credential) =>
      [false, true].map((stream) => ({ way, credential, stream })),
    ),
  )

  it.each(cases)(
    'runs forty steps in a window of 16k that nobody named: $way, with $credential (streamed: $stream)',
    async ({ way, credential, stream }) => {
      vi.stubEnv('AWS_ACCESS_KEY_ID', KEYS.accessKeyId)
      vi.stubEnv('AWS_SECRET_ACCESS_KEY', KEYS.secretAccessKey)
      const referee = await startReferee({
        wire,
        profile: wire === 'anthropic-messages' ? 'invoke-model' : 'converse',
        window: 16_000,
        apiKey: 'ABSK',
        accessKeys: { [KEYS.accessKeyId]: KEYS.secretAccessKey },
        script: ({ number }) => (number < STEPS ? call('read_log', { step: number }) : say('Done.')),
      })
      open.push(() => referee.close())
      const plimsoll = createPlimsoll({ store: 'memory:' })
      open.push(() => plimsoll.close())
      let { url } = referee
      if (way === 'proxy') {
        const proxy = await startProxy(plimsoll.gateway, { port: 0, upstreams: { bedrock: url } })
        open.push(() => proxy.close())
        url = `${proxy.url}/bedrock`
      }
      const apiKey = credential === 'a key' ? 'ABSK' : undefined
      expect(await run({ url, plimsoll, isInside: way === 'in process', apiKey }, stream)).toContain('Done.')
      expect(referee.summary()).toMatchObject({ answered: STEPS, overflows: 1, invalid: 0 })
      const authorizations = referee.log.map(({ headers }) => (headers['authorization'] ?? '').split(/[ ,]/)[0])
      expect(new Set(authorizations)).toEqual(new Set([apiKey === undefined ? 'AWS4-HMAC-SHA256' : 'Bearer']))
    },
  )
})
