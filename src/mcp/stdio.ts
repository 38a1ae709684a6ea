import { checkArguments } from '../core/given.ts'
import { mcpServer } from './server.ts'
import { PLIMSOLL, reachOf, SCOPE, type McpScope } from './scope.ts'
import { loadSdk, loadStdio } from './sdk.ts'
import type { Plimsoll } from '../options.ts'

export interface StdioMcp {
  /** Resolves when the client has closed its end. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** Serves one client over standard input and output. Nothing else may write to standard output. */
export async function serveMcpStdio(plimsoll: Plimsoll, scope: McpScope = {}): Promise<StdioMcp> {
  checkArguments([plimsoll, scope], [PLIMSOLL, { name: 'the scope', shape: SCOPE }], 'serveMcpStdio()')
  const [sdk, { serveStdio, StdioServerTransport }] = await Promise.all([loadSdk(), loadStdio()])
  const transport = new StdioServerTransport()
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
  })
  const served = serveStdio(() => mcpServer(sdk, reachOf(plimsoll, scope)), { transport })
  return { ended, close: () => served.close() }
}
