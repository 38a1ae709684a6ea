import type { Plimsoll } from '../index.ts'
import { checkAdapter, shortened, type HistoryOptions } from './kit.ts'

export type OpenCodeOptions = HistoryOptions

/** The fields of OpenCode's configuration that the plugin writes. */
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
 * A plugin for OpenCode: every provider in its configuration sends through `plimsoll.fetch`, with OpenCode's session and agent. Set a large
 * `limit.context` for its models, so that OpenCode does not compact, and tell Plimsoll the real window.
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
