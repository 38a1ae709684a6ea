import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { exportStore, forkSession } from '../../engine/store-admin/store-admin.ts'
import { recallArchived } from '../../engine/readers/recall.ts'
import type { SeenItem } from '../../engine/session/session.ts'
import { createPlimsoll, type Plimsoll } from '../../plimsoll.ts'
import { dollars, grouped, plainText, plural, short } from '../kit/figures.ts'
import { confirmed, print, printList, printTable, screenOf, when } from '../kit/output.ts'
import type { FetchedAgain, RecordRecall } from '../../core/records.ts'
import type { Trouble } from '../../meter/session/figures.ts'
import { compactionText, figureList } from '../../meter/session/words.ts'
import { pictureOf, sessionGrid, writePicture } from '../reports/session-view.ts'
import { estimateFor, priceOf } from '../catalogue.ts'
import { share100 } from '../reports/replay.ts'
import {
  listSessions,
  sessionIn,
  tenantOfSession,
  tenantsOf,
  commandOverStore,
  withStores,
  type StoreFlags,
  type Stores,
} from '../stores.ts'
import { foldedLog, readableSession, reportOf, type SessionReport } from '../../engine/store-admin/session-report.ts'
import { oneOrMore, wholeNumber } from '../option-values.ts'
import { writeLines } from './store.ts'

export function sessionsCommand(): Command {
  return new Command('sessions')
    .addCommand(ls())
    .addCommand(show())
    .addCommand(search())
    .addCommand(undo())
    .addCommand(fork())
    .addCommand(exporting())
    .addCommand(pin())
    .addCommand(rm())
}

const onSession = (name: string, description: string, ...examples: readonly string[]): Command =>
  commandOverStore(name, description, ...examples).argument('<session>', 'name of the session')

const onNewest = (name: string, description: string, ...examples: readonly string[]): Command =>
  commandOverStore(name, description, ...examples).argument('[session]', 'name of the session (default: the newest)')

const ls = (): Command =>
  commandOverStore('ls', 'List sessions, newest first.', 'plimsoll sessions ls')
    .option('--limit <n>', 'show at most this many', oneOrMore, 50)
    .action((flags: StoreFlags & { limit: number }) =>
      withStores(flags, async (stores) => {
        const found = (await listSessions(stores, flags.tenant)).slice(0, flags.limit)
        printList(
          flags.json,
          found,
          'No session is stored yet.',
          [
            { head: 'session', keeps: 'start' },
            { head: 'entries', align: 'right' },
            { head: 'size', align: 'right' },
            { head: 'last change' },
            { head: 'tenant' },
          ],
          ({ session, version, bytes, updatedAt, tenant }) => [
            session,
            grouped(version),
            `${short(bytes)}B`,
            when(updatedAt),
            tenant,
          ],
        )
      }),
    )

const show = (): Command =>
  onNewest(
    'show',
    'Show what a session did: calls, usage, price, compactions, what was removed, and the newest record as the model sees it.',
    'plimsoll sessions show run-42',
    'plimsoll sessions show run-42 --misses',
  )
    .option('--misses', 'list each call that read less from the provider’s cache than it could have, and why')
    .option('--png <file>', 'write a picture of the session to share; a name that ends in .svg gets SVG')
    .option('--details', 'list every compaction and every removal, not the newest only')
    .action((named: string | undefined, flags: StoreFlags & { misses?: boolean; details?: boolean; png?: string }) =>
      withStores(flags, async (stores) => {
        const { tenant, session } = await sessionIn(stores, named, flags)
        const report = await reportOf(stores.sessions, tenant, session, priceOf)
        const log = await foldedLog(stores.sessions, tenant, session)
        const count = (text: string): number => estimateFor(log.calls.at(-1)?.model, text)
        if (flags.png !== undefined) await writePicture(flags.png, pictureOf(log, { countText: count, priceOf }))
        print(flags.json, report, () =>
          flags.misses === true
            ? missesText(report)
            : describe(report, sessionGrid(log, count, screenOf(process.stdout)), flags.details),
        )
      }),
    )

const search = (): Command =>
  commandOverStore(
    'search',
    'Search what sessions said and returned, as the recall tool does.',
    'plimsoll sessions search "payment timeout since:7d"',
  )
    .argument('<query>', 'words, exact strings in quotes, and file: tool: role: since: to narrow it')
    .option('--session <name>', 'one session only')
    .option('--limit <n>', 'show at most this many entries', oneOrMore, 10)
    .action((query: string, flags: StoreFlags & { session?: string; limit: number }) =>
      withStores(flags, async (stores) => {
        const { session, limit } = flags
        const tenants =
          session === undefined
            ? await tenantsOf(stores, flags.tenant)
            : [await tenantOfSession(stores, session, flags.tenant)]
        const searched = await Promise.all(
          tenants.map(async (tenant) => ({
            tenant,
            ...(await recallArchived(stores.sessions, { tenant, session }, query, { limit })),
          })),
        )
        const found = searched.filter(({ items }) => items.length > 0)
        print(flags.json, found, () =>
          found.length === 0
            ? 'Nothing in the store mentions this.'
            : found.map(({ text }) => text.split('\n').map(plainText).join('\n')).join('\n\n'),
        )
      }),
    )

const TROUBLE_NAMES: Readonly<Record<Trouble, string>> = {
  'call-failed': 'failed call',
  'overflow-recovered': 'overflow recovered',
  halted: 'halted',
}
/** The newest of long lists; `--details` and `--json` show all. */
const ROWS_SHOWN = 20

function describe(report: SessionReport, grid: readonly string[], isDetailed = false): string {
  const { startedAt, updatedAt, epochs, removals, troubles, halted } = report
  const span = startedAt === undefined || updatedAt === undefined ? '' : `, ${when(startedAt)} to ${when(updatedAt)}`
  const most = isDetailed ? Infinity : ROWS_SHOWN
  const listed = <T>(title: string, rows: readonly T[], text: (row: T) => string): readonly string[] => [
    ...(rows.length === 0
      ? []
      : ['', `${title} (${grouped(rows.length)})`, ...rows.slice(-most).map((row) => `  ${text(row)}`)]),
    ...(rows.length > most ? [`  … and ${grouped(rows.length - most)} before these (--details shows all)`] : []),
  ]
  return [
    `${report.session} (tenant ${report.tenant})`,
    `${plural(report.records, 'log entry', 'log entries')}, ${plural(report.items, 'item')}${span}, ${report.models.join(', ') || 'no model'}`,
    ...(halted === undefined ? [] : [`Halted: ${halted}.`]),
    ...figureList(report).map(([name, value]) => `  ${name.padEnd(30)}${value}`),
    ...(grid.length === 0 ? [] : ['', ...grid, '']),
    ...(report.misses.length === 0 ? [] : [missedText(report)]),
    ...(report.pins.length > 0 ? [plural(report.pins.length, 'pinned item')] : []),
    ...listed(
      'Compactions',
      epochs,
      (row) =>
        `${when(row.at)}  ${row.id}  ${compactionText(row)}, ${plural(row.leftOut, 'item')} left out${row.undone ? ', undone' : ''}${row.recall === undefined ? '' : `\n      still in view: ${recallText(row.recall)}`}${row.fetchedAgain === undefined ? '' : `\n      fetched again within 30 answers: ${againText(row.fetchedAgain)}`}`,
    ),
    ...listed(
      'Troubles',
      troubles,
      ({ at, what, reason }) => `${when(at)}  ${TROUBLE_NAMES[what]}: ${plainText(reason)}`,
    ),
    ...listed(
      'Removed',
      removals,
      ({ at, action, kind, tool = kind, originalBytes, shownBytes, handle, reason, undone }) => {
        const size = shownBytes === 0 ? `${short(originalBytes)}B` : `${short(originalBytes)}B → ${short(shownBytes)}B`
        return `${when(at)}  ${action}${undone === true ? ' (undone)' : ''}: ${plainText(tool)}  ${size}  ${handle ?? ''}  ${reason}`
      },
    ),
    ...newestRecord(epochs),
  ].join('\n')
}

/** Why calls missed the cache, dearest cause first. */
function missedText({ misses }: SessionReport): string {
  const causes = new Map<string, { tokens: number; usd: number }>()
  for (const { cause, tokens, usd = 0 } of misses) {
    const { tokens: before, usd: cost } = causes.get(cause) ?? { tokens: 0, usd: 0 }
    causes.set(cause, { tokens: before + tokens, usd: cost + usd })
  }
  const parts = [...causes].toSorted(([, a], [, b]) => b.usd - a.usd)
  const said = parts.map(([cause, { tokens, usd }]) => `${cause} ${short(tokens)} (${dollars(usd)})`).join(', ')
  return `Not read from the cache: ${said}`
}

function missesText(report: SessionReport): string {
  if (report.misses.length === 0) return 'No call read less from the provider’s cache than it could have.'
  const rows = report.misses.map(
    ({ at, turn, cause, tokens, usd, ageSeconds, path, before, after, epoch, provider }) => {
      const change = before === undefined && after === undefined ? '' : `: ${quoted(before)} → ${quoted(after)}`
      const why = [epoch, path === undefined ? undefined : `${path}${change}`, provider].filter(
        (one) => one !== undefined,
      )
      const price = usd === undefined ? '' : dollars(usd)
      return [when(at), turn, cause, grouped(tokens), price, `${grouped(Math.round(ageSeconds))} s`, why.join('; ')]
    },
  )
  const heads = [
    { head: 'when' },
    { head: 'turn' },
    { head: 'cause' },
    { head: 'tokens', align: 'right' },
    { head: 'cost', align: 'right' },
    { head: 'age', align: 'right' },
    { head: 'what', keeps: 'start' },
  ] as const
  return `${printTable([...heads], rows)}\n${missedText(report)}`
}

const quoted = (text: string | undefined): string => (text === undefined ? 'nothing' : plainText(JSON.stringify(text)))

const againText = ({ results, tokens, costUsd }: FetchedAgain): string =>
  `${plural(results, 'result')}, ${grouped(tokens)} tokens (${dollars(costUsd)})`

/** How much of what a compaction removed the view still contains. */
const recallText = ({ demands, plan, names, paths, errors }: RecordRecall): string =>
  [
    `${share100(demands)} of what people wrote`,
    `${share100(plan)} of the open plan`,
    `${share100(names)} of the names in use`,
    `${share100(paths)} of the files`,
    `${share100(errors)} of the open errors`,
  ].join(', ')

/** The record of the newest compaction in effect. `--json` has the earlier ones too. */
function newestRecord(epochs: SessionReport['epochs']): readonly string[] {
  const newest = epochs.findLast(({ undone, record }) => !undone && record.length > 0)
  if (newest === undefined) return []
  // Text of a transcript must not contain terminal escape sequences.
  const lines = newest.record.split('\n').map(plainText)
  return ['', `Record of ${newest.id}, as the model sees it`, ...lines]
}

/** Opens a session in the engine over stores that are already open. */
async function withSession<T>(
  stores: Stores,
  named: string | undefined,
  flags: StoreFlags & { agent?: string },
  work: (open: ReturnType<Plimsoll['session']>, session: string) => Promise<T>,
): Promise<T> {
  const { tenant, session } = await sessionIn(stores, named, flags)
  const plimsoll = createPlimsoll({ store: stores.sessions, artifacts: stores.artifacts, secret: stores.secret })
  return work(plimsoll.session({ id: session, tenant, agent: flags.agent }), session)
}

const undo = (): Command =>
  onNewest('undo', 'Undo the newest compaction; the next request is sent without it.', 'plimsoll sessions undo run-42')
    .option('--agent <name>', 'agent within the session (default: main)')
    .action((named: string | undefined, flags: StoreFlags & { agent?: string }) =>
      withStores(flags, (stores) =>
        withSession(stores, named, flags, async (open, session) => {
          const epoch = await open.undo()
          print(flags.json, { session, epoch: epoch ?? null }, () =>
            epoch === undefined
              ? 'No compaction is in force; there is nothing to undo.'
              : `Compaction ${epoch} is undone: the next request carries the original messages.`,
          )
        }),
      ),
    )

const fork = (): Command =>
  onSession(
    'fork',
    'Copy a session under a new name; the two are independent from then on.',
    'plimsoll sessions fork run-42 run-43',
  )
    .argument('<to>', 'name of the new one')
    .option('--at <entry>', 'copy only the log entries up to this one (default: all)', wholeNumber)
    .action((from: string, to: string, flags: StoreFlags & { at?: number }) =>
      withStores(flags, async (stores) => {
        const tenant = await tenantOfSession(stores, from, flags.tenant)
        const version = await forkSession(stores.sessions, stores.artifacts, {
          tenant,
          from,
          to,
          version: flags.at,
        })
        print(
          flags.json,
          { from, to, tenant, records: version },
          () => `${to} holds ${plural(version, 'log entry', 'log entries')} copied from ${from}.`,
        )
      }),
    )

const exporting = (): Command =>
  onNewest(
    'export',
    'Write one session: JSON lines that `store import` reads, or Markdown for people.',
    'plimsoll sessions export run-42 --out run-42.jsonl',
    'plimsoll sessions export run-42 --markdown',
  )
    .option('--out <file>', 'write here (default: standard output)')
    .option('--markdown', 'write the conversation as Markdown')
    .option(
      '--with-secret',
      'include the secret that handles are made with; another store needs it to open the artifacts',
    )
    .action(
      (named: string | undefined, flags: StoreFlags & { out?: string; markdown?: boolean; withSecret?: boolean }) =>
        withStores(flags, async (stores) => {
          const { tenant, session } = await sessionIn(stores, named, flags)
          const { sessions, artifacts } = stores
          const lines =
            flags.markdown === true
              ? readableSession(sessions, tenant, session)
              : exportStore(sessions, { tenant, session, artifacts, withSecret: flags.withSecret === true })
          await writeLines(lines, flags.out)
        }),
    )

interface PinFlags extends StoreFlags {
  readonly agent?: string
  readonly off?: boolean
}

const pin = (): Command =>
  onSession(
    'pin',
    'Keep an item in every request, whatever is compacted. Without an item: list what can be pinned.',
    'plimsoll sessions pin run-42',
  )
    .argument('[item]', 'identity of the item, or the first characters of it')
    .option('--off', 'remove the pin')
    .option('--agent <name>', 'agent within the session (default: main)')
    .action((session: string, item: string | undefined, flags: PinFlags) =>
      withStores(flags, async (stores) => {
        const tenant = await tenantOfSession(stores, session, flags.tenant)
        const items = await pinnable(stores, tenant, session)
        if (item === undefined)
          return print(flags.json, items, () =>
            printTable(
              [{ head: 'item' }, { head: 'kind' }, { head: 'text', keeps: 'start' }],
              items.map(({ identity, kind, toolName, excerpt }) => [identity.slice(0, 12), toolName ?? kind, excerpt]),
            ),
          )
        const found = items.filter(({ identity }) => identity.startsWith(item))
        if (found.length !== 1)
          throw new PlimsollError(
            'not-found',
            found.length === 0
              ? `No item begins with ${JSON.stringify(item)}.`
              : `${found.length} items begin with ${JSON.stringify(item)}.`,
            { advice: `plimsoll sessions pin ${session} lists them.` },
          )
        const { identity } = found[0]!
        await withSession(stores, session, flags, (open) => open.pin(identity, flags.off !== true))
        print(
          flags.json,
          { session, identity, pinned: flags.off !== true },
          () => `${identity.slice(0, 12)} is ${flags.off === true ? 'no longer pinned' : 'pinned'}.`,
        )
      }),
    )

/** Read from the log, because another process made the requests. */
async function pinnable(stores: Stores, tenant: string, session: string): Promise<readonly SeenItem[]> {
  const items = new Map<string, SeenItem>()
  for await (const { record } of stores.sessions.read(tenant, session)) {
    if (record.type !== 'item-seen') continue
    const { identity, kind, toolName, text } = record
    items.set(identity, { identity, kind, toolName, excerpt: text.slice(0, 80) })
  }
  return [...items.values()]
}

const rm = (): Command =>
  onSession('rm', 'Remove a session, and the artifacts that only it refers to.', 'plimsoll sessions rm run-42 --yes')
    .option('--yes', 'do not ask')
    .action((session: string, flags: StoreFlags & { yes?: boolean }) =>
      withStores(flags, async (stores) => {
        const tenant = await tenantOfSession(stores, session, flags.tenant)
        await confirmed(`Session ${session} will be deleted. Continue?`, flags.yes)
        const removed = await stores.sessions.remove(tenant, session)
        await stores.artifacts.release(tenant, session)
        print(
          flags.json,
          { session, tenant, removed },
          () => `${session} is removed. plimsoll store prune removes its artifacts.`,
        )
      }),
    )
