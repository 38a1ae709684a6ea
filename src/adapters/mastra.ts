import { numberOf, recordOf, recordsIn, stringOf } from '../core/values.ts'
import { usageIn } from '../core/usage.ts'
import type { NewTool } from '../core/conversation.ts'
import type { Plimsoll, Session } from '../index.ts'
import { joined, piecesOf, writePrompt, type PromptMessage } from './ai-sdk-prompt.ts'
import {
  AGENT_OPTIONS,
  checkAdapter,
  declaredTool,
  managedTurns,
  shortened,
  type AgentOptions,
  type ManagedTurn,
} from './kit.ts'

export interface MastraOptions extends AgentOptions {
  /** The name of the session in runs without a memory thread. @default 'mastra' */
  readonly session?: string
  /** @default 'main' */
  readonly agent?: string
  /** The output cap, if the run's model settings have none. */
  readonly maxOutputTokens?: number
}

/** The fields of a step's context that are read here. Mastra keeps `state` for each processor and request. */
interface StepContext {
  readonly state: Record<string, unknown>
  readonly requestContext?: { get(key: never): unknown }
}

/** A processor for the `inputProcessors` of an agent. */
export interface PlimsollProcessor {
  readonly id: 'plimsoll'
  readonly name: 'plimsoll'
  processInputStep(
    step: StepContext & { readonly tools?: Record<string, unknown>; readonly modelSettings?: unknown },
  ): { tools?: Record<string, unknown> } | undefined
  processLLMRequest<P extends PromptMessage>(
    request: StepContext & { readonly prompt: P[]; readonly model: { readonly modelId: string } },
  ): Promise<{ prompt: P[] } | undefined>
  processLLMResponse(response: StepContext & { readonly chunks: readonly unknown[] }): Promise<undefined>
  processAPIError(failure: StepContext & { readonly error: unknown }): Promise<{ retry: boolean } | undefined>
  processToolResult(
    result: StepContext & {
      readonly toolName: string
      readonly toolCallId: string
      readonly args: unknown
      readonly result: unknown
      readonly messageList: { updateToolInvocation(part: never): boolean }
    },
  ): Promise<undefined>
}

/**
 * The model gets a view of the prompt that fits, and its usage is recorded; memory stays whole. Give the memory a large `lastMessages` (the default
 * of 10 cuts the front at each run), and do not use `TokenLimiterProcessor`. If it is one of the `errorProcessors` too, with `maxProcessorRetries:
 * 1`, a call that was refused because of its size is repeated once.
 */
export function plimsollProcessor(
  plimsoll: Pick<Plimsoll, 'session' | 'tools'>,
  options: MastraOptions = {},
): PlimsollProcessor {
  const names = [...AGENT_OPTIONS, 'session', 'agent', 'maxOutputTokens'] as const
  checkAdapter('plimsollProcessor', [plimsoll, options], ['plimsoll'], names)
  const { agent, readers = true, shortenHistory = false, window } = options
  const sessionOf = ({ requestContext }: StepContext): Session =>
    plimsoll.session({ id: threadIn(requestContext) ?? options.session ?? 'mastra', agent })
  const readersOf = (step: StepContext): Record<string, unknown> =>
    readers ? plimsoll.tools(sessionOf(step), 'ai-sdk', { window }).declarations : {}
  return {
    id: 'plimsoll',
    name: 'plimsoll',
    processInputStep(step) {
      const tools = { ...readersOf(step), ...step.tools }
      step.state['tools'] = toolsIn(tools)
      step.state['cap'] = numberOf(recordOf(step.modelSettings)?.['maxOutputTokens'])
      return readers ? { tools } : undefined
    },
    async processLLMRequest(request) {
      const { state, prompt, model } = request
      // The previous call failed and ended without an answer.
      await (state['turn'] as ManagedTurn<PromptMessage> | undefined)?.failed()
      const turns = managedTurns<PromptMessage>(sessionOf(request), writePrompt, options)
      const turn = await turns.open({
        model: model.modelId,
        pieces: piecesOf(prompt),
        tools: (state['tools'] ?? []) as readonly NewTool[],
        maxOutputTokens: numberOf(state['cap']) ?? options.maxOutputTokens,
      })
      state['turn'] = turn
      return turn.messages === undefined ? undefined : { prompt: joined(turn.messages) as typeof prompt }
    },
    async processLLMResponse({ state, chunks }) {
      const finish = recordsIn(chunks).find(({ type }) => type === 'finish')
      // Without a finish reason the answer is incomplete: a refusal comes in chunks too.
      if (finish === undefined) return undefined
      const turn = state['turn'] as ManagedTurn<PromptMessage> | undefined
      state['turn'] = undefined
      state['retried'] = undefined
      await turn?.answered(usageIn(recordOf(recordOf(finish['payload'])?.['output'])?.['usage'], USAGE))
      return undefined
    },
    async processAPIError({ state, error }) {
      const turn = state['turn'] as ManagedTurn<PromptMessage> | undefined
      state['turn'] = undefined
      const isTooLarge = (await turn?.failed(error)) === true
      // At most once per call; a second refusal is passed to Mastra.
      if (!isTooLarge || state['retried'] === true) return undefined
      state['retried'] = true
      return { retry: true }
    },
    async processToolResult(result) {
      const { toolName, toolCallId, args, result: output, messageList } = result
      if (!shortenHistory || toolName in readersOf(result)) return undefined
      const shown = await shortened(sessionOf(result), { tool: toolName, callId: toolCallId, output })
      if (shown === undefined) return undefined
      const toolInvocation = { state: 'result', toolCallId, toolName, args, result: shown }
      messageList.updateToolInvocation({ type: 'tool-invocation', toolInvocation } as never)
      return undefined
    },
  }
}

const threadIn = (context: StepContext['requestContext']): string | undefined =>
  stringOf(recordOf(recordOf(context?.get('MastraMemory' as never))?.['thread'])?.['id'])

const toolsIn = (tools: Readonly<Record<string, unknown>>): NewTool[] =>
  Object.entries(tools).flatMap(([name, tool]) => {
    const { description, inputSchema, parameters } = recordOf(tool) ?? {}
    return declaredTool(name, description, schemaOf(inputSchema ?? parameters))
  })

/** Asks a schema for its JSON form by the interface that libraries share. Other schemas are not counted before the first answer. */
function schemaOf(schema: unknown): NewTool['parameters'] {
  const standard = recordOf(recordOf(schema)?.['~standard'])
  const { input } = recordOf(standard?.['jsonSchema']) ?? {}
  const json: unknown = typeof input === 'function' ? input({ target: 'draft-07' }) : recordOf(schema)?.['jsonSchema']
  return recordOf(json) ?? {}
}

const USAGE = {
  input: 'inputTokens',
  output: 'outputTokens',
  cacheRead: 'cachedInputTokens',
  reasoning: 'reasoningTokens',
}
