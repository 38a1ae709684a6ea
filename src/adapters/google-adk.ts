import { listOf, recordOf, recordsIn, stringOf, type Fields } from '../core/values.ts'
import { usageIn } from '../core/usage.ts'
import { checkArguments } from '../settings/check.ts'
import { detectFormat } from '../formats/registry.ts'
import type { Plimsoll, ReaderTools, Session } from '../index.ts'
import {
  AGENT_OPTIONS,
  checkAdapter,
  openTurn,
  outputText,
  part,
  shortened,
  type AgentOptions,
  type OpenTurn,
} from './kit.ts'
import type { LangChainReader } from '../compose/api/reader-shapes.ts'

export type AdkOptions = AgentOptions

/** The fields of a callback's context that are read here. */
interface CallbackContext {
  readonly invocationId: string
  readonly agentName: string
  readonly invocationContext: { readonly session: { readonly id: string } }
}

interface ModelRequest {
  model?: string
  contents: unknown[]
  config?: { tools?: unknown[] }
  toolsDict?: Record<string, unknown>
}

/**
 * A plugin for `new Runner({ plugins })`: the model gets contents that fit, and its usage is recorded; the session's events stay whole. Pass the
 * `BasePlugin` of `@google/adk`. Do not set the agent's `contextCompactors`.
 */
export function plimsollPlugin<P extends object>(
  plimsoll: Pick<Plimsoll, 'session' | 'tools'>,
  BasePlugin: { readonly prototype: P },
  options: AdkOptions = {},
): P {
  checkAdapter('plimsollPlugin', [plimsoll, BasePlugin, options], ['plimsoll', part('BasePlugin', '')], AGENT_OPTIONS)
  const { window, readers = true, shortenHistory = false } = options
  const open = new Map<string, OpenTurn>()
  const sessionOf = ({ invocationContext, agentName }: CallbackContext): Session =>
    plimsoll.session({ id: invocationContext.session.id, agent: agentName })
  const keyOf = ({ invocationId, agentName }: CallbackContext): string => `${invocationId} ${agentName}`

  const readersOf = (context: CallbackContext): ReaderTools<'langchain'> =>
    plimsoll.tools(sessionOf(context), 'langchain', { window })

  function take(context: CallbackContext): OpenTurn | undefined {
    const waiting = open.get(keyOf(context))
    open.delete(keyOf(context))
    return waiting
  }

  /** Whether the call can be repeated with a smaller request. */
  const refused = async (context: CallbackContext, error: unknown): Promise<boolean> =>
    (await take(context)?.failed(error)) ?? false

  const callbacks = {
    async beforeModelCallback(params: { callbackContext: CallbackContext; llmRequest: ModelRequest }) {
      const { callbackContext: context, llmRequest: request } = params
      if (readers) addReaders(readersOf(context), request)
      const { model = 'unknown' } = request
      const body = bodyOf(request)
      const format = detectFormat(body)
      // The turn of an agent that failed is still open.
      await take(context)?.answered(undefined)
      if (format === undefined) return undefined
      const send = async (): Promise<void> => {
        const waiting = await openTurn(sessionOf(context), window, format, body, model)
        open.set(keyOf(context), waiting)
        if (!waiting.turn.report.untouched) show(request, body, waiting.turn.body as Fields)
      }
      await send()
      RETRIES.set(request, async (error) => {
        const isTooLarge = await refused(context, error)
        if (isTooLarge) await send()
        return isTooLarge
      })
      return undefined
    },
    async afterModelCallback(params: { callbackContext: CallbackContext; llmResponse: unknown }) {
      const { finishReason, errorCode, usageMetadata } = recordOf(params.llmResponse) ?? {}
      // A streamed answer has several responses; the last one has a finish reason.
      if (finishReason !== undefined || errorCode !== undefined)
        await take(params.callbackContext)?.answered(usageIn(usageMetadata, USAGE))
      return undefined
    },
    async onModelErrorCallback(params: { callbackContext: CallbackContext; error: unknown }) {
      // ADK does not run tools that an answer from a callback calls, so `plimsollModel` repeats the call. Without it, only the next request is
      // smaller.
      await refused(params.callbackContext, params.error)
      return undefined
    },
    async afterToolCallback(params: {
      tool: { readonly name: string }
      toolContext: CallbackContext & { readonly functionCallId?: string }
      result: unknown
    }) {
      if (!shortenHistory) return undefined
      const { tool, toolContext, result } = params
      if (readersOf(toolContext).has(tool.name)) return undefined
      const { functionCallId: callId } = toolContext
      const text = stringOf(recordOf(result)?.['output']) ?? outputText(result)
      const shown = await shortened(sessionOf(toolContext), { tool: tool.name, output: text, callId })
      return shown === undefined ? undefined : { output: shown }
    },
  }
  return Object.assign(Object.create(BasePlugin.prototype) as P, { name: 'plimsoll', ...callbacks })
}

/** Only for agents with tools: others make no further steps in which to call a reader. If names collide, your tool is used. */
function addReaders({ declarations: readers }: ReaderTools<'langchain'>, { config, toolsDict }: ModelRequest): void {
  const tools = recordsIn(config?.tools)
  const declaring = tools.find((one) => recordsIn(one['functionDeclarations']).length > 0)
  if (config === undefined || declaring === undefined || toolsDict === undefined) return
  const added = readers.filter(({ fields }) => !(fields.name in toolsDict))
  for (const reader of added) toolsDict[reader.fields.name] = adkTool(reader)
  const declarations = added.map(({ fields: { name, description, schema } }) => ({
    name,
    description,
    parametersJsonSchema: schema,
  }))
  const functionDeclarations = [...recordsIn(declaring['functionDeclarations']), ...declarations]
  config.tools = tools.map((one) => (one === declaring ? { ...one, functionDeclarations } : one))
}

/** The request in the form of the API. */
function bodyOf({ contents, config }: ModelRequest): Fields {
  const { tools, maxOutputTokens, systemInstruction } = recordOf(config) ?? {}
  return {
    contents,
    ...(recordsIn(tools).length > 0 && { tools }),
    ...(systemInstruction !== undefined && { systemInstruction: contentOf(systemInstruction) }),
    ...(maxOutputTokens !== undefined && { generationConfig: { maxOutputTokens } }),
  }
}

/** Writes the view into the request: its contents, and other fields that had to change to make it fit or to forbid tools. */
function show(request: ModelRequest, asked: Fields, { contents, generationConfig, toolConfig, ...view }: Fields): void {
  const { maxOutputTokens } = recordOf(generationConfig) ?? {}
  const { systemInstruction } = view
  const isOther = JSON.stringify(systemInstruction) !== JSON.stringify(asked['systemInstruction'])
  request.contents = [...listOf(contents)]
  request.config = {
    ...request.config,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(toolConfig !== undefined && { toolConfig }),
    ...(isOther && { systemInstruction }),
  }
}

/** For each request, a function that makes it smaller after an error. It returns false if the error is not about size. */
const RETRIES = new WeakMap<object, (error: unknown) => Promise<boolean>>()

/**
 * The model of an agent whose runner has the plugin. After a refusal because of size, it reduces the request further and repeats it once. The
 * plugin alone cannot do that, because ADK does not run tools called in an answer that replaces an error.
 */
export function plimsollModel<M extends { generateContentAsync(request: never, ...more: never[]): unknown }>(
  model: M,
): M {
  checkArguments(
    [model],
    [part('model', 'a model of ADK, such as new Gemini({ model })', 'generateContentAsync')],
    'plimsollModel()',
  )
  const answers = (...given: unknown[]): AsyncIterable<unknown> =>
    model.generateContentAsync(...(given as [never])) as AsyncIterable<unknown>
  async function* generateContentAsync(request: object, ...more: unknown[]): AsyncGenerator {
    let hasBegun = false
    try {
      for await (const answer of answers(request, ...more)) {
        hasBegun = true
        yield answer
      }
      return
    } catch (error) {
      if (hasBegun || (await RETRIES.get(request)?.(error)) !== true) throw error
    }
    yield* answers(request, ...more)
  }
  return new Proxy(model, {
    get(target, name) {
      if (name === 'generateContentAsync') return generateContentAsync
      const value: unknown = Reflect.get(target, name, target)
      // Bound to the model itself, because private fields cannot be accessed through a proxy.
      return typeof value === 'function' ? (value as (...given: unknown[]) => unknown).bind(target) : value
    },
  })
}

/** Only the members of a tool that ADK uses, so that its class need not be imported. */
const adkTool = ({ run, fields: { name, description } }: LangChainReader) => ({
  name,
  description,
  isLongRunning: false,
  checkRequireConfirmation: async () => false,
  runAsync: async ({ args }: { args: unknown }) => ({ output: await run(args) }),
})

const contentOf = (instruction: unknown): unknown =>
  typeof instruction === 'string' ? { parts: [{ text: instruction }] } : instruction

const USAGE = {
  input: 'promptTokenCount',
  output: ['candidatesTokenCount', 'thoughtsTokenCount'],
  reasoning: 'thoughtsTokenCount',
  cacheRead: 'cachedContentTokenCount',
}
