/** Other people's trimmers on one history, for the clock. */
import { load } from '../compare/install.ts'
import type { ChatMessage } from './incident.ts'

/** Trims the messages that it was made for to a budget; gives back how many are left. */
export interface Peer {
  readonly name: string
  trim(): Promise<number>
}

type Make = new (fields: object) => unknown

/** Messages are made before the clock starts: a framework's agent holds them in its own form already. */
export async function langchain(messages: readonly ChatMessage[], budget: number): Promise<Peer> {
  const core = await load<{
    trimMessages(messages: unknown[], options: object): Promise<unknown[]>
    SystemMessage: Make
    HumanMessage: Make
    AIMessage: Make
    ToolMessage: Make
  }>('@langchain/core/messages')
  const own = messages.map(({ role, content, tool_calls: calls = [], tool_call_id: id }) => {
    if (role === 'system') return new core.SystemMessage({ content })
    if (role === 'user') return new core.HumanMessage({ content })
    if (role === 'tool') return new core.ToolMessage({ content, tool_call_id: id })
    const toolCalls = calls.map((call) => ({
      id: call.id,
      name: call.function.name,
      args: JSON.parse(call.function.arguments) as object,
    }))
    return new core.AIMessage({ content: content ?? '', tool_calls: toolCalls })
  })
  const tokenCounter = (some: { content: unknown }[]): number =>
    Math.ceil(some.reduce((sum, { content }) => sum + String(content).length, 0) / 4)
  return {
    name: 'LangChain trimMessages',
    trim: async () =>
      (await core.trimMessages(own, { maxTokens: budget, strategy: 'last', tokenCounter, includeSystem: true })).length,
  }
}

export async function mastra(messages: readonly ChatMessage[], budget: number): Promise<Peer> {
  const { TokenLimiterProcessor } = await load<{
    TokenLimiterProcessor: new (options: object) => {
      processLLMRequest(args: { prompt: unknown[] }): Promise<{ prompt: unknown[] } | undefined>
    }
  }>('@mastra/core/processors')
  const names = new Map(
    messages.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => [call.id, call.function.name])),
  )
  const prompt = messages.map(({ role, content, tool_calls: calls = [], tool_call_id: id }) => {
    if (role === 'system') return { role, content }
    if (role === 'tool')
      return {
        role,
        content: [
          { type: 'tool-result', toolCallId: id, toolName: names.get(id!), output: { type: 'text', value: content } },
        ],
      }
    const text = { type: 'text', text: content ?? '' }
    if (role === 'user') return { role, content: [text] }
    const parts = calls.map((call) => ({
      type: 'tool-call',
      toolCallId: call.id,
      toolName: call.function.name,
      input: JSON.parse(call.function.arguments) as object,
    }))
    return { role, content: [text, ...parts] }
  })
  return {
    name: 'Mastra TokenLimiter',
    async trim() {
      const limiter = new TokenLimiterProcessor({ limit: budget, trimMode: 'contiguous' })
      return (await limiter.processLLMRequest({ prompt }))?.prompt.length ?? prompt.length
    },
  }
}

/** It trims in place, so each trim begins with messages of its own; without making them it only cuts a list. */
export async function strands(messages: readonly ChatMessage[], withMessages: boolean): Promise<Peer> {
  const sdk = await load<{
    SlidingWindowConversationManager: new (options: object) => { reduce(options: object): boolean }
    Message: { fromMessageData(data: object): unknown }
  }>('@strands-agents/sdk')
  const data = messages.map(({ role, content, tool_calls: calls = [], tool_call_id: id }) => {
    if (role === 'tool')
      return {
        role: 'user',
        content: [{ toolResult: { toolUseId: id, status: 'success', content: [{ text: content }] } }],
      }
    const uses = calls.map((call) => ({
      toolUse: { toolUseId: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) as object },
    }))
    return { role: role === 'assistant' ? 'assistant' : 'user', content: [{ text: content ?? '' }, ...uses] }
  })
  const make = (): unknown[] => data.map((one) => sdk.Message.fromMessageData(one))
  const ready = make()
  return {
    name: `Strands sliding window${withMessages ? ', messages made' : ''}`,
    async trim() {
      const own = withMessages ? make() : [...ready]
      new sdk.SlidingWindowConversationManager({ windowSize: 40 }).reduce({ agent: { messages: own } })
      return own.length
    },
  }
}
