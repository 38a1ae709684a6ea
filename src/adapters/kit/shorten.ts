import type { Session } from '../../engine/session/session.ts'

/** A tool's output as a model reads it: text as it is, anything else as JSON. */
export const outputText = (output: unknown): string =>
  typeof output === 'string' ? output : (JSON.stringify(output) ?? '')

/** The text that enters the history in the place of a result: the same, or a view with the handle of the exact bytes. */
export async function shortened(
  session: Pick<Session, 'toolResult'>,
  result: { readonly tool: string; readonly callId?: string; readonly output: unknown },
): Promise<string | undefined> {
  const { tool, callId, output } = result
  const shown = await session.toolResult({
    tool,
    output: outputText(output),
    ...(callId !== undefined && { callId }),
  })
  return shown.truncated ? shown.text : undefined
}
