import { numberOf, recordOf, recordsIn, stringOf } from '../../core/values.ts'
import type { Usage } from '../../core/usage.ts'
import { detectFormat } from '../../formats/registry.ts'
import type { Plimsoll, Session } from '../../index.ts'
import { outputText, shortened } from './kit/shorten.ts'
import type { TurnOptions } from './kit/managed-turns.ts'

export interface AdkOptions extends TurnOptions {
  /** Large results are shortened in the events of the session as well, not only in what the model gets. @default false */
  readonly shortenHistory?: boolean
}

/** Where a callback happens, as far as it is read. */
interface CallbackContext {
  readonly invocationId: string
  readonly agentName: string
  readonly invocationContext: { readonly session: { readonly id: string } }
}

interface ModelRequest {
  model?: string
  contents: unknown[]
  config?: object
}

/**
 * A plugin for `new Runner({ plugins })`: the model gets contents that fit, and its usage is recorded; the events of the session stay whole.
 * `BasePlugin` is the one of `@google/adk`. Leave `contextCompactors` of the agent unset.
 */
export function plimsollPlugin<P extends object>(
  plimsoll: Pick<Plimsoll, 'session'>,
  BasePlugin: { readonly prototype: P },
  { window, shortenHistory = false }: AdkOptions = {},
): P {
  const open = new Map<string, string>()
  const sessionOf = ({ invocationContext, agentName }: CallbackContext): Session =>
    plimsoll.session({ id: invocationContext.session.id, agent: agentName })
  const keyOf = ({ invocationId, agentName }: CallbackContext): string => `${invocationId} ${agentName}`

  async function close(context: CallbackContext, usage: Partial<Usage> | undefined): Promise<void> {
    const turn = open.get(keyOf(context))
    if (turn === undefined) return
    open.delete(keyOf(context))
    const none = { cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
    const known = usage?.input === undefined ? {} : { usage: { ...none, ...usage, input: usage.input } }
    await sessionOf(context).record({ turn, ...known })
  }

  const callbacks = {
    async beforeModelCallback(params: { callbackContext: CallbackContext; llmRequest: ModelRequest }) {
      const { callbackContext: context, llmRequest: request } = params
      const { contents, model = 'unknown' } = request
      const { tools, maxOutputTokens, systemInstruction } = recordOf(request.config) ?? {}
      const body = {
        contents,
        ...(recordsIn(tools).length > 0 && { tools }),
        ...(systemInstruction !== undefined && { systemInstruction: contentOf(systemInstruction) }),
        ...(maxOutputTokens !== undefined && { generationConfig: { maxOutputTokens } }),
      }
      const format = detectFormat(body)
      // An agent that failed leaves its turn open.
      await close(context, undefined)
      if (format === undefined) return undefined
      const targets = [{ model, ...(window !== undefined && { window }) }]
      const turn = await sessionOf(context).prepare({ format, body, targets })
      open.set(keyOf(context), turn.id)
      if (turn.report.untouched) return undefined
      request.contents = [...turn.body.contents]
      return undefined
    },
    async afterModelCallback(params: { callbackContext: CallbackContext; llmResponse: unknown }) {
      const { finishReason, errorCode, usageMetadata } = recordOf(params.llmResponse) ?? {}
      // A streamed answer comes in several responses; the one with a reason to end is the last.
      if (finishReason !== undefined || errorCode !== undefined)
        await close(params.callbackContext, usageOf(usageMetadata))
      return undefined
    },
    async onModelErrorCallback(params: { callbackContext: CallbackContext }) {
      const turn = open.get(keyOf(params.callbackContext))
      open.delete(keyOf(params.callbackContext))
      if (turn !== undefined) await sessionOf(params.callbackContext).record({ turn, refused: true })
      return undefined
    },
    async afterToolCallback(params: {
      tool: { readonly name: string }
      toolContext: CallbackContext & { readonly functionCallId?: string }
      result: unknown
    }) {
      if (!shortenHistory) return undefined
      const { tool, toolContext, result } = params
      const { functionCallId: callId } = toolContext
      const text = stringOf(recordOf(result)?.['output']) ?? outputText(result)
      const known = callId === undefined ? {} : { callId }
      const shown = await shortened(sessionOf(toolContext), { tool: tool.name, output: text, ...known })
      return shown === undefined ? undefined : { output: shown }
    },
  }
  return Object.assign(Object.create(BasePlugin.prototype) as P, { name: 'plimsoll', ...callbacks })
}

const contentOf = (instruction: unknown): unknown =>
  typeof instruction === 'string' ? { parts: [{ text: instruction }] } : instruction

function usageOf(usage: unknown): Partial<Usage> | undefined {
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, cachedContentTokenCount } = recordOf(usage) ?? {}
  const input = numberOf(promptTokenCount)
  if (input === undefined) return undefined
  const reasoning = numberOf(thoughtsTokenCount) ?? 0
  return {
    input,
    output: (numberOf(candidatesTokenCount) ?? 0) + reasoning,
    reasoning,
    cacheRead: numberOf(cachedContentTokenCount) ?? 0,
  }
}
