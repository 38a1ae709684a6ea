import { numberOf, recordOf, recordsIn, stringOf } from '../../core/values.ts'
import { detectFormat } from '../../formats/registry.ts'
import type { Plimsoll, Session } from '../../index.ts'
import type { TurnOptions } from './kit/managed-turns.ts'
import { shortened } from './kit/shorten.ts'

export interface PiOptions extends TurnOptions {
  /** Large results are shortened in the session of pi as well, not only in what the model gets. @default false */
  readonly shortenHistory?: boolean
}

/** What pi tells a handler about where it runs, as far as it is read. */
interface ExtensionContext {
  readonly sessionManager: { getSessionId(): string }
  readonly model?: { readonly id: string } | undefined
}

/** The registry of events that pi hands to an extension. */
interface ExtensionApi {
  on(event: never, handler: never): unknown
}

/**
 * An extension of pi: the request body is replaced by a view that fits, usage is recorded, and pi's own compaction is cancelled. The session file
 * of pi stays whole. Tell pi a window of 1,000,000 tokens in models.json: it lowers the answer's length by its own count of the raw history.
 */
export function plimsollExtension(
  plimsoll: Pick<Plimsoll, 'session'>,
  { window, shortenHistory = false }: PiOptions = {},
): (pi: ExtensionApi) => void {
  const sessionOf = ({ sessionManager }: ExtensionContext): Session =>
    plimsoll.session({ id: sessionManager.getSessionId() })
  return (pi) => {
    let open: string | undefined
    const on = (event: string, handler: (event: never, context: ExtensionContext) => unknown): void =>
      void pi.on(event as never, handler as never)
    const discard = async (context: ExtensionContext): Promise<void> => {
      if (open !== undefined) await sessionOf(context).record({ turn: open, refused: true })
      open = undefined
    }
    on('before_provider_request', async ({ payload }: { payload: unknown }, context) => {
      await discard(context)
      const body = recordOf(payload)
      const format = detectFormat(body)
      if (body === undefined || format === undefined) return undefined
      const model = context.model?.id ?? stringOf(body['model']) ?? 'unknown'
      const targets = [{ model, ...(window !== undefined && { window }) }]
      const turn = await sessionOf(context).prepare({ format, body, targets })
      open = turn.id
      return turn.report.untouched ? undefined : turn.body
    })
    on('message_end', async ({ message }: { message: unknown }, context) => {
      const { role, usage } = recordOf(message) ?? {}
      if (role !== 'assistant' || open === undefined) return
      const turn = open
      const { input, output, cacheRead, cacheWrite, totalTokens } = recordOf(usage) ?? {}
      if ((numberOf(totalTokens) ?? 0) === 0) return discard(context)
      open = undefined
      const [read, written] = [numberOf(cacheRead) ?? 0, numberOf(cacheWrite) ?? 0]
      // pi counts the prompt without what the cache had or took.
      const prompt = (numberOf(input) ?? 0) + read + written
      const known = { input: prompt, cacheRead: read, cacheWrite: written, output: numberOf(output) ?? 0, reasoning: 0 }
      await sessionOf(context).record({ turn, usage: known })
    })
    on('session_before_compact', () => ({ cancel: true }))
    if (!shortenHistory) return
    on('tool_result', async (event: { toolName: string; toolCallId: string; content: unknown }, context) => {
      const blocks = recordsIn(event.content)
      const texts = blocks.map((block) => stringOf(block['text']))
      if (texts.some((text) => text === undefined)) return undefined
      const { toolName: tool, toolCallId: callId } = event
      const text = await shortened(sessionOf(context), { tool, callId, output: texts.join('\n') })
      return text === undefined ? undefined : { content: [{ type: 'text', text }] }
    })
  }
}
