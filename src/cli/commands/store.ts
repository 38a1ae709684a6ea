import { createReadStream, createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { Command } from 'commander'
import {
  exportStore,
  importStore,
  migrateStore,
  pruneStore,
  storeStats,
  verifyStore,
} from '../../engine/store-admin/store-admin.ts'
import { openStore, withoutPassword } from '../../drivers/open-store.ts'
import { defaultStore } from '../../plimsoll.ts'
import { EXIT, confirmed, print } from '../kit/output.ts'
import { plural, short } from '../kit/figures.ts'
import { listedSessions, tenantsWithSessions } from '../../dashboard/stored-sessions.ts'
import { commandOverStore, withNewStores, withStores, type StoreFlags } from '../stores.ts'
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
  commandOverStore(
    'verify',
    `Read everything once and report damage; exits with ${EXIT.broken} if there is any.`,
    'plimsoll store verify',
    'plimsoll store verify --store sqlite:./plimsoll.db --json',
  ).action((flags: StoreFlags) =>
    withStores(flags, async ({ sessions, artifacts }) => {
      const report = await verifyStore(sessions, { artifacts })
      if (!report.clean) process.exitCode = EXIT.broken
      print(flags.json, report, () =>
        [
          `${plural(report.sessions, 'session')}, ${entries(report.records)}: ${report.clean ? 'clean' : 'damaged'}`,
          ...report.problems.map(
            ({ kind, session, version, handle, message }) =>
              `${kind}: ${handle === undefined ? '' : `${handle}: `}${session === undefined ? '' : `session ${session}${version === undefined ? '' : ` entry ${version}`}: `}${message}`,
          ),
          ...report.dangling.map(
            ({ session, version, handle }) =>
              `missing artifact: ${handle}, named by session ${session} entry ${version}`,
          ),
        ].join('\n'),
      )
    }),
  )

const stats = (): Command =>
  commandOverStore('stats', 'Show how much the store holds.', 'plimsoll store stats').action((flags: StoreFlags) =>
    withStores(flags, async ({ url, sessions, artifacts, artifactsUrl }) => {
      // Those of sessions ls: the store's own accounts and values are not counted.
      const listed = await listedSessions(sessions, await tenantsWithSessions(sessions))
      const found = {
        ...(await storeStats(sessions)),
        sessions: listed.length,
        tenants: new Set(listed.map(({ tenant }) => tenant)).size,
      }
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
          `${plural(found.sessions, 'session')} of ${plural(found.tenants, 'tenant')}, ${entries(found.records)}, ${short(found.recordBytes)}B, ${plural(found.epochs, 'compaction')}`,
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
  commandOverStore(
    'export',
    'Write sessions and artifacts as JSON lines that `store import` reads.',
    'plimsoll store export --out backup.jsonl --with-secret',
  )
    .option('--out <file>', 'write here (default: standard output)')
    .option('--session <name>', 'export only this session; needs --tenant')
    .option('--no-artifact-bytes', 'export sessions without artifacts')
    .option(
      '--with-secret',
      'include the secret that tenant ids and handles are made with; needed to move to another store',
    )
    .action((flags: ExportFlags) =>
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

/** Writes to a file that other users cannot read: an export contains whole conversations. */
export async function writeLines(lines: AsyncIterable<string>, out: string | undefined): Promise<void> {
  const stream = out === undefined ? process.stdout : createWriteStream(out, { mode: 0o600 })
  for await (const line of lines) if (!stream.write(`${line}\n`)) await once(stream, 'drain')
  if (out === undefined) return
  stream.end()
  await finished(stream)
}

const importing = (): Command =>
  commandOverStore(
    'import',
    'Import an export. If it was interrupted, run it again.',
    'plimsoll store import backup.jsonl --store sqlite:./restored.db',
  )
    .argument('<file>', 'what `store export` wrote')
    .action(runImport)

async function runImport(file: string, flags: StoreFlags): Promise<void> {
  const read = () => createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })
  // The export's secret must be stored before the artifacts are opened, because their handles are keyed with it.
  const store = openStore(flags.store ?? defaultStore())
  const logs = await importStore(store, read()).finally(() => store.close())
  await withNewStores(flags, async ({ sessions, artifacts }) => {
    const report = { ...logs, artifacts: (await importStore(sessions, read(), { artifacts })).artifacts }
    print(
      flags.json,
      report,
      () =>
        `${plural(report.sessions, 'session')}, ${entries(report.records)}, ${plural(report.artifacts, 'artifact')} read; ${entries(report.known)} were in the store already.`,
    )
  })
}

const entries = (count: number): string => plural(count, 'log entry', 'log entries')

interface PruneFlags extends StoreFlags {
  readonly olderThan: number
  readonly keepArtifacts?: number
  readonly yes?: boolean
}

const prune = (): Command =>
  commandOverStore(
    'prune',
    'Remove sessions that were not used for a given time, and artifacts that no session refers to any more.',
    'plimsoll store prune --older-than 30d --yes',
  )
    .requiredOption('--older-than <time>', 'sessions not used for this long: 90m, 12h, 30d, 2w', duration)
    .option('--keep-artifacts <n>', 'number of the newest unreferenced artifacts to keep (default: 0)', wholeNumber)
    .option('--yes', 'do not ask')
    .action((flags: PruneFlags) =>
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
  commandOverStore(
    'migrate',
    'Upgrade the schema of the store to that of this version.',
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
