import type { Chat } from './chat.ts'
import { load, VERSIONS } from './install.ts'
import type { Manager, Terms } from './manager.ts'

interface Message {
  readonly content: unknown
  readonly tool_call_id?: string
  readonly tool_calls?: readonly {
    readonly id?: string
    readonly name: string
    readonly args: Record<string, unknown>
  }[]
  getType(): string
}

type Make = new (fields: object) => Message

interface Core {
  trimMessages(messages: Message[], options: object): Promise<Message[]>
  HumanMessage: Make
  AIMessage: Make
  ToolMessage: Make
}

interface LangChain {
  summarizationMiddleware(options: object): {
    beforeModel: (state: { messages: Message[] }, runtime: object) => Promise<{ messages: Message[] } | undefined>
  }
  ClearToolUsesEdit: new (options: object) => {
    apply(options: { messages: Message[]; countTokens: (messages: Message[]) => number }): Promise<void>
  }
}

const CORE = `@langchain/core ${VERSIONS['@langchain/core']}`
const FROM = `langchain ${VERSIONS.langchain}`

export async function langchainManagers(): Promise<readonly Manager[]> {
  const core = await load<Core>('@langchain/core/messages')
  const chain = await load<LangChain>('langchain')
  const own = new WeakMap<Chat, Message>()
  const back = new WeakMap<Message, Chat>()

  function toOwn(chat: Chat): Message {
    const known = own.get(chat)
    if (known !== undefined) return known
    const made = make(chat)
    own.set(chat, made)
    back.set(made, chat)
    return made
  }

  function make({ role, text, calls, callId, tool }: Chat): Message {
    if (role === 'user') return new core.HumanMessage({ content: text })
    if (role === 'tool') return new core.ToolMessage({ content: text, tool_call_id: callId, name: tool })
    return new core.AIMessage({ content: text, tool_calls: calls.map(({ id, name, args }) => ({ id, name, args })) })
  }

  /** Messages that came through are the ones that went in; the others are the manager's own. */
  function toChat(message: Message): Chat {
    const known = back.get(message)
    if (known !== undefined) return known
    const type = message.getType()
    const text = typeof message.content === 'string' ? message.content : JSON.stringify(message.content)
    const role = type === 'tool' ? 'tool' : type === 'ai' ? 'assistant' : 'user'
    const calls = (message.tool_calls ?? []).map(({ id = '', name, args }) => ({ id, name, args }))
    const made: Chat = {
      role,
      text,
      calls,
      ...(message.tool_call_id !== undefined && { callId: message.tool_call_id }),
    }
    back.set(message, made)
    return made
  }

  const counter =
    (terms: Terms) =>
    (messages: readonly Message[]): number =>
      messages.reduce((total, message) => total + terms.count(toChat(message)), 0)

  return [
    {
      name: 'LangChain trimMessages',
      setup: 'strategy `last`, maxTokens = limit, startOn human or ai',
      from: CORE,
      start: (terms) => async (history) => {
        const options = {
          maxTokens: terms.limit,
          strategy: 'last',
          startOn: ['human', 'ai'],
          tokenCounter: counter(terms),
          includeSystem: true,
        }
        const left = await core.trimMessages(history.map(toOwn), options)
        return left.filter((message) => message !== undefined).map(toChat)
      },
    },
    {
      name: 'LangChain contextEditing',
      setup: '`ClearToolUsesEdit`, trigger at the limit, keep 3 results',
      from: FROM,
      start: (terms) => {
        const edit = new chain.ClearToolUsesEdit({ trigger: { tokens: terms.limit }, keep: { messages: 3 } })
        return async (history) => {
          const messages = history.map(toOwn)
          await edit.apply({ messages, countTokens: counter(terms) })
          return messages.map(toChat)
        }
      },
    },
    {
      name: 'LangChain summarization',
      setup: 'trigger at the limit, keep 20 messages, as by default',
      from: FROM,
      start: (terms) => {
        const model = { invoke: async (prompt: string) => ({ content: terms.summarize(prompt) }) }
        const middleware = chain.summarizationMiddleware({
          model,
          trigger: { tokens: terms.limit },
          tokenCounter: counter(terms),
        })
        let state: Message[] = []
        let taken = 0
        return async (history) => {
          state = [...state, ...history.slice(taken).map(toOwn)]
          taken = history.length
          const hook = middleware.beforeModel as unknown
          const run = (
            typeof hook === 'function' ? hook : (hook as { hook: unknown }).hook
          ) as typeof middleware.beforeModel
          const changed = await run({ messages: state }, { context: {} })
          // The first of them says that all others are to be removed.
          if (changed !== undefined) state = changed.messages.slice(1)
          return state.map(toChat)
        }
      },
    },
  ]
}
