import { numberOf, recordOf, recordsIn, stringOf, type Fields } from '../core/values.ts'
import { usageIn } from '../core/usage.ts'
import type { MirrorMessage, MirrorPart } from '../formats/mirror.ts'
import type { ToolCall } from '../formats/wire/chat.ts'
import type { Plimsoll, Session } from '../index.ts'
import { wordsOf } from './ai-sdk-prompt.ts'
import {
  AGENT_OPTIONS,
  checkAdapter,
  declaredTool,
  managedTurns,
  part,
  shortened,
  type AgentOptions,
  type Piece,
} from './kit.ts'

/** The classes of `@strands-agents/sdk` that the plugin uses. */
export interface StrandsParts<M, B, R, T> {
  readonly InvokeModelStage: unknown
  readonly AfterToolCallEvent: unknown
  readonly FunctionTool: new (config: {
    name: string
    description: string
    inputSchema: never
    callback: (input: unknown) => Promise<string>
  }) => T
  readonly Message: new (data: { role: 'user' | 'assistant'; content: B[] }) => M
  readonly TextBlock: new (text: string) => B
  readonly ToolUseBlock: new (data: { name: string; toolUseId: string; input: never }) => B
  readonly ToolResultBlock: new (data: { toolUseId: string; status: 'success' | 'error'; content: never[] }) => R
}

export interface StrandsOptions extends AgentOptions {
  /** The name of the session. @default the agent's session id */
  readonly session?: string
}

const PARTS = part(
  'strands',
  "the module: import * as strands from '@strands-agents/sdk'",
  'FunctionTool',
  'Message',
  'ToolResultBlock',
)

/** The parts of a Strands agent that are used. */
interface StrandsAgent {
  readonly sessionId?: string
  readonly name?: string
  readonly toolRegistry?: { get(name: string): unknown }
  addMiddleware(stage: never, handler: never): unknown
  addHook(event: never, callback: never): unknown
}

interface StrandsPlugin<T> {
  readonly name: string
  initAgent(agent: StrandsAgent): void
  getTools(): T[]
}

/** The fields of a model call's context that are read here. */
interface ModelContext {
  readonly model: { getConfig(): unknown }
  readonly messages: readonly StrandsMessage[]
  readonly systemPrompt?: unknown
  readonly toolSpecs: readonly unknown[]
}

interface StrandsMessage {
  readonly role: 'user' | 'assistant'
  readonly content: readonly object[]
}

/**
 * The model gets a view of the messages that fits, and its usage is recorded; `agent.messages` stays whole. Give the agent a
 * `NullConversationManager`: the default one drops messages.
 */
export function plimsollPlugin<M, B, R extends B, T>(
  plimsoll: Pick<Plimsoll, 'session' | 'tools'>,
  strands: StrandsParts<M, B, R, T>,
  options: StrandsOptions = {},
): StrandsPlugin<T> {
  checkAdapter('plimsollPlugin', [plimsoll, strands, options], ['plimsoll', PARTS], [...AGENT_OPTIONS, 'session'])
  const { readers = true, window } = options
  let tools: T[] = []
  const sessionOf = ({ sessionId, name }: StrandsAgent): Session =>
    plimsoll.session({ id: options.session ?? sessionId ?? 'strands', agent: name })
  return {
    name: 'plimsoll',
    initAgent(agent) {
      const session = sessionOf(agent)
      const given = plimsoll.tools(session, 'langchain', { window })
      // If names collide, your tool is used.
      const added = readers
        ? given.declarations.filter(({ fields }) => agent.toolRegistry?.get(fields.name) === undefined)
        : []
      tools = added.map(
        ({ run, fields: { name, description, schema } }) =>
          new strands.FunctionTool({ name, description, inputSchema: schema as never, callback: run }),
      )
      const turns = managedTurns<StrandsMessage | M>(session, (message) => writeMessages(strands, message), options)
      const invoke = async function* (
        context: ModelContext,
        next: (context: ModelContext) => AsyncGenerator<unknown, { readonly result: unknown }, unknown>,
      ): AsyncGenerator<unknown, { readonly result: unknown }, unknown> {
        const { model, maxTokens } = recordOf(context.model.getConfig()) ?? {}
        const id = stringOf(recordOf(context.model.getConfig())?.['modelId']) ?? stringOf(model) ?? 'unknown'
        const call = {
          model: id,
          pieces: piecesOf(context.messages),
          tools: recordsIn(context.toolSpecs).flatMap((spec) =>
            declaredTool(spec['name'], spec['description'], spec['inputSchema']),
          ),
          system: systemOf(context.systemPrompt),
          maxOutputTokens: numberOf(maxTokens),
        }
        // A refusal arrives with the first event at the latest.
        const { turn, answer } = await turns.send(call, async (open) => {
          const messages = open.messages === undefined ? undefined : joined(strands, open.messages)
          const events = next({ ...context, ...(messages !== undefined && { messages: messages as StrandsMessage[] }) })
          return { events, first: await events.next() }
        })
        let step = answer.first
        try {
          for (; step.done !== true; step = await answer.events.next()) yield step.value
        } finally {
          // Without a result the stream failed, or its reader stopped early.
          const { result } = recordOf(step.done === true ? step.value : undefined) ?? {}
          if (step.done === true)
            await turn.answered(usageIn(recordOf(recordOf(result)?.['metadata'])?.['usage'], USAGE))
          else await turn.failed()
        }
        return step.value
      }
      agent.addMiddleware(strands.InvokeModelStage as never, invoke as never)
      if (options.shortenHistory !== true) return
      const shorten = async (event: AfterToolCall<R>): Promise<void> => {
        const { name: tool, toolUseId: callId } = event.toolUse
        if (given.has(tool)) return
        const text = resultText(recordOf(event.result) ?? {})
        const shown = await shortened(session, { tool, callId, output: text })
        if (shown === undefined) return
        const content = [new strands.TextBlock(shown)] as never[]
        event.result = new strands.ToolResultBlock({ toolUseId: callId, status: 'success', content })
      }
      agent.addHook(strands.AfterToolCallEvent as never, shorten as never)
    },
    getTools: () => tools,
  }
}

interface AfterToolCall<R> {
  readonly toolUse: { readonly name: string; readonly toolUseId: string }
  result: R
}

const systemOf = (prompt: unknown): string | undefined => {
  if (typeof prompt === 'string') return prompt
  const texts = recordsIn(prompt).flatMap((block) => stringOf(block['text']) ?? [])
  return texts.length === 0 ? undefined : texts.join('\n')
}

/** Each result in a user message is a piece; the rest of the message is another. */
function piecesOf(messages: readonly StrandsMessage[]): Piece<StrandsMessage>[] {
  return messages.flatMap((message): Piece<StrandsMessage>[] => {
    const blocks = recordsIn(message.content)
    if (message.role === 'assistant')
      return [{ own: [message], message: { role: 'assistant', parts: partsOf(blocks), calls: blocks.flatMap(callOf) } }]
    const results = blocks.filter(({ type }) => type === 'toolResultBlock')
    const rest = blocks.filter(({ type }) => type !== 'toolResultBlock')
    const own = (content: readonly object[]): StrandsMessage[] =>
      content.length === blocks.length
        ? [message]
        : [Object.assign(Object.create(message) as StrandsMessage, { content })]
    return [
      ...results.map((block): Piece<StrandsMessage> => ({
        own: own([block]),
        message: { role: 'result', callId: stringOf(block['toolUseId']) ?? '', parts: [resultText(block)] },
      })),
      ...(rest.length === 0 ? [] : [{ own: own(rest), message: { role: 'user' as const, parts: partsOf(rest) } }]),
    ]
  })
}

const resultText = ({ content }: Fields): string =>
  recordsIn(content)
    .map((block) => stringOf(block['text']) ?? JSON.stringify(block['json'] ?? block))
    .join('\n')

/** Reasoning is left out: the provider decides how much of it counts. */
const partsOf = (blocks: readonly Fields[]): MirrorPart[] =>
  blocks.flatMap((block): MirrorPart[] => {
    const text = stringOf(block['text'])
    if (block['type'] === 'reasoningBlock' || block['type'] === 'toolUseBlock') return []
    return text === undefined ? [JSON.stringify(block)] : [text]
  })

const callOf = ({ type, toolUseId, name, input }: Fields): ToolCall[] =>
  type === 'toolUseBlock'
    ? [{ id: stringOf(toolUseId) ?? '', name: stringOf(name) ?? '', input: recordOf(input) ?? {} }]
    : []

function writeMessages<M, B, R extends B, T>(strands: StrandsParts<M, B, R, T>, message: MirrorMessage): M[] {
  const text = wordsOf(message.parts)
  const words = text === '' ? [] : [new strands.TextBlock(text)]
  if (message.role === 'result') {
    const content = [new strands.TextBlock(text)] as never[]
    const block = new strands.ToolResultBlock({ toolUseId: message.callId, status: 'success', content })
    return [new strands.Message({ role: 'user', content: [block] })]
  }
  if (message.role !== 'assistant') return [new strands.Message({ role: 'user', content: words })]
  const calls = message.calls.map(
    ({ id, name, input }) => new strands.ToolUseBlock({ name, toolUseId: id, input: input as never }),
  )
  return [new strands.Message({ role: 'assistant', content: [...words, ...calls] })]
}

/** Joins neighbouring messages of one role, because some wires require alternating roles. */
function joined<M, B, R extends B, T>(
  strands: StrandsParts<M, B, R, T>,
  messages: readonly (StrandsMessage | M)[],
): (StrandsMessage | M)[] {
  const all: (StrandsMessage | M)[] = []
  let last: { role: unknown; content: readonly object[] } | undefined
  for (const message of messages) {
    const { role, content } = message as StrandsMessage
    if (last !== undefined && last.role === role && role === 'user') {
      last = { role, content: [...last.content, ...content] }
      all[all.length - 1] = new strands.Message({ role: 'user', content: [...last.content] as B[] })
    } else {
      last = { role, content }
      all.push(message)
    }
  }
  return all
}

const USAGE = {
  input: 'inputTokens',
  output: 'outputTokens',
  cacheRead: 'cacheReadInputTokens',
  cacheWrite: 'cacheWriteInputTokens',
}
