import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
  type MessageContent,
} from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { toJsonSchema } from '@langchain/core/utils/json_schema'
import { createMiddleware } from 'langchain'
import type { NewTool } from '../core/conversation.ts'
import { isRecord, numberOf, recordOf, stringOf, type Fields } from '../core/values.ts'
import { usageIn } from '../core/usage.ts'
import { readUrl } from '../formats/kit/reading.ts'
import type { MirrorMessage, MirrorPart } from '../formats/mirror.ts'
import type { Plimsoll, Session } from '../index.ts'
import { wordsOf } from './ai-sdk-prompt.ts'
import {
  AGENT_OPTIONS,
  checkAdapter,
  declaredTool,
  managedTurns,
  shortened,
  type AgentOptions,
  type KnownCalls,
  type Piece,
} from './kit.ts'

export interface LangChainOptions extends AgentOptions {
  /** The name of a run's session. @default the run's thread id, else 'langchain' */
  readonly session?: string
  /** Agents of one thread have separate views. @default 'main' */
  readonly agent?: string
}

/**
 * Agent middleware: the model gets a view of the messages that fits, its usage is recorded, and the agent's state stays whole. Do not use
 * `summarizationMiddleware` and `contextEditingMiddleware`, which rewrite the state.
 */
export function plimsollMiddleware(
  plimsoll: Pick<Plimsoll, 'session' | 'tools'>,
  options: LangChainOptions = {},
): ReturnType<typeof createMiddleware> {
  checkAdapter('plimsollMiddleware', [plimsoll, options], ['plimsoll'], [...AGENT_OPTIONS, 'session', 'agent'])
  const { agent, readers = true, shortenHistory = false, window } = options
  const sessionOf = (thread: unknown): Session =>
    plimsoll.session({ id: options.session ?? stringOf(thread) ?? 'langchain', agent })
  const declared = readers ? plimsoll.tools(sessionOf(undefined), 'langchain', { window }).declarations : []
  const tools = declared.map(({ fields }) =>
    tool(
      (input: unknown, config: unknown) =>
        plimsoll.tools(sessionOf(threadOf(config)), 'langchain', { window }).call(fields.name, input),
      fields,
    ),
  )
  return createMiddleware({
    name: 'Plimsoll',
    tools,
    async wrapModelCall(request, handler) {
      const turns = managedTurns<BaseMessage>(sessionOf(threadOf(request.runtime)), writeMessages, options)
      const { model, maxOutputTokens } = settingsOf(request.model)
      const system = textOf(request.systemMessage.content)
      const call = {
        model,
        pieces: request.messages.map(pieceOf),
        tools: request.tools.flatMap(toolOf),
        system: system === '' ? undefined : system,
        maxOutputTokens,
      }
      const { turn, answer } = await turns.send(call, async (open) =>
        handler({
          ...request,
          ...(open.messages !== undefined && { messages: [...open.messages] }),
          ...(open.system !== undefined && open.system !== system && { systemMessage: new SystemMessage(open.system) }),
          ...(open.forbidsTools && { toolChoice: 'none' }),
        }),
      )
      await turn.answered(AIMessage.isInstance(answer) ? usageIn(answer.usage_metadata, USAGE) : undefined)
      return answer
    },
    async wrapToolCall(request, handler) {
      const result = await handler(request)
      const { name, id } = request.toolCall
      const isOurs = declared.some(({ fields }) => fields.name === name)
      if (!shortenHistory || isOurs || !ToolMessage.isInstance(result) || typeof result.content !== 'string')
        return result
      const session = sessionOf(threadOf(request.runtime))
      const shown = await shortened(session, { tool: name, output: result.content, callId: id })
      if (shown === undefined) return result
      const { tool_call_id, status, artifact, metadata } = result
      return new ToolMessage({
        content: shown,
        tool_call_id,
        name,
        artifact: artifact as unknown,
        ...(status !== undefined && { status }),
        ...(metadata !== undefined && { metadata }),
      })
    },
  })
}

const threadOf = (runtime: unknown): unknown => recordOf(recordOf(runtime)?.['configurable'])?.['thread_id']

/** Model classes differ in the fields for their name and output cap. */
function settingsOf(model: unknown): { readonly model: string; readonly maxOutputTokens?: number } {
  const fields = recordOf(model) ?? {}
  const bound = recordOf(fields['bound']) ?? fields
  const cap = numberOf(bound['maxTokens']) ?? numberOf(bound['maxOutputTokens'])
  return {
    model: stringOf(bound['model']) ?? stringOf(bound['modelName']) ?? 'unknown',
    maxOutputTokens: cap === 0 ? undefined : cap,
  }
}

function toolOf(one: unknown): NewTool[] {
  const { name, description, schema } = recordOf(one) ?? {}
  return declaredTool(name, description, isRecord(schema) ? toJsonSchema(schema) : undefined)
}

const pieceOf = (message: BaseMessage): Piece<BaseMessage> => ({ message: readMessage(message), own: [message] })

function readMessage(message: BaseMessage): MirrorMessage {
  const parts = partsOf(message.content)
  if (ToolMessage.isInstance(message)) return { role: 'result', callId: message.tool_call_id, parts }
  if (SystemMessage.isInstance(message)) return { role: 'system', parts }
  if (!AIMessage.isInstance(message)) return { role: 'user', parts }
  const calls = (message.tool_calls ?? []).map(({ id, name, args }) => ({ id: id ?? '', name, input: args }))
  return { role: 'assistant', parts, calls }
}

/** Some models repeat calls and reasoning in the content; calls are read from `tool_calls`, and reasoning is counted by the provider. */
function partsOf(content: MessageContent): MirrorPart[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  return content.flatMap((block: Fields): MirrorPart[] => {
    const text = stringOf(block['text'])
    if (text !== undefined) return [text]
    const url = stringOf(block['image_url']) ?? stringOf(recordOf(block['image_url'])?.['url'])
    if (url !== undefined) {
      const { mime = 'image/*', data, reference } = readUrl(url)
      return [{ mime, data, url: reference }]
    }
    const mime = stringOf(block['mimeType']) ?? stringOf(block['mime_type'])
    if (mime === undefined) return []
    return [{ mime, data: stringOf(block['data']), url: stringOf(block['url']) }]
  })
}

const textOf = (content: MessageContent): string => wordsOf(partsOf(content))

function writeMessages(message: MirrorMessage, calls: KnownCalls): BaseMessage[] {
  const content = contentOf(message.parts)
  switch (message.role) {
    case 'system':
      return [new SystemMessage({ content })]
    case 'user':
      return [new HumanMessage({ content })]
    case 'result': {
      const name = calls.get(message.callId)
      return [new ToolMessage({ content, tool_call_id: message.callId, ...(name !== undefined && { name }) })]
    }
    case 'assistant': {
      const tool_calls = message.calls.map(({ id, name, input }) => ({
        id,
        name,
        args: { ...input },
        type: 'tool_call' as const,
      }))
      return [new AIMessage({ content, tool_calls })]
    }
  }
}

function contentOf(parts: readonly MirrorPart[]): MessageContent {
  if (parts.every((part) => typeof part === 'string')) return parts.join('\n')
  return parts.map((part) =>
    typeof part === 'string'
      ? { type: 'text', text: part }
      : { type: 'image_url', image_url: { url: part.url ?? `data:${part.mime};base64,${part.data ?? ''}` } },
  )
}

const USAGE = {
  input: 'input_tokens',
  output: 'output_tokens',
  cacheRead: 'input_token_details.cache_read',
  cacheWrite: 'input_token_details.cache_creation',
  reasoning: 'output_token_details.reasoning',
}
