import { usageIn } from '../core/usage.ts'
import type { Plimsoll, Session } from '../index.ts'
import { declaredTools, joined, piecesOf, USAGE, writePrompt, type PromptMessage } from './ai-sdk-prompt.ts'
import type { Argument } from '../settings/check.ts'
import { any, map, number } from '../settings/values.ts'
import {
  checkAdapter,
  managedTurns,
  shortened,
  type HistoryOptions,
  type ManagedTurn,
  type TurnOptions,
} from './kit.ts'
import type { AiSdkReader } from '../compose/api/reader-shapes.ts'

export interface MiddlewareOptions<Version extends SdkVersion = SdkVersion> extends TurnOptions {
  /** The major version of `ai` in use. @default 7 */
  readonly sdk?: Version
}

type SdkVersion = 6 | 7
const SDK = number('', 'count', { words: 'the major version of ai', min: 6, max: 7 })

/** The parameters of a model call that are read here. */
interface CallParams {
  readonly prompt: readonly PromptMessage[]
  readonly tools?: readonly unknown[]
  readonly maxOutputTokens?: number
}

/** Middleware for `wrapLanguageModel` of the AI SDK; its functions take the types of the version that calls them. */
export interface PlimsollMiddleware<Specification extends 'v3' | 'v4'> {
  readonly specificationVersion: Specification
  wrapGenerate<P extends CallParams, R extends { readonly usage: unknown }>(options: {
    readonly params: P
    readonly model: { readonly modelId: string; doGenerate(params: P): PromiseLike<R> }
  }): Promise<R>
  wrapStream<P extends CallParams, R extends { readonly stream: ReadableStream<{ readonly type: string }> }>(options: {
    readonly params: P
    readonly model: { readonly modelId: string; doStream(params: P): PromiseLike<R> }
  }): Promise<R>
}

/**
 * Gives the model a view of the prompt that fits, and records its usage. Messages, steps and UI parts of the SDK stay whole. For models whose
 * requests do not go through a `fetch` that can be set; for all others, use `plimsoll.fetch` alone.
 */
export function plimsollMiddleware(session: Session, options: MiddlewareOptions<6>): PlimsollMiddleware<'v3'>
export function plimsollMiddleware(session: Session, options?: MiddlewareOptions<7>): PlimsollMiddleware<'v4'>
export function plimsollMiddleware(session: Session, given: MiddlewareOptions = {}): object {
  checkAdapter('plimsollMiddleware', [session, given], ['session'], ['window'], { more: { sdk: SDK } })
  const { sdk = 7, ...options } = given
  const turns = managedTurns<PromptMessage>(session, writePrompt, options)
  const callOf = (modelId: string, params: CallParams) => ({
    model: modelId,
    pieces: piecesOf(params.prompt),
    tools: declaredTools(params.tools),
    maxOutputTokens: params.maxOutputTokens,
  })
  const middleware: Omit<PlimsollMiddleware<'v4'>, 'specificationVersion'> = {
    async wrapGenerate({ params, model }) {
      const { turn, answer } = await turns.send(callOf(model.modelId, params), (open) =>
        model.doGenerate(withTurn(params, open)),
      )
      await turn.answered(usageIn(answer.usage, USAGE))
      return answer
    },
    async wrapStream({ params, model }) {
      const { turn, answer } = await turns.send(callOf(model.modelId, params), (open) =>
        model.doStream(withTurn(params, open)),
      )
      return { ...answer, stream: recorded(answer.stream, turn) }
    },
  }
  return { specificationVersion: sdk === 6 ? 'v3' : 'v4', ...middleware }
}

/** Replaces only members that every version has, by values of the same type. */
function withTurn<P extends CallParams>(params: P, turn: ManagedTurn<PromptMessage>): P {
  const { messages, maxOutputTokens, forbidsTools } = turn
  return {
    ...params,
    ...(messages !== undefined && { prompt: joined(messages) }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(forbidsTools && { toolChoice: { type: 'none' } }),
  }
}

/** The same stream. When it ends, or its reader stops early, the turn is closed. */
function recorded<T extends { readonly type: string }>(
  stream: ReadableStream<T>,
  turn: ManagedTurn<PromptMessage>,
): ReadableStream<T> {
  const reader = stream.getReader()
  let isOpen = true
  const close = async (how: () => Promise<unknown>): Promise<void> => {
    if (!isOpen) return
    isOpen = false
    await how()
  }
  return new ReadableStream<T>({
    async pull(out) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          await close(() => turn.answered(undefined))
          out.close()
          return
        }
        if (value.type === 'finish' && 'usage' in value) await close(() => turn.answered(usageIn(value.usage, USAGE)))
        out.enqueue(value)
      } catch (error) {
        await close(() => turn.failed())
        throw error
      }
    },
    async cancel(reason) {
      await close(() => turn.failed())
      await reader.cancel(reason)
    },
  })
}

/** The parts of an AI SDK tool that the wrapper uses. */
interface SdkTool {
  toModelOutput?(options: { toolCallId: string; input: unknown; output: unknown }): unknown
}

export interface PlimsollToolOptions extends HistoryOptions {
  /** The model's window in tokens; for a small one there is one compact reader. @default the window of the options */
  readonly window?: number
}

const TOOLS: Argument = { name: 'tools', schema: map('', any()) }

/** Your tools, `recall` and the artifact readers: the `tools` of a call or an agent. */
export function plimsollTools<T extends Readonly<Record<string, object>>>(
  plimsoll: Pick<Plimsoll, 'tools'>,
  session: Session,
  tools: T,
  options: PlimsollToolOptions = {},
): T & Record<string, AiSdkReader> {
  checkAdapter(
    'plimsollTools',
    [plimsoll, session, tools, options],
    ['plimsoll', 'session', TOOLS],
    ['window', 'shortenHistory'],
  )
  const { window, shortenHistory = false } = options
  const { declarations } = plimsoll.tools(session, 'ai-sdk', { window })
  const own = shortenHistory ? shortening(session, tools) : tools
  // If names collide, your tool is used.
  return { ...declarations, ...own }
}

function shortening<T extends Readonly<Record<string, SdkTool>>>(session: Session, tools: T): T {
  const wrapped = Object.entries(tools).map(([name, tool]): [string, SdkTool] => [
    name,
    {
      ...tool,
      async toModelOutput(options) {
        const given = await tool.toModelOutput?.(options)
        const shown = await shortened(session, {
          tool: name,
          callId: options.toolCallId,
          output: given === undefined ? options.output : textIn(given),
        })
        return shown === undefined ? (given ?? wholeOutput(options.output)) : { type: 'text', value: shown }
      },
    },
  ])
  return Object.fromEntries(wrapped) as T
}

const wholeOutput = (output: unknown): object =>
  typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output ?? null }

/** Pictures are not shortened here; the view deals with them. */
const textIn = (output: unknown): unknown =>
  typeof output === 'object' && output !== null && 'value' in output && 'type' in output && output.type !== 'content'
    ? output.value
    : ''
