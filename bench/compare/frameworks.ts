import type { Chat } from './chat.ts'
import { load, VERSIONS } from './install.ts'
import type { Manager } from './manager.ts'

/** AI SDK and Mastra have messages of the same form. */
interface ModelMessage {
  readonly role: string
  readonly content: string | readonly Record<string, unknown>[]
}

const toolName = (history: readonly Chat[]): ReadonlyMap<string, string> =>
  new Map(history.flatMap(({ calls }) => calls.map(({ id, name }) => [id, name])))

function toModel(chat: Chat, names: ReadonlyMap<string, string>): ModelMessage {
  const { role, text, calls, callId } = chat
  if (role === 'user') return { role, content: [{ type: 'text', text }] }
  if (role === 'tool') {
    const result = { type: 'tool-result', toolCallId: callId, toolName: names.get(callId ?? '') ?? 'tool' }
    return { role, content: [{ ...result, output: { type: 'text', value: text } }] }
  }
  const said = text === '' ? [] : [{ type: 'text', text }]
  const called = calls.map(({ id, name, args }) => ({ type: 'tool-call', toolCallId: id, toolName: name, input: args }))
  return { role, content: [...said, ...called] }
}

function toChat({ role, content }: ModelMessage): readonly Chat[] {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  if (role === 'tool')
    return parts
      .filter(({ type }) => type === 'tool-result')
      .map((part) => {
        const { value } = part['output'] as { value: string }
        return { role, text: value, calls: [], callId: part['toolCallId'] as string }
      })
  const texts = parts.filter(({ type }) => type === 'text').map((part) => part['text'] as string)
  const calls = parts
    .filter(({ type }) => type === 'tool-call')
    .map((part) => ({
      id: part['toolCallId'] as string,
      name: part['toolName'] as string,
      args: part['input'] as Record<string, unknown>,
    }))
  return [{ role: role === 'assistant' ? 'assistant' : 'user', text: texts.join('\n'), calls }]
}

/** Each message is made once, as an agent holds it. */
function modelMessages(): (history: readonly Chat[]) => ModelMessage[] {
  const made = new WeakMap<Chat, ModelMessage>()
  return (history) => {
    const names = toolName(history)
    return history.map((chat) => {
      const known = made.get(chat) ?? toModel(chat, names)
      made.set(chat, known)
      return known
    })
  }
}

async function aiSdk(): Promise<Manager> {
  const { pruneMessages } = await load<{ pruneMessages(options: object): ModelMessage[] }>('ai')
  return {
    name: 'AI SDK pruneMessages',
    setup: 'tool calls before the last 10 messages and reasoning removed, when above the limit',
    from: `ai ${VERSIONS.ai}`,
    start: (terms) => {
      const own = modelMessages()
      return async (history) => {
        const total = history.reduce((sum, message) => sum + terms.count(message), 0)
        if (total <= terms.limit) return history
        const options = { reasoning: 'all', toolCalls: 'before-last-10-messages', emptyMessages: 'remove' }
        return pruneMessages({ messages: own(history), ...options }).flatMap(toChat)
      }
    },
  }
}

interface Limiter {
  processLLMRequest(args: { prompt: ModelMessage[] }): Promise<{ prompt: ModelMessage[] } | undefined>
}

async function mastra(): Promise<Manager> {
  const { TokenLimiterProcessor } = await load<{ TokenLimiterProcessor: new (options: object) => Limiter }>(
    '@mastra/core/processors',
  )
  return {
    name: 'Mastra TokenLimiter',
    setup: 'trimMode `contiguous`; it counts with o200k, so its limit is scaled by how both count these sessions',
    from: `@mastra/core ${VERSIONS['@mastra/core']}`,
    start: (terms) => {
      const own = modelMessages()
      const limiter = new TokenLimiterProcessor({ limit: terms.o200kLimit, trimMode: 'contiguous' })
      return async (history) => {
        const prompt = own(history)
        return ((await limiter.processLLMRequest({ prompt }))?.prompt ?? prompt).flatMap(toChat)
      }
    },
  }
}

interface StrandsBlock {
  readonly type?: string
  readonly text?: string
  readonly toolUseId?: string
  readonly name?: string
  readonly input?: Record<string, unknown>
  readonly content?: readonly { readonly text?: string }[]
}

interface StrandsMessage {
  readonly role: string
  readonly content: readonly StrandsBlock[]
}

async function strands(): Promise<Manager> {
  const sdk = await load<{
    SlidingWindowConversationManager: new (options: object) => { reduce(options: object): boolean }
    Message: { fromMessageData(data: object): StrandsMessage }
  }>('@strands-agents/sdk')
  const make = ({ role, text, calls, callId }: Chat): StrandsMessage => {
    if (role === 'tool') {
      const toolResult = { toolUseId: callId, status: 'success', content: [{ text }] }
      return sdk.Message.fromMessageData({ role: 'user', content: [{ toolResult }] })
    }
    const uses = calls.map(({ id, name, args }) => ({ toolUse: { toolUseId: id, name, input: args } }))
    return sdk.Message.fromMessageData({ role, content: [...(text === '' ? [] : [{ text }]), ...uses] })
  }
  return {
    name: 'Strands sliding window',
    setup: 'window of 40 messages (the default), reduced when above the limit',
    from: `@strands-agents/sdk ${VERSIONS['@strands-agents/sdk']}`,
    start: (terms) => {
      const chats = new WeakMap<StrandsMessage, Chat>()
      const state: StrandsMessage[] = []
      let taken = 0
      return async (history) => {
        for (const chat of history.slice(taken)) {
          const message = make(chat)
          chats.set(message, chat)
          state.push(message)
        }
        taken = history.length
        const size = (): number => state.reduce((sum, message) => sum + terms.count(chatOf(message)), 0)
        const manager = new sdk.SlidingWindowConversationManager({ windowSize: 40 })
        // On an overflow the manager is asked again until it cannot do more.
        for (let round = 0; size() > terms.limit && round < 20; round++)
          if (!manager.reduce({ agent: { messages: state }, error: new Error('overflow') })) break
        return state.map(chatOf)
      }
      function chatOf(message: StrandsMessage): Chat {
        const known = chats.get(message)
        if (known !== undefined && (known.role !== 'tool' || textOf(message) === known.text)) return known
        return strandsChat(message)
      }
    },
  }
}

/** It replaces results that it shortens by messages of its own. */
function strandsChat(message: StrandsMessage): Chat {
  const result = message.content.find(({ toolUseId, name }) => toolUseId !== undefined && name === undefined)
  const text = textOf(message)
  if (result !== undefined) return { role: 'tool', text, calls: [], callId: result.toolUseId! }
  const calls = message.content.flatMap(({ toolUseId, name, input }) =>
    toolUseId === undefined || name === undefined ? [] : [{ id: toolUseId, name, args: input ?? {} }],
  )
  return { role: message.role === 'assistant' ? 'assistant' : 'user', text, calls }
}

const textOf = ({ content }: StrandsMessage): string =>
  content.map(({ text, content: inner = [] }) => text ?? inner.map((part) => part.text ?? '').join('')).join('\n')

interface ChefMessage {
  readonly role: string
  readonly content: string
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly tool_call_id?: string
}

interface Chef {
  setHistory(history: readonly ChefMessage[]): Chef
  compile(options: object): Promise<{ messages: readonly ChefMessage[] }>
}

async function contextChef(): Promise<Manager> {
  const { ContextChef } = await load<{ ContextChef: new (options: object) => Chef }>('@context-chef/core')
  const own = new WeakMap<Chat, ChefMessage>()
  const toOwn = (chat: Chat): ChefMessage => {
    const known = own.get(chat)
    if (known !== undefined) return known
    const { role, text, calls, callId } = chat
    const tools = calls.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }))
    const made: ChefMessage = {
      role,
      content: text,
      ...(tools.length > 0 && { tool_calls: tools }),
      ...(callId !== undefined && { tool_call_id: callId }),
    }
    own.set(chat, made)
    return made
  }
  const toChats = ({ role, content, tool_calls: calls = [], tool_call_id: callId }: ChefMessage): Chat => ({
    role: role === 'assistant' || role === 'tool' ? role : 'user',
    text: content ?? '',
    calls: calls.map(({ id, function: { name, arguments: args } }) => ({ id, name, args: JSON.parse(args) as never })),
    ...(callId !== undefined && { callId }),
  })
  return {
    name: 'context-chef',
    setup: 'overflow at 70 % of the window, as by default, summaries by a model',
    from: `@context-chef/core ${VERSIONS['@context-chef/core']}`,
    start: (terms) => {
      let before: readonly ChefMessage[] = []
      let taken = 0
      const known = new Map<string, number>()
      const tokens = (message: ChefMessage): number => {
        const key = JSON.stringify(message)
        const count = known.get(key) ?? terms.count(toChats(message))
        known.set(key, count)
        return count
      }
      const chef = new ContextChef({
        logger: { warn: () => undefined },
        janitor: {
          contextWindow: terms.limit,
          tokenizer: (messages: readonly ChefMessage[]) => messages.reduce((sum, one) => sum + tokens(one), 0),
          compressionModel: async (messages: readonly ChefMessage[]) =>
            terms.summarize(messages.map(({ role, content }) => `[${role}] ${content}`).join('\n')),
          onCompress: (summary: ChefMessage, count: number) => {
            before = [summary, ...before.slice(count)]
          },
        },
      })
      return async (history) => {
        before = [...before, ...history.slice(taken).map(toOwn)]
        taken = history.length
        const { messages } = await chef.setHistory(before).compile({ target: 'openai' })
        return messages.map(toChats)
      }
    },
  }
}

export const frameworkManagers = async (): Promise<readonly Manager[]> => [
  await aiSdk(),
  await mastra(),
  await strands(),
  await contextChef(),
]
