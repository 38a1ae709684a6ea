import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { artifactsBeside, openArtifacts } from '../../drivers/open-artifacts.ts'
import { openStore } from '../../drivers/open-store.ts'
import { sqlitePath, withoutPassword } from '../../drivers/store-url.ts'
import { defaultStore, findSecret } from '../../compose/plimsoll.ts'
import type { ArtifactStore } from '../../ports/artifact-store.ts'
import type { MaintainedStore } from '../../ports/store-maintenance.ts'

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

/** Opens both stores, does the work and closes them whatever happens. A store that is not there is an error. */
export async function withStores<T>(flags: StoreFlags, work: (stores: Stores) => Promise<T>): Promise<T> {
  assertThere(flags.store ?? defaultStore())
  return withNewStores(flags, work)
}

/** The same; a store that is not there is made. */
export async function withNewStores<T>(
  flags: Pick<StoreFlags, 'store' | 'artifacts'>,
  work: (stores: Stores) => Promise<T>,
): Promise<T> {
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

/** Opening would make an empty one, and "no sessions" would be a poor answer to a wrong path. */
function assertThere(url: string): void {
  if (!url.startsWith('sqlite:')) return
  if (existsSync(sqlitePath(url))) return
  throw new PlimsollError('not-found', `There is no store at ${withoutPassword(url)}.`, {
    advice: 'plimsoll proxy and plimsoll chat create one; use --store for another address.',
  })
}
