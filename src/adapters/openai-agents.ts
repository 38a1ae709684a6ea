import type { AgentInputItem, Model, ModelProvider, ModelRequest, Session as AgentsSession } from '@openai/agents'
import type { NewTool } from '../core/conversation.ts'
import { numberOf, parsedJson, recordOf, recordsIn, stringOf, type Fields } from '../core/values.ts'
import { usageIn, type Usage } from '../core/usage.ts'
import { readUrl } from '../formats/kit/reading.ts'
import type { MirrorMedia, MirrorMessage, MirrorPart } from '../formats/mirror.ts'
import type { ToolCall } from '../formats/wire/chat.ts'
import type { Argument } from '../settings/check.ts'
import type { Plimsoll, Session } from '../index.ts'
import { wordsOf } from './ai-sdk-prompt.ts'
import {
  managedTurns,
  type FrameworkCall,
  type KnownCalls,
  type ManagedTurn,
  type Piece,
  type TurnOptions,
  checkAdapter,
  declaredTool,
  part,
  shortened,
  type HistoryOptions,
} from './kit.ts'
import type { AgentsReader } from '../compose/api/reader-shapes.ts'
import { any, code, driver, either, list } from '../settings/values.ts'

export interface AgentsOptions extends TurnOptions {
  /** The session to use: one of Plimsoll, one of the Agents SDK, or a function that returns the name for the current run. */
  readonly session: Session | AgentsSession | (() => string | Promise<string>)
  /** @default 'main' */
  readonly agent?: string
}

/**
 * A provider whose models get a view of the input that fits, and whose usage is recorded. Items of the run and of its session stay whole. Use it in
 * `new Runner({ modelProvider })` and not in `callModelInputFilter`, which would store what a view inserts.
 */
export const plimsollProvider = (
  plimsoll: Pick<Plimsoll, 'session'>,
  provider: ModelProvider,
  options: AgentsOptions,
): ModelProvider => {
  checkAdapter('plimsollProvider', [plimsoll, provider, options], ['plimsoll', PROVIDER], ['window', 'agent'], {
    needed: SESSION_ARGUMENT,
  })
  return {
    async getModel(name) {
      return plimsollModel(plimsoll, await provider.getModel(name), { ...options, name: name ?? 'unknown' })
    },
  }
}

const PROVIDER = part('provider', 'a model provider of the Agents SDK, with getModel()', 'getModel')
/** Required: without a session, conversations could not be told apart. */
const SESSION_ARGUMENT = {
  session: either(
    'a session of Plimsoll or of the Agents SDK, or a function that gives a name',
    code(),
    driver('', 'prepare'),
    driver('', 'getSessionId'),
  ),
}

/** The same for one model. `name` identifies it for window and prices. */
export function plimsollModel(
  plimsoll: Pick<Plimsoll, 'session'>,
  inner: Model,
  options: AgentsOptions & { readonly name: string },
): Model {
  const turnsOf = async () => managedTurns<AgentInputItem>(await sessionOf(plimsoll, options), writeItems, options)
  const advice = inner.getRetryAdvice?.bind(inner)
  return {
    supportsPromptModelSelection: inner.supportsPromptModelSelection,
    ...(advice !== undefined && { getRetryAdvice: advice }),
    async getResponse(request) {
      if (isStoredByProvider(request)) return inner.getResponse(request)
      const turns = await turnsOf()
      const { turn, answer } = await turns.send(callOf(options.name, request), (open) =>
        inner.getResponse(withTurn(request, open)),
      )
      await turn.answered(usageOf(answer.usage))
      return answer
    },
    async *getStreamedResponse(request) {
      if (isStoredByProvider(request)) return yield* inner.getStreamedResponse(request)
      const turns = await turnsOf()
      // A refusal arrives with the first event at the latest.
      const { turn, answer } = await turns.send(callOf(options.name, request), async (open) => {
        const events = inner.getStreamedResponse(withTurn(request, open))[Symbol.asyncIterator]()
        return { events, first: await events.next() }
      })
      let isRecorded = false
      try {
        for (let step = answer.first; step.done !== true; step = await answer.events.next()) {
          if (step.value.type === 'response_done') {
            isRecorded = true
            await turn.answered(usageOf(step.value.response.usage))
          }
          yield step.value
        }
      } finally {
        if (!isRecorded) await turn.answered(undefined)
        await answer.events.return?.()
      }
    },
  }
}

async function sessionOf(plimsoll: Pick<Plimsoll, 'session'>, { session, agent }: AgentsOptions): Promise<Session> {
  if (typeof session === 'function') return plimsoll.session({ id: await session(), agent })
  if ('getSessionId' in session) return plimsoll.session({ id: await session.getSessionId(), agent })
  return session
}

/** The provider holds the history and the request contains only new items, so nothing could be removed from it. */
const isStoredByProvider = ({ previousResponseId, conversationId }: ModelRequest): boolean =>
  previousResponseId !== undefined || conversationId !== undefined

function callOf(model: string, request: ModelRequest): FrameworkCall<AgentInputItem> {
  const { systemInstructions: system, input, modelSettings, tools, handoffs } = request
  const items: AgentInputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  return {
    model,
    pieces: piecesOf(items),
    tools: [...recordsIn(tools), ...recordsIn(handoffs)].flatMap(toolOf),
    system: system === '' ? undefined : system,
    maxOutputTokens: modelSettings.maxTokens,
  }
}

const toolOf = (tool: Fields): NewTool[] =>
  declaredTool(
    tool['name'] ?? tool['toolName'],
    tool['description'] ?? tool['toolDescription'],
    tool['parameters'] ?? tool['inputJsonSchema'],
  )

function withTurn(request: ModelRequest, turn: ManagedTurn<AgentInputItem>): ModelRequest {
  const { messages, system, maxOutputTokens, forbidsTools } = turn
  return {
    ...request,
    ...(messages !== undefined && { input: [...messages] }),
    ...(system !== undefined && { systemInstructions: system }),
    modelSettings: {
      ...request.modelSettings,
      ...(maxOutputTokens !== undefined && { maxTokens: maxOutputTokens }),
      ...(forbidsTools && { toolChoice: 'none' }),
    },
  }
}

/** All items that the model wrote in a row form one piece, because reasoning is refused without the call that it led to. */
function piecesOf(items: readonly AgentInputItem[]): Piece<AgentInputItem>[] {
  const pieces: Piece<AgentInputItem>[] = []
  let open: { readonly own: AgentInputItem[]; readonly parts: MirrorPart[]; readonly calls: ToolCall[] } | undefined
  const close = (): void => {
    if (open !== undefined)
      pieces.push({ own: open.own, message: { role: 'assistant', parts: open.parts, calls: open.calls } })
    open = undefined
  }
  for (const item of items) {
    const told = inputMessageOf(item)
    if (told !== undefined) {
      close()
      pieces.push({ own: [item], message: told })
      continue
    }
    open ??= { own: [], parts: [], calls: [] }
    open.own.push(item)
    open.parts.push(...answerPartsOf(item))
    open.calls.push(...callsIn(item))
  }
  close()
  return pieces
}

/** The message of an item that the model did not write; undefined for the model's own items. */
function inputMessageOf(item: Fields): MirrorMessage | undefined {
  const { role, type, content, callId, output } = item
  if (role === 'user' || role === 'system') return { role, parts: partsOf(content) }
  if (typeof callId !== 'string' || !/_(?:result|output)$/.test(String(type))) return undefined
  return { role: 'result', callId, parts: partsOf(output) }
}

function partsOf(content: unknown): MirrorPart[] {
  if (typeof content === 'string') return [content]
  const list = Array.isArray(content) ? recordsIn(content) : [recordOf(content) ?? {}]
  return list.map((part) => stringOf(part['text']) ?? mediaOf(part) ?? JSON.stringify(part))
}

function mediaOf(part: Fields): MirrorMedia | undefined {
  const image = stringOf(part['image'])
  if (image === undefined) return undefined
  const { mime = 'image/*', data, reference } = readUrl(image)
  return { mime, data, url: reference }
}

/** Reasoning is left out: the provider decides how much of it counts. */
function answerPartsOf(item: Fields): MirrorPart[] {
  if (item['role'] === 'assistant') return partsOf(item['content'])
  return item['type'] === 'reasoning' || item['callId'] !== undefined ? [] : [JSON.stringify(item)]
}

function callsIn(item: Fields): ToolCall[] {
  const { type, callId, name, arguments: written, ...rest } = item
  if (typeof callId !== 'string') return []
  const input = typeof written === 'string' ? parsedJson(written) : rest
  return [{ id: callId, name: stringOf(name) ?? String(type), input: recordOf(input) ?? {} }]
}

function writeItems(message: MirrorMessage, calls: KnownCalls): AgentInputItem[] {
  const text = wordsOf(message.parts)
  switch (message.role) {
    case 'system':
      return [{ type: 'message', role: 'system', content: text }]
    case 'user':
      return [{ type: 'message', role: 'user', content: message.parts.map(inputPart) }]
    case 'result': {
      const { callId } = message
      const name = calls.get(callId) ?? 'tool'
      return [{ type: 'function_call_result', callId, name, status: 'completed', output: text }]
    }
    case 'assistant':
      return [
        ...(text === ''
          ? []
          : [
              {
                type: 'message' as const,
                role: 'assistant' as const,
                status: 'completed' as const,
                content: [{ type: 'output_text' as const, text }],
              },
            ]),
        ...message.calls.map(({ id, name, input }) => ({
          type: 'function_call' as const,
          callId: id,
          name,
          status: 'completed' as const,
          arguments: JSON.stringify(input),
        })),
      ]
  }
}

const inputPart = (part: MirrorPart) =>
  typeof part === 'string'
    ? { type: 'input_text' as const, text: part }
    : { type: 'input_image' as const, image: part.url ?? `data:${part.mime};base64,${part.data ?? ''}` }

/** Some models report the usage of several requests separately. */
function usageOf(usage: object): Usage | undefined {
  const { inputTokensDetails, outputTokensDetails } = usage as Fields
  const known = usageIn(usage, { input: 'inputTokens', output: 'outputTokens' })
  if (known === undefined || known.input === 0) return undefined
  const cacheRead = sumOf(inputTokensDetails, 'cached_tokens')
  const reasoning = sumOf(outputTokensDetails, 'reasoning_tokens')
  return { ...known, cacheRead, reasoning }
}

const sumOf = (details: unknown, key: string): number =>
  recordsIn([details].flat()).reduce((sum, one) => sum + (numberOf(one[key]) ?? 0), 0)

/** The parts of an Agents SDK function tool that the wrapper uses. */
interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  invoke(context: never, input: string, details?: never): Promise<unknown>
}

export interface AgentsToolOptions extends HistoryOptions {
  /** The model's window in tokens; for a small one there is one compact reader. @default the window of the options */
  readonly window?: number
}

const TOOLS: Argument = { name: 'tools', schema: list('', any()) }

/** An agent's tools, followed by `recall` and the artifact readers. */
export function plimsollTools<T extends { readonly type: string }>(
  plimsoll: Pick<Plimsoll, 'tools'>,
  session: Session,
  tools: readonly T[],
  options: AgentsToolOptions = {},
): (T | AgentsReader)[] {
  const first = ['plimsoll', 'session', TOOLS] as const
  checkAdapter('plimsollTools', [plimsoll, session, tools, options], first, ['window', 'shortenHistory'])
  const { window, shortenHistory = false } = options
  const { declarations } = plimsoll.tools(session, 'openai-agents', { window })
  return [...(shortenHistory ? tools.map((tool) => shortening(session, tool)) : tools), ...declarations]
}

const isFunctionTool = (tool: object): tool is FunctionTool => 'invoke' in tool && 'name' in tool

function shortening<T extends { readonly type: string }>(session: Session, tool: T): T {
  if (!isFunctionTool(tool)) return tool
  const invoke: FunctionTool['invoke'] = async (context, input, details) => {
    const output = await tool.invoke(context, input, details)
    const callId = stringOf(recordOf(recordOf(details)?.['toolCall'])?.['callId'])
    if (typeof output !== 'string' && !isPlain(output)) return output
    return (await shortened(session, { tool: tool.name, output, callId })) ?? output
  }
  return { ...tool, invoke }
}

/** Pictures and files are not shortened here; the view deals with them. */
const isPlain = (output: unknown): boolean => !['image', 'file'].includes(String(recordOf(output)?.['type']))
