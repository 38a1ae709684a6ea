import { numberOf, recordOf, recordsIn, stringOf } from '../core/values.ts'
import { detectFormat } from '../formats/registry.ts'
import type { Plimsoll, PreparedTurn, Session } from '../index.ts'
import { checkAdapter, checkVerdict, type TurnOptions, shortened, sizeRefusals } from './kit.ts'

export interface PiOptions extends TurnOptions {
  /** Gives the agent `recall` and the readers of artifacts. @default true */
  readonly readers?: boolean
  /** Large results are shortened in the session of pi as well, not only in what the model gets. @default false */
  readonly shortenHistory?: boolean
}

/** What pi tells a handler about where it runs, as far as it is read. */
interface ExtensionContext {
  readonly sessionManager: { getSessionId(): string }
  readonly model?: { readonly id: string } | undefined
  abort?(): void
}

/** What pi hands to an extension: its events, and where tools are added. */
interface ExtensionApi {
  on(event: never, handler: never): unknown
  registerTool(tool: never): unknown
}

/** A request that waits for its answer. */
interface Waiting {
  readonly turn: PreparedTurn
  readonly model: string
}

/**
 * An extension of pi: the request body is replaced by a view that fits, usage is recorded, and pi's own compaction is cancelled. The session file
 * of pi stays whole. Tell pi a window of 1,000,000 tokens in models.json: it lowers the answer's length by its own count of the raw history.
 */
export function plimsollExtension(
  plimsoll: Pick<Plimsoll, 'session' | 'tools'>,
  options: PiOptions = {},
): (pi: ExtensionApi) => void {
  checkAdapter('plimsollExtension', [plimsoll, options], ['plimsoll'], ['window', 'readers', 'shortenHistory'])
  const { window, readers = true, shortenHistory = false } = options
  const sessionOf = ({ sessionManager }: ExtensionContext): Session =>
    plimsoll.session({ id: sessionManager.getSessionId() })
  const readersOf = (session: Session) => plimsoll.tools(session, 'langchain', window === undefined ? {} : { window })
  return (pi) => {
    let waiting: Waiting | undefined
    /** A call that was refused because of its size is made once more. */
    let retry: 'none' | 'wanted' | 'made' = 'none'
    const on = (event: string, handler: (event: never, context: ExtensionContext) => unknown): void =>
      void pi.on(event as never, handler as never)
    /** Whether a smaller request may be answered. */
    const discard = async (context: ExtensionContext, error?: unknown): Promise<boolean> => {
      const left = waiting
      waiting = undefined
      if (left === undefined) return false
      const session = sessionOf(context)
      await session.record({ turn: left.turn.id, refused: true })
      return sizeRefusals(session, window).learn(left.turn, left.model, error)
    }
    on('before_provider_request', async ({ payload }: { payload: unknown }, context) => {
      await discard(context)
      const body = recordOf(payload)
      const format = detectFormat(body)
      if (body === undefined || format === undefined) return undefined
      const model = context.model?.id ?? stringOf(body['model']) ?? 'unknown'
      const session = sessionOf(context)
      const turn = await session.prepare({ format, body, targets: [sizeRefusals(session, window).targetOf(model)] })
      // pi goes on without a handler that fails, so it is told to stop as well.
      if (turn.verdict.kind === 'halt') context.abort?.()
      checkVerdict(turn)
      waiting = { turn, model }
      return turn.report.untouched ? undefined : turn.body
    })
    on('message_end', async ({ message }: { message: unknown }, context) => {
      const { role, usage, errorMessage } = recordOf(message) ?? {}
      if (role !== 'assistant' || waiting === undefined) return
      const { input, output, cacheRead, cacheWrite, totalTokens } = recordOf(usage) ?? {}
      if ((numberOf(totalTokens) ?? 0) === 0) {
        const isTooLarge = await discard(context, errorMessage)
        retry = isTooLarge && retry === 'none' ? 'wanted' : 'none'
        return
      }
      const turn = waiting.turn.id
      waiting = undefined
      retry = 'none'
      const [read, written] = [numberOf(cacheRead) ?? 0, numberOf(cacheWrite) ?? 0]
      // pi counts the prompt without what the cache had or took.
      const prompt = (numberOf(input) ?? 0) + read + written
      const known = { input: prompt, cacheRead: read, cacheWrite: written, output: numberOf(output) ?? 0, reasoning: 0 }
      await sessionOf(context).record({ turn, usage: known })
    })
    on('session_before_compact', () => ({ cancel: true }))
    // pi has taken the failed answer out of its context by then, as it does before a compaction of its own.
    on('agent_before_settle', ({ context: after }: { context?: { canContinue?: boolean } }) => {
      if (retry !== 'wanted' || after?.canContinue !== true) return undefined
      retry = 'made'
      return { continue: true }
    })
    if (readers) for (const tool of readerTools()) pi.registerTool(tool as never)
    if (shortenHistory) on('tool_result', shorten)
  }

  /** Declared once for all sessions of pi; what a call may open is what its own session holds. */
  function readerTools(): object[] {
    return readersOf(plimsoll.session({ id: 'pi' })).declarations.map(({ fields: { name, description, schema } }) => ({
      name,
      label: name,
      description,
      parameters: schema,
      async execute(_id: string, input: unknown, _signal: unknown, _update: unknown, context: ExtensionContext) {
        const text = await readersOf(sessionOf(context)).call(name, input)
        return { content: [{ type: 'text', text }], details: {} }
      },
    }))
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

interface ToolResultEvent {
  readonly toolName: string
  readonly toolCallId: string
  readonly content: unknown
}
