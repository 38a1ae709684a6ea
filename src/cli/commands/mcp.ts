import { Command } from 'commander'
import { createPlimsoll } from '../../plimsoll.ts'
import { optionsOf, readConfig } from '../../settings/index.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Plimsoll } from '../../plimsoll.ts'
import { tenantsWithSessions } from '../../dashboard/stored-sessions.ts'
import { startMcpHttp, type McpHttpOptions, type McpScope } from '../../mcp/index.ts'
import { serveChoiceStdio, serveMcpStdio } from '../../mcp/server.ts'
import { knownModels } from '../catalogue.ts'
import { plural } from '../kit/figures.ts'
import { keepServing, when } from '../kit/output.ts'
import type { Choice } from '../../mcp/scope.ts'
import { sessionsIn } from '../agents/working-folder.ts'
import { portNumber, several } from '../option-values.ts'
import { withExamples } from '../kit/examples.ts'
import {
  assertThere,
  listSessions,
  tenantOfSession,
  addStoreOptions,
  withNewStores,
  type StoreFlags,
  type Stores,
} from '../stores.ts'

interface McpFlags extends StoreFlags {
  readonly session?: string
  readonly agent?: string
  readonly http?: boolean
  readonly port: number
  readonly host: string
  readonly byCredential?: boolean
  readonly allowHost?: string[]
  readonly allowOrigin?: string[]
  readonly config?: string
}

export function mcpCommand(): Command {
  return withExamples(
    addStoreOptions(new Command('mcp'))
      .option('--session <name>', 'serve one conversation only (default: all of one tenant)')
      .option('--agent <name>', 'serve one agent of that conversation only')
      .option('--http', 'serve over streamable HTTP (default: over standard input and output, for one client)')
      .option('--port <n>', 'port for --http; 0 picks one', portNumber, 4143)
      .option('--host <address>', 'address for --http; any but loopback needs PLIMSOLL_TOKEN', '127.0.0.1')
      .option('--by-credential', 'with --http: show each client what belongs to the API key that it sends')
      .option('--allow-host <name>', 'additional host name that the server answers to; repeat for another', several)
      .option('--allow-origin <origin>', 'origin of a web page that may call the server; repeat for another', several)
      .option('--config <file>', 'settings file; its summarizer answers artifact_extract'),
    'plimsoll mcp',
    'plimsoll mcp --session run-42',
    'plimsoll mcp --http --port 0',
  ).action(runMcp)
}

async function runMcp(flags: McpFlags): Promise<void> {
  if (flags.byCredential === true && flags.http !== true)
    throw new PlimsollError('bad-input', '--by-credential needs --http: no key is sent over standard input.')
  if (flags.agent !== undefined && flags.session === undefined)
    throw new PlimsollError('bad-input', '--agent needs --session: an agent name belongs to one conversation.')
  const config = flags.config === undefined ? {} : readConfig(flags.config)
  const settings = flags.config === undefined ? undefined : optionsOf(config)
  const { store = settings?.store, artifacts = settings?.artifacts } = flags
  const places = { store, artifacts }
  const named = store ?? process.env['PLIMSOLL_STORE']
  // The default store may be created later; a path that the user named must exist.
  if (typeof named === 'string') assertThere(named)
  await withNewStores(places, async (stores) => {
    const scope = flags.byCredential === true ? ('credential' as const) : await scopeOf(stores, flags)
    const plimsoll = createPlimsoll({
      ...settings,
      store: stores.sessions,
      artifacts: stores.artifacts,
      secret: stores.secret,
      catalogue: knownModels(),
    })
    if (flags.http === true) await overHttp(plimsoll, flags, scope ?? severalTenants())
    else await overStdio(plimsoll, scope as McpScope | undefined, choiceOf(stores))
    await plimsoll.close()
  })
}

/**
 * The scope that the flags name; else the store's only tenant; with several, the only conversation of the working folder. Undefined where that
 * leaves a choice: content of different tenants is never mixed, and the tenant is never guessed.
 */
async function scopeOf(stores: Stores, { session, agent, tenant }: McpFlags): Promise<McpScope | undefined> {
  if (session !== undefined) return { tenant: await tenantOfSession(stores, session, tenant), session, agent }
  if (tenant !== undefined) return { tenant }
  const tenants = await tenantsWithSessions(stores.sessions)
  if (tenants.length <= 1) return { tenant: tenants[0] ?? 'local' }
  const here = await sessionsIn(stores, process.cwd())
  return here.length === 1 ? here[0] : undefined
}

function severalTenants(): never {
  throw new PlimsollError('bad-input', 'The store holds conversations of several tenants.', {
    advice: 'Add --session or --tenant; plimsoll sessions ls --json shows both. Or use --http --by-credential.',
  })
}

const choiceOf = (stores: Stores): Choice => ({
  async list() {
    const found = await listSessions(stores)
    const newest = found.slice(0, 20).map((one) => `${one.session}  of ${one.tenant}, last used ${when(one.updatedAt)}`)
    return [...newest, `${newest.length} of ${plural(found.length, 'conversation')}`].join('\n')
  },
  scopeOf: async (session) => ({ tenant: await tenantOfSession(stores, session), session }),
})

async function overStdio(plimsoll: Plimsoll, scope: McpScope | undefined, choice: Choice): Promise<void> {
  const served = await (scope === undefined ? serveChoiceStdio(plimsoll, choice) : serveMcpStdio(plimsoll, scope))
  await Promise.race([served.ended, stopped()])
  await served.close()
}

async function overHttp(plimsoll: Plimsoll, flags: McpFlags, scope: McpHttpOptions['scope']): Promise<void> {
  keepServing()
  const { PLIMSOLL_TOKEN: token } = process.env
  const { port, host, allowHost, allowOrigin, json } = flags
  const stop = stopped()
  const served = await startMcpHttp(plimsoll, {
    port,
    host,
    token: token || undefined,
    allowedHosts: allowHost,
    allowedOrigins: allowOrigin,
    scope,
  })
  process.stdout.write(
    json === true ? `${JSON.stringify({ listening: served.url })}\n` : `Listening on ${served.url}\n`,
  )
  await stop
  await served.close()
}

const stopped = (): Promise<void> =>
  new Promise((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
