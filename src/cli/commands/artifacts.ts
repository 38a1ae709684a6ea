import { writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import type { ArtifactStat } from '../../ports/artifact-store.ts'
import { quickjsSandbox } from '../../drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../drivers/sandbox/sqljs.ts'
import { artifactReaders, type ArtifactReaders } from '../../engine/readers/artifact-readers.ts'
import type { ReaderProvenance, ReaderAnswer } from '../../engine/readers/reader.ts'
import { grouped, short } from '../kit/figures.ts'
import { confirmed, print, printList, when, EXIT } from '../kit/output.ts'
import { findArtifact, tenantsOf, commandOverStore, withStores, type StoreFlags } from '../stores.ts'
import { oneOrMore, wholeNumber } from '../option-values.ts'

/** A sample handle. The test that runs the examples replaces it with a real one. */
const EXAMPLE = 'art_0123456789abcdefghjkmnpqrs'

export function artifactsCommand(): Command {
  return new Command('artifacts')
    .addCommand(ls())
    .addCommand(show())
    .addCommand(grep())
    .addCommand(query())
    .addCommand(run())
    .addCommand(rm())
}

const onHandle = (name: string, description: string, ...examples: readonly string[]): Command =>
  commandOverStore(name, description, ...examples).argument(
    '<handle>',
    'handle of the artifact: art_ and 26 characters',
  )

interface ListFlags extends StoreFlags {
  readonly session?: string
  readonly tool?: string
  readonly limit: number
}

const ls = (): Command =>
  commandOverStore('ls', 'List artifacts, newest first.', 'plimsoll artifacts ls --tool bash')
    .option('--session <name>', 'only those of this session')
    .option('--tool <name>', 'only those of this tool')
    .option('--limit <n>', 'show at most this many', oneOrMore, 50)
    .action((flags: ListFlags) =>
      withStores(flags, async (stores) => {
        const { session, tool, limit } = flags
        const found: (ArtifactStat & { tenant: string })[] = []
        for (const tenant of await tenantsOf(stores, flags.tenant)) {
          const listed = await stores.artifacts.list(tenant, { limit, session, tool })
          found.push(...listed.map((stat) => ({ ...stat, tenant })))
        }
        const newest = found.sort((a, b) => b.createdAt - a.createdAt).slice(0, limit)
        printList(
          flags.json,
          newest,
          'No artifact is stored.',
          [
            { head: 'handle' },
            { head: 'bytes', align: 'right' },
            { head: 'made' },
            { head: 'tool' },
            { head: 'session', keeps: 'start' },
          ],
          (stat) => [stat.handle, grouped(stat.bytes), when(stat.createdAt), stat.tool ?? '', stat.session ?? ''],
        )
      }),
    )

interface ShowFlags extends StoreFlags {
  readonly start?: number
  readonly count?: number
  readonly unit?: 'lines' | 'bytes' | 'items'
  readonly out?: string
  readonly stat?: boolean
}

const show = (): Command =>
  onHandle(
    'show',
    'Print the exact bytes of an artifact, or a part of them.',
    `plimsoll artifacts show ${EXAMPLE} --start 1 --count 20`,
    `plimsoll artifacts show ${EXAMPLE} --out result.log`,
  )
    .option('--start <n>', 'first line (from 1), byte or item (from 0)', Number)
    .option('--count <n>', 'show at most this many', oneOrMore)
    .option('--unit <what>', 'lines, bytes or items')
    .option('--out <file>', 'write the exact bytes here')
    .option('--stat', 'show size, tool and dates instead of the bytes')
    .action((handle: string, flags: ShowFlags) =>
      withStores(flags, async (stores) => {
        const { tenant, stat } = await findArtifact(stores, handle, flags.tenant)
        if (flags.stat === true || (flags.json === true && flags.out === undefined))
          return print(flags.json, { tenant, ...stat }, () =>
            Object.entries(stat)
              .map(([key, value]) => `${key}: ${String(value)}`)
              .join('\n'),
          )
        const { start, count, unit } = flags
        if (start !== undefined || count !== undefined || unit !== undefined)
          return withReaders(flags, handle, (readers) => readers.read({ handle, start, count, unit }))
        const bytes = (await stores.artifacts.read(tenant, handle)) ?? new Uint8Array()
        if (flags.out === undefined) process.stdout.write(bytes)
        else {
          await writeFile(flags.out, bytes, { mode: 0o600 })
          print(
            flags.json,
            { handle, bytes: bytes.length, file: flags.out },
            () => `${short(bytes.length)}B written to ${flags.out}.`,
          )
        }
      }),
    )

interface GrepFlags extends StoreFlags {
  readonly ignoreCase?: boolean
  readonly fixed?: boolean
  readonly invert?: boolean
  readonly context?: number
  readonly limit?: number
}

const grep = (): Command =>
  onHandle('grep', 'Find lines by a regular expression (RE2).', `plimsoll artifacts grep ${EXAMPLE} ERROR --context 2`)
    .argument('<pattern>', 'the expression')
    .option('-i, --ignore-case', 'ignore upper and lower case')
    .option('-F, --fixed', 'the pattern is plain text')
    .option('-v, --invert', 'show the lines that do not match')
    .option('-C, --context <n>', 'lines to show around each match', wholeNumber)
    .option('--limit <n>', 'show at most this many matches', oneOrMore)
    .action((handle: string, pattern: string, flags: GrepFlags) => {
      const { ignoreCase, fixed, invert, context, limit } = flags
      return withReaders(flags, handle, (readers) =>
        readers.grep({ handle, pattern, ignoreCase, fixed, invert, context, limit }),
      )
    })

const query = (): Command =>
  onHandle(
    'query',
    'Run one SQL SELECT over the rows of JSON, JSON lines, CSV or log lines: table t. Without SQL: its columns.',
    `plimsoll artifacts query ${EXAMPLE} "SELECT count(*) FROM t"`,
  )
    .argument('[sql]', 'one SELECT or WITH statement')
    .option('--path <path>', 'path to the array inside a JSON object, such as result.items')
    .action((handle: string, sql: string | undefined, flags: StoreFlags & { path?: string }) =>
      withReaders(flags, handle, (readers) => readers.query({ handle, sql, path: flags.path })),
    )

const run = (): Command =>
  onHandle(
    'run',
    'Run JavaScript over an artifact in a sandbox: data is its content, the last value is the answer.',
    `plimsoll artifacts run ${EXAMPLE} "artifacts[0].lines.length"`,
  )
    .argument('<code>', 'the JavaScript')
    .action((handle: string, code: string, flags: StoreFlags) =>
      withReaders(flags, handle, (readers) => readers.run({ handle, code })),
    )

const rm = (): Command =>
  onHandle(
    'rm',
    'Delete an artifact. Its handle, where a conversation still mentions it, can no longer be opened.',
    `plimsoll artifacts rm ${EXAMPLE} --yes`,
  )
    .option('--yes', 'do not ask')
    .action((handle: string, flags: StoreFlags & { yes?: boolean }) =>
      withStores(flags, async (stores) => {
        const { tenant } = await findArtifact(stores, handle, flags.tenant)
        await confirmed(`${handle} will be deleted. Continue?`, flags.yes)
        const removed = await stores.artifacts.remove(tenant, handle)
        print(flags.json, { handle, removed }, () => `${handle} is removed.`)
      }),
    )

/** A person reads the output, so it may be longer than a model's and does not name its source. */
const ANSWER_BYTES = 1_000_000
const NO_PROVENANCE: ReaderProvenance = {
  seal: (_, body) => body,
  open: (text) => text,
  handlesOf: () => undefined,
  sealBytes: () => 0,
}

async function withReaders(
  flags: StoreFlags,
  handle: string,
  ask: (readers: ArtifactReaders) => Promise<ReaderAnswer>,
): Promise<void> {
  await withStores(flags, async (stores) => {
    const { tenant } = await findArtifact(stores, handle, flags.tenant)
    const sql = sqljsEngine()
    const sandbox = quickjsSandbox()
    try {
      const readers = artifactReaders({
        store: stores.artifacts,
        tenant,
        provenance: NO_PROVENANCE,
        maxBytes: ANSWER_BYTES,
        sql,
        sandbox,
      })
      const { ok, text, truncated } = await ask(readers)
      if (!ok) process.exitCode = EXIT.failure
      print(flags.json, { handle, ok, text, truncated }, () => text)
    } finally {
      await sql.close()
      await sandbox.close()
    }
  })
}
