import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { PlimsollError } from '../core/errors.ts'
import { SYSTEM_TENANT } from '../core/handles.ts'
import type { ArtifactStat, ArtifactStore } from '../ports/artifact-store.ts'
import type { SessionRow } from '../dashboard/page-types.ts'
import { listedSessions } from '../dashboard/stored-sessions.ts'
import { artifactsBeside, openArtifacts } from '../drivers/open-artifacts.ts'
import { openStore, sqlitePath, withoutPassword } from '../drivers/open-store.ts'
import { defaultStore, findSecret } from '../plimsoll.ts'
import { tellUnknownVariables } from '../settings/variables.ts'
import type { MaintainedStore } from '../ports/store-maintenance.ts'
import { withExamples } from './kit/examples.ts'
import { harmless } from './kit/output.ts'

/** Tenants that have sessions of users. */
export async function tenantsOf({ sessions }: Stores, tenant?: string): Promise<readonly string[]> {
  if (tenant !== undefined) return [tenant]
  return (await sessions.tenants()).filter((name) => name !== SYSTEM_TENANT)
}

export async function listSessions(stores: Stores, tenant?: string): Promise<readonly SessionRow[]> {
  return listedSessions(stores.sessions, await tenantsOf(stores, tenant))
}

/** Finds the tenant of a session, so that users need not know it: proxies derive tenant names from credentials. */
export async function tenantOfSession(stores: Stores, session: string, tenant?: string): Promise<string> {
  const holders: string[] = []
  for (const name of await tenantsOf(stores, tenant))
    if ((await stores.sessions.version(name, session)) > 0) holders.push(name)
  if (holders.length === 1) return holders[0]!
  if (holders.length === 0)
    throw new PlimsollError('not-found', `There is no session ${JSON.stringify(session)}.`, {
      advice: 'plimsoll sessions ls shows them all.',
    })
  throw new PlimsollError('bad-input', `${holders.length} tenants have a session ${JSON.stringify(session)}.`, {
    advice: `Add --tenant with one of ${holders.join(', ')}.`,
  })
}

/** The session that a command is about, and its tenant: the one named, else the newest, which a reader at a terminal is told. */
export async function sessionIn(
  stores: Stores,
  named: string | undefined,
  { tenant, json }: StoreFlags,
): Promise<{ readonly tenant: string; readonly session: string }> {
  if (named !== undefined) return { tenant: await tenantOfSession(stores, named, tenant), session: named }
  const [newest] = await listSessions(stores, tenant)
  if (newest === undefined)
    throw new PlimsollError('not-found', 'No session is stored yet.', {
      advice: 'plimsoll chat and plimsoll proxy store sessions; --store names another store.',
    })
  // Not on standard output: that may be an export.
  if (json !== true) process.stderr.write(harmless(`Newest session: ${newest.session}\n`))
  return { tenant: newest.tenant, session: newest.session }
}

/** The artifact of a handle, and its tenant. */
export async function findArtifact(
  stores: Stores,
  handle: string,
  tenant?: string,
): Promise<{ readonly tenant: string; readonly stat: ArtifactStat }> {
  for (const name of await tenantsOf(stores, tenant)) {
    const stat = await stores.artifacts.stat(name, handle)
    if (stat !== undefined) return { tenant: name, stat }
  }
  throw new PlimsollError('not-found', `There is no artifact ${JSON.stringify(handle.slice(0, 60))}.`, {
    advice: 'plimsoll artifacts ls shows them all; a handle is art_ and 26 characters.',
  })
}

export interface StoreFlags {
  readonly store?: string
  readonly artifacts?: string
  readonly tenant?: string
  readonly json?: boolean
}

export interface Stores {
  readonly url: string
  readonly artifactsUrl: string
  readonly sessions: MaintainedStore
  readonly artifacts: ArtifactStore
  readonly secret: Uint8Array
}

/** A command over a store, with examples under its help. */
export const commandOverStore = (name: string, description: string, ...examples: readonly string[]): Command =>
  addStoreOptions(withExamples(new Command(name).description(description), ...examples))

export function addStoreOptions(command: Command): Command {
  return command
    .option(
      '--store <url>',
      'sqlite:./plimsoll.db or postgres://user@host/database (default: the store in the home directory)',
    )
    .option('--artifacts <url>', 'file:./artifacts, postgres://… or s3://bucket/prefix (default: beside the store)')
    .option('--tenant <name>', 'only this tenant (default: all tenants)')
    .option('--json', 'machine-readable output')
}

/** Opens both stores, runs the work and always closes them. @throws PlimsollError when the store does not exist. */
export async function withStores<T>(flags: StoreFlags, work: (stores: Stores) => Promise<T>): Promise<T> {
  assertThere(flags.store ?? defaultStore())
  return withNewStores(flags, work)
}

/** The same, but creates a store that does not exist. */
export async function withNewStores<T>(
  flags: Pick<StoreFlags, 'store' | 'artifacts'>,
  work: (stores: Stores) => Promise<T>,
): Promise<T> {
  tellUnknownVariables()
  const url = flags.store ?? defaultStore()
  const sessions = openStore(url)
  try {
    const secret = await findSecret(undefined, sessions)
    const artifactsUrl = flags.artifacts ?? artifactsBeside(url)
    const artifacts = openArtifacts(artifactsUrl, { secret })
    try {
      return await work({ url, artifactsUrl, sessions, artifacts, secret })
    } finally {
      await artifacts.close()
    }
  } finally {
    await sessions.close()
  }
}

/** Opening would create an empty store, and "no sessions" would be a misleading answer to a wrong path. */
export function assertThere(url: string): void {
  if (!url.startsWith('sqlite:')) return
  if (existsSync(sqlitePath(url))) return
  throw new PlimsollError('not-found', `There is no store at ${withoutPassword(url)}.`, {
    advice: 'plimsoll proxy and plimsoll chat create one; use --store for another address.',
  })
}
