import { createReadStream, createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { Command } from 'commander'
import { artifactsBeside, openArtifacts } from '../../drivers/open-artifacts.ts'
import {
  exportStore,
  importStore,
  migrateStore,
  pruneStore,
  storeStats,
  verifyStore,
} from '../../engine/store-admin/store-admin.ts'
import { openStore, withoutPassword } from '../../drivers/open-store.ts'
import { defaultStore, findSecret } from '../../plimsoll.ts'
import { EXIT, confirmed, print } from '../kit/output.ts'
import { grouped, plural, short } from '../kit/figures.ts'
import { withExamples } from '../kit/examples.ts'
import { tenantsOf, addStoreOptions, withStores, type StoreFlags } from '../stores.ts'
import { duration, wholeNumber } from '../option-values.ts'

export function storeCommand(): Command {
  return new Command('store')
    .addCommand(verify())
    .addCommand(stats())
    .addCommand(exporting())
    .addCommand(importing())
    .addCommand(prune())
    .addCommand(migrate())
}

const verify = (): Command =>
  withExamples(
    addStoreOptions(
      new Command('verify').description(
        `Read everything once and report damage; exits with ${EXIT.broken} if there is any.`,
      ),
    ),
    'plimsoll store verify',
    'plimsoll store verify --store sqlite:./plimsoll.db --json',
  ).action((flags: StoreFlags) =>
    withStores(flags, async ({ sessions, artifacts }) => {
      const report = await verifyStore(sessions, { artifacts })
      if (!report.clean) process.exitCode = EXIT.broken
      print(flags.json, report, () =>
        [
          `${plural(report.sessions, 'session')}, ${plural(report.records, 'record')}: ${report.clean ? 'clean' : 'damaged'}`,
          ...report.problems.map(
            ({ kind, session, version, handle, message }) =>
              `${kind}: ${handle === undefined ? '' : `${handle}: `}${session === undefined ? '' : `session ${session}${version === undefined ? '' : ` record ${version}`}: `}${message}`,
          ),
          ...report.dangling.map(
            ({ session, version, handle }) =>
              `missing artifact: ${handle}, named by session ${session} record ${version}`,
          ),
        ].join('\n'),
      )
    }),
  )

const stats = (): Command =>
  withExamples(
    addStoreOptions(new Command('stats').description('Show how much the store holds.')),
    'plimsoll store stats',
  ).action((flags: StoreFlags) =>
    withStores(flags, async (stores) => {
      const { url, sessions, artifacts, artifactsUrl } = stores
      // The store's own accounts are no tenant of anybody's.
      const found = { ...(await storeStats(sessions)), tenants: (await tenantsOf(stores)).length }
      let count = 0
      let bytes = 0
      for (const tenant of await sessions.tenants()) {
        for (const stat of await artifacts.list(tenant, { limit: Number.MAX_SAFE_INTEGER })) {
          count++
          bytes += stat.bytes
        }
      }
      const value = { url: withoutPassword(url), ...found, artifacts: count, artifactBytes: bytes }
      print(flags.json, value, () =>
        [
          `${withoutPassword(url)} (${found.driver}, schema ${found.schemaVersion}${found.sealed ? ', encrypted' : ''})`,
          `${plural(found.sessions, 'session')} of ${plural(found.tenants, 'tenant')}, ${plural(found.records, 'record')}, ${short(found.recordBytes)}B, ${plural(found.epochs, 'compaction')}`,
          ...(found.diskBytes === undefined ? [] : [`${short(found.diskBytes)}B on disk`]),
          `${plural(count, 'artifact')}, ${short(bytes)}B in ${withoutPassword(artifactsUrl)}`,
        ].join('\n'),
      )
    }),
  )

interface ExportFlags extends StoreFlags {
  readonly out?: string
  readonly session?: string
  readonly withSecret?: boolean
  readonly artifactBytes: boolean
}

const exporting = (): Command =>
  withExamples(
    addStoreOptions(
      new Command('export').description('Write sessions and artifacts as JSON lines that `store import` reads.'),
    )
      .option('--out <file>', 'write here (default: standard output)')
      .option('--session <name>', 'export only this session; needs --tenant')
      .option('--no-artifact-bytes', 'export sessions without artifacts')
      .option(
        '--with-secret',
        'include the secret that tenant ids and handles are made with; needed to move to another store',
      ),
    'plimsoll store export --out backup.jsonl --with-secret',
  ).action((flags: ExportFlags) =>
    withStores(flags, async ({ sessions, artifacts }) => {
      const lines = exportStore(sessions, {
        tenant: flags.tenant,
        session: flags.session,
        artifacts: flags.artifactBytes ? artifacts : undefined,
        withSecret: flags.withSecret,
      })
      await writeLines(lines, flags.out)
    }),
  )

/** Writes to a file that nobody else can read: an export holds whole conversations. */
export async function writeLines(lines: AsyncIterable<string>, out: string | undefined): Promise<void> {
  const stream = out === undefined ? process.stdout : createWriteStream(out, { mode: 0o600 })
  for await (const line of lines) if (!stream.write(`${line}\n`)) await once(stream, 'drain')
  if (out === undefined) return
  stream.end()
  await finished(stream)
}

const importing = (): Command =>
  withExamples(
    addStoreOptions(
      new Command('import')
        .description('Import an export. If it was interrupted, run it again.')
        .argument('<file>', 'what `store export` wrote'),
    ),
    'plimsoll store import backup.jsonl --store sqlite:./restored.db',
  ).action(runImport)

async function runImport(file: string, flags: StoreFlags): Promise<void> {
  const url = flags.store ?? defaultStore()
  const sessions = openStore(url)
  try {
    const read = () => createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })
    // The export's own secret must be in place before the artifacts are opened with it: handles are keyed by it.
    const logs = await importStore(sessions, read())
    const artifacts = openArtifacts(flags.artifacts ?? artifactsBeside(url), {
      secret: await findSecret(undefined, sessions),
    })
    try {
      const report = { ...logs, artifacts: (await importStore(sessions, read(), { artifacts })).artifacts }
      print(
        flags.json,
        report,
        () =>
          `${plural(report.sessions, 'session')}, ${plural(report.records, 'record')}, ${plural(report.artifacts, 'artifact')} read; ${grouped(report.known)} records were in the store already.`,
      )
    } finally {
      await artifacts.close()
    }
  } finally {
    await sessions.close()
  }
}

interface PruneFlags extends StoreFlags {
  readonly olderThan: number
  readonly keepArtifacts?: number
  readonly yes?: boolean
}

const prune = (): Command =>
  withExamples(
    addStoreOptions(
      new Command('prune').description(
        'Remove sessions that were not used for a given time, and artifacts that no session refers to any more.',
      ),
    )
      .requiredOption('--older-than <time>', 'sessions not used for this long: 90m, 12h, 30d, 2w', duration)
      .option('--keep-artifacts <n>', 'number of the newest unreferenced artifacts to keep (default: 0)', wholeNumber)
      .option('--yes', 'do not ask'),
    'plimsoll store prune --older-than 30d --yes',
  ).action((flags: PruneFlags) =>
    withStores(flags, async ({ sessions, artifacts }) => {
      await confirmed('Sessions and artifacts will be deleted. Continue?', flags.yes)
      const report = await pruneStore(sessions, {
        before: Date.now() - flags.olderThan,
        artifacts,
        rule: { keep: flags.keepArtifacts ?? 0, maxAgeMs: flags.olderThan },
        tenant: flags.tenant,
      })
      print(
        flags.json,
        report,
        () =>
          `${plural(report.sessions.length, 'session')} and ${plural(report.artifacts.length, 'artifact')} removed.`,
      )
    }),
  )

const migrate = (): Command =>
  withExamples(
    addStoreOptions(new Command('migrate').description('Upgrade the schema of the store to that of this version.')),
    'plimsoll store migrate',
  ).action((flags: StoreFlags) =>
    withStores(flags, async ({ sessions }) => {
      const report = await migrateStore(sessions)
      print(flags.json, report, () =>
        report.applied.length === 0
          ? `The schema is already at version ${report.to}.`
          : `Schema ${report.from} → ${report.to}: ${report.applied.join(', ')}.`,
      )
    }),
  )
