import { numberOf, recordOf, recordsIn, stringOf } from '../core/values.ts'
import { usageIn } from '../core/usage.ts'
import { detectFormat } from '../formats/registry.ts'
import type { Plimsoll, Session } from '../index.ts'
import { AGENT_OPTIONS, checkAdapter, openTurn, shortened, type AgentOptions, type OpenTurn } from './kit.ts'
import type { LangChainReader } from '../compose/api/reader-shapes.ts'

export type PiOptions = AgentOptions

/** The fields of pi's context that are read here. */
interface ExtensionContext {
  readonly sessionManager: { getSessionId(): string }
  readonly model?: { readonly id: string } | undefined
  abort?(): void
}

/** The part of pi's interface for extensions that is used: events and tools. */
interface ExtensionApi {
  on(event: never, handler: never): unknown
  registerTool(tool: never): unknown
}

/**
 * An extension for pi: replaces the request body by a view that fits, records usage, and cancels pi's own compaction. pi's session file stays
 * whole. Set a window of 1,000,000 tokens in models.json, because pi lowers the output cap by its own count of the whole history.
 */
export function plimsollExtension(
  plimsoll: Pick<Plimsoll, 'session' | 'tools'>,
  options: PiOptions = {},
): (pi: ExtensionApi) => void {
  checkAdapter('plimsollExtension', [plimsoll, options], ['plimsoll'], AGENT_OPTIONS)
  const { window, readers = true, shortenHistory = false } = options
  const sessionOf = ({ sessionManager }: ExtensionContext): Session =>
    plimsoll.session({ id: sessionManager.getSessionId() })
  const readersOf = (session: Session) => plimsoll.tools(session, 'langchain', { window })
  return (pi) => {
    let waiting: OpenTurn | undefined
    /** Whether a call that was refused because of its size is repeated; at most once. */
    let retry: 'none' | 'wanted' | 'made' = 'none'
    const on = (event: string, handler: (event: never, context: ExtensionContext) => unknown): void =>
      void pi.on(event as never, handler as never)
    /** Whether the call can be repeated with a smaller request. */
    const discard = async (error?: unknown): Promise<boolean> => {
      const left = waiting
      waiting = undefined
      return (await left?.failed(error)) ?? false
    }
    on('before_provider_request', async ({ payload }: { payload: unknown }, context) => {
      await discard()
      const body = recordOf(payload)
      const format = detectFormat(body)
      if (body === undefined || format === undefined) return undefined
      const model = context.model?.id ?? stringOf(body['model']) ?? 'unknown'
      // pi continues when a handler fails, so the run is aborted too.
      waiting = await openTurn(sessionOf(context), window, format, body, model, () => context.abort?.())
      const { turn } = waiting
      return turn.report.untouched ? undefined : turn.body
    })
    on('message_end', async ({ message }: { message: unknown }) => {
      const { role, usage, errorMessage } = recordOf(message) ?? {}
      if (role !== 'assistant' || waiting === undefined) return
      const { totalTokens } = recordOf(usage) ?? {}
      if ((numberOf(totalTokens) ?? 0) === 0) {
        const isTooLarge = await discard(errorMessage)
        retry = isTooLarge && retry === 'none' ? 'wanted' : 'none'
        return
      }
      const answered = waiting
      waiting = undefined
      retry = 'none'
      // pi's input count excludes tokens that the cache read or wrote.
      await answered.answered(usageIn(usage, USAGE))
    })
    on('session_before_compact', () => ({ cancel: true }))
    // At this point pi has removed the failed answer from its context, as before its own compaction.
    on('agent_before_settle', ({ context: after }: { context?: { canContinue?: boolean } }) => {
      if (retry !== 'wanted' || after?.canContinue !== true) return undefined
      retry = 'made'
      return { continue: true }
    })
    // Declared once for all sessions of pi; a call only opens content of its own session.
    const call: ReaderCall = (name, input, context) => readersOf(sessionOf(context)).call(name, input)
    const declared = readers ? readersOf(plimsoll.session({ id: 'pi' })).declarations : []
    for (const one of declared) pi.registerTool(piTool(one, call) as never)
    if (shortenHistory) on('tool_result', shorten)
  }

  async function shorten(event: never, context: ExtensionContext): Promise<object | undefined> {
    const { toolName: tool, toolCallId: callId, content }: ToolResultEvent = event
    const texts = recordsIn(content).map((block) => stringOf(block['text']))
    const session = sessionOf(context)
    if (texts.includes(undefined) || readersOf(session).has(tool)) return undefined
    const text = await shortened(session, { tool, callId, output: texts.join('\n') })
    return text === undefined ? undefined : { content: [{ type: 'text', text }] }
  }
}

type ReaderCall = (name: string, input: unknown, context: ExtensionContext) => Promise<string>

const piTool = ({ fields: { name, description, schema } }: LangChainReader, call: ReaderCall) => ({
  name,
  label: name,
  description,
  parameters: schema,
  async execute(_id: string, input: unknown, _signal: unknown, _update: unknown, context: ExtensionContext) {
    return { content: [{ type: 'text', text: await call(name, input, context) }], details: {} }
  },
})

interface ToolResultEvent {
  readonly toolName: string
  readonly toolCallId: string
  readonly content: unknown
}

const USAGE = {
  input: ['input', 'cacheRead', 'cacheWrite'],
  cacheRead: 'cacheRead',
  cacheWrite: 'cacheWrite',
  output: 'output',
}
