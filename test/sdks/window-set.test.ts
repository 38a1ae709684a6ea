import Anthropic from '@anthropic-ai/sdk'
import { createOpenAI } from '@ai-sdk/openai'
import { GoogleGenAI, type Content } from '@google/genai'
import { HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { Agent, OpenAIProvider, Runner, tool as agentTool, type OpenAIProviderOptions } from '@openai/agents'
import { generateText, stepCountIs, tool as aiTool } from 'ai'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createMeter } from '../../src/meter/index.ts'
import { call, say, type Script } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, type Stage } from './ways.ts'

const STEPS = 10
const script: Script = ({ number }) => (number > STEPS ? say('Done.') : call('read_log', { step: number }))
const schema = z.object({ step: z.number() })
const about = { name: 'read_log', description: 'Reads a log.' }
const json = { type: 'object' as const, properties: { step: { type: 'number' as const } } }

const openAi = ({ base, fetch }: Stage): OpenAI =>
  new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch !== undefined && { fetch }) })

const CLIENTS: readonly {
  readonly name: string
  readonly wire: 'anthropic-messages' | 'openai-chat' | 'openai-responses' | 'gemini'
  readonly model: string
  readonly run: (on: Stage, output: (step: number) => string) => Promise<unknown>
}[] = [
  {
    name: 'openai',
    wire: 'openai-chat',
    model: 'gpt-4o',
    async run(on, output) {
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Why is checkout slow?' }]
      for (let step = 1; ; step++) {
        const { message } = (
          await openAi(on).chat.completions.create({
            model: 'gpt-4o',
            messages,
            tools: [{ type: 'function', function: { ...about, parameters: json } }],
          })
        ).choices[0]!
        if (message.tool_calls === undefined) return message.content
        messages.push(message)
        for (const { id } of message.tool_calls)
          messages.push({ role: 'tool', tool_call_id: id, content: output(step) })
      }
    },
  },
  {
    name: '@anthropic-ai/sdk',
    wire: 'anthropic-messages',
    model: 'claude-sonnet-4-5',
    async run({ base, fetch }, output) {
      const client = new Anthropic({ apiKey: 'k', baseURL: base, maxRetries: 0, ...(fetch !== undefined && { fetch }) })
      const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Why is checkout slow?' }]
      for (let step = 1; ; step++) {
        const { content } = await client.messages.create({
          model: 'claude-sonnet-4-5',
          max_tokens: 1_000,
          messages,
          tools: [{ ...about, input_schema: json }],
        })
        const uses = content.filter((block) => block.type === 'tool_use')
        if (uses.length === 0) return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
        const results = uses.map(({ id }) => ({
          type: 'tool_result' as const,
          tool_use_id: id,
          content: output(step),
        }))
        messages.push({ role: 'assistant', content }, { role: 'user', content: results })
      }
    },
  },
  {
    name: '@google/genai',
    wire: 'gemini',
    model: 'gemini-2.5-pro',
    async run({ base, fetch }, output) {
      const client = new GoogleGenAI({
        apiKey: 'k',
        httpOptions: { baseUrl: base, ...(fetch !== undefined && { fetch }) },
      })
      const config = { tools: [{ functionDeclarations: [{ ...about, parametersJsonSchema: json }] }] }
      const contents: Content[] = [{ role: 'user', parts: [{ text: 'Why is checkout slow?' }] }]
      for (let step = 1; ; step++) {
        const answer = await client.models.generateContent({ model: 'gemini-2.5-pro', contents, config })
        const content = answer.candidates![0]!.content!
        const uses = (content.parts ?? []).flatMap(({ functionCall }) =>
          functionCall === undefined ? [] : [functionCall],
        )
        if (uses.length === 0) return answer.text
        const parts = uses.map(({ id = '', name = '' }) => ({
          functionResponse: { id, name, response: { output: output(step) } },
        }))
        contents.push(content, { role: 'user', parts })
      }
    },
  },
  {
    name: 'ai',
    wire: 'openai-responses',
    model: 'gpt-4.1',
    async run({ base, fetch }, output) {
      const { text } = await generateText({
        model: createOpenAI({ apiKey: 'k', baseURL: `${base}/v1`, ...(fetch && { fetch }) }).responses('gpt-4.1'),
        prompt: 'Why is checkout slow?',
        maxRetries: 0,
        stopWhen: stepCountIs(STEPS + 2),
        tools: {
          read_log: aiTool({
            description: about.description,
            inputSchema: schema,
            execute: ({ step }) => Promise.resolve(output(step)),
          }),
        },
      })
      return text
    },
  },
  {
    name: '@langchain/openai',
    wire: 'openai-chat',
    model: 'gpt-4.1',
    async run({ base, fetch }, output) {
      const model = new ChatOpenAI({
        model: 'gpt-4.1',
        apiKey: 'k',
        maxRetries: 0,
        configuration: { baseURL: `${base}/v1`, ...(fetch !== undefined && { fetch }) },
      }).bindTools([langchainTool(({ step }) => output(step), { ...about, schema })])
      const messages: BaseMessage[] = [new HumanMessage('Why is checkout slow?')]
      for (let step = 1; ; step++) {
        const answer = await model.invoke(messages)
        if ((answer.tool_calls ?? []).length === 0) return answer.content
        messages.push(answer)
        for (const { id } of answer.tool_calls ?? [])
          messages.push(new ToolMessage({ tool_call_id: id!, content: output(step) }))
      }
    },
  },
  {
    name: '@openai/agents',
    wire: 'openai-responses',
    model: 'gpt-4.1',
    async run(on, output) {
      const provider = new OpenAIProvider({
        // The Agents SDK brings a copy of the package of its own; what it calls is the same in both.
        openAIClient: openAi(on) as unknown as NonNullable<OpenAIProviderOptions['openAIClient']>,
        useResponses: true,
      })
      const execute = ({ step }: { step: number }): Promise<string> => Promise.resolve(output(step))
      const agent = new Agent({
        name: 'On-call',
        model: 'gpt-4.1',
        tools: [agentTool({ ...about, parameters: schema, execute })],
        modelSettings: { store: false },
      })
      const runner = new Runner({ modelProvider: provider, tracingDisabled: true })
      return (await runner.run(agent, 'Why is checkout slow?', { maxTurns: STEPS + 2 })).finalOutput
    },
  },
]

const meter = createMeter({ catalogue: bundledCatalogue() })

/** The ten steps take a tenth of the first window, and more than the second. */
const WINDOWS = [
  { window: 60_000, lines: 9 },
  { window: 16_000, lines: 40 },
]
const CASES = WINDOWS.flatMap((one) => [0.8, 1, 1.12, 1.35].map((times) => ({ ...one, times })))

describe.each(CLIENTS)('$name with a window that was set', ({ wire, model, run }) => {
  it.each(CASES)(
    'is neither refused nor taught a window of $window by a server that counts $times times our estimate',
    async ({ window, lines, times }) => {
      const tokenizer = (text: string): number => Math.round(meter.countText(model, text).tokens * times)
      const on = await stage('fetch', { referee: { wire, window, script, tokenizer }, plimsoll: { window } })
      expect(await run(on, (step) => toolOutput(step, lines))).toBe('Done.')
      expect(on.referee.summary()).toMatchObject({ answered: STEPS + 1, overflows: 0, invalid: 0 })
      expect(on.events.filter(({ type }) => type === 'window-learned')).toEqual([])
      expect(await on.plimsoll.limits.list()).toEqual([])
    },
  )
})
