import { PlimsollError } from '../../core/errors.ts'
import { SYSTEM_TENANT } from '../../core/system-tenant.ts'
import type { ArtifactStat } from '../../ports/artifact-store.ts'
import type { SessionInfo } from '../../ports/session-store.ts'
import type { Stores } from './open.ts'

/** A session and the tenant it belongs to. */
export interface FoundSessionInfo extends SessionInfo {
  readonly tenant: string
}

/** Tenants with sessions of people and agents. */
export async function tenantsOf({ sessions }: Stores, tenant?: string): Promise<readonly string[]> {
  if (tenant !== undefined) return [tenant]
  return (await sessions.tenants()).filter((name) => name !== SYSTEM_TENANT)
}

/** Newest first. */
export async function listSessions(stores: Stores, tenant?: string): Promise<readonly FoundSessionInfo[]> {
  const found: FoundSessionInfo[] = []
  for (const name of await tenantsOf(stores, tenant)) {
    let after: string | undefined
    for (;;) {
      const page = await stores.sessions.list(name, { limit: 500, ...(after !== undefined && { after }) })
      found.push(...page.map((info) => ({ ...info, tenant: name })))
      after = page.at(-1)?.session
      if (page.length < 500) break
    }
  }
  return found.sort((a, b) => b.updatedAt - a.updatedAt || a.session.localeCompare(b.session))
}

/** The tenant of a session: proxies key tenants by credential, and nobody remembers their names. */
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

/** The artifact behind a handle, and whose it is. */
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
