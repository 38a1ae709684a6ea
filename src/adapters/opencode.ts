import type { Plimsoll } from '../index.ts'
import { checkAdapter, shortened, type HistoryOptions } from './kit.ts'

export type OpenCodeOptions = HistoryOptions

/** The configuration that OpenCode hands to a plugin, as far as it is written. */
interface OpenCodeConfig {
  provider?: Record<string, { options?: Record<string, unknown> }>
}

/** Hooks of an OpenCode plugin. */
export interface OpenCodeHooks {
  config(config: OpenCodeConfig): Promise<void>
  'chat.headers'(
    input: { readonly sessionID: string; readonly agent: string },
    output: { headers: Record<string, string> },
  ): Promise<void>
  'tool.execute.after'(
    input: { readonly tool: string; readonly sessionID: string; readonly callID: string },
    output: { output: string },
  ): Promise<void>
}

/**
 * A plugin of OpenCode: every provider of its configuration sends through `plimsoll.fetch`, under the session and agent that OpenCode names.
 * Give its models a generous `limit.context`, so that its own compaction stays quiet, and Plimsoll the real window.
 */
export function plimsollPlugin(
  plimsoll: Pick<Plimsoll, 'fetch' | 'session' | 'tools'>,
  options: OpenCodeOptions = {},
): () => Promise<OpenCodeHooks> {
  checkAdapter('plimsollPlugin', [plimsoll, options], ['plimsoll'], ['shortenHistory'])
  const { shortenHistory = false } = options
  return async () => ({
    async config({ provider = {} }) {
      for (const one of Object.values(provider)) one.options = { ...one.options, fetch: plimsoll.fetch }
    },
    async 'chat.headers'({ sessionID, agent }, { headers }) {
      headers['x-plimsoll-session'] = sessionID
      headers['x-plimsoll-agent'] = agent
    },
    async 'tool.execute.after'({ tool, sessionID, callID }, result) {
      if (!shortenHistory) return
      const session = plimsoll.session({ id: sessionID })
      result.output = (await shortened(session, { tool, callId: callID, output: result.output })) ?? result.output
    },
  })
}
