import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { exportStore, forkSession } from '../../engine/store-admin/store-admin.ts'
import { recallArchived } from '../../engine/readers/recall.ts'
import type { SeenItem } from '../../engine/session/session.ts'
import { createPlimsoll, type Plimsoll } from '../../plimsoll.ts'
import { dollars, grouped, percent, plainText, plural, short } from '../kit/figures.ts'
import { confirmed, print, printTable, when } from '../kit/output.ts'
import { withExamples } from '../kit/examples.ts'
import type { RecordRecall } from '../../core/records.ts'
import { share100 } from '../reports/replay.ts'
import {
  listSessions,
  tenantOfSession,
  tenantsOf,
  addStoreOptions,
  withStores,
  type StoreFlags,
  type Stores,
} from '../stores.ts'
import { readableSession, reportOf, type SessionReport } from '../../engine/store-admin/session-report.ts'
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

const named = (name: string, description: string): Command =>
  addStoreOptions(new Command(name).description(description).argument('<session>', 'name of the session'))

const ls = (): Command =>
  withExamples(
    addStoreOptions(new Command('ls').description('List sessions, newest first.')).option(
      '--limit <n>',
      'show at most this many',
      oneOrMore,
      50,
    ),
    'plimsoll sessions ls',
  ).action((flags: StoreFlags & { limit: number }) =>
    withStores(flags, async (stores) => {
      const found = (await listSessions(stores, flags.tenant)).slice(0, flags.limit)
      print(flags.json, found, () =>
        found.length === 0
          ? 'No session is recorded yet.'
          : printTable(
              [
                { head: 'session', gives: 'start' },
                { head: 'records', align: 'right' },
                { head: 'size', align: 'right' },
                { head: 'last change' },
                { head: 'tenant' },
              ],
              found.map(({ session, version, bytes, updatedAt, tenant }) => [
                session,
                grouped(version),
                `${short(bytes)}B`,
                when(updatedAt),
                tenant,
              ]),
            ),
      )
    }),
  )

const show = (): Command =>
  withExamples(
    named(
      'show',
      'Show what a session did: calls, usage, price, compactions, what was taken out, and the newest record as the model sees it.',
    ).option('--misses', 'list each call that read less from the provider’s cache than it could have, and why'),
    'plimsoll sessions show run-42',
    'plimsoll sessions show run-42 --misses',
  ).action((session: string, flags: StoreFlags & { misses?: boolean }) =>
    withStores(flags, async (stores) => {
      const report = await reportOf(stores.sessions, await tenantOfSession(stores, session, flags.tenant), session)
      print(flags.json, report, () => (flags.misses === true ? missesText(report) : describe(report)))
    }),
  )

const search = (): Command =>
  withExamples(
    addStoreOptions(
      new Command('search')
        .description('Search what sessions said and returned, as the recall tool does.')
        .argument('<query>', 'words, exact strings in quotes, and file: tool: role: since: to narrow it')
        .option('--session <name>', 'one session only')
        .option('--limit <n>', 'show at most this many entries', oneOrMore, 10),
    ),
    'plimsoll sessions search "payment timeout since:7d"',
  ).action((query: string, flags: StoreFlags & { session?: string; limit: number }) =>
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
          ? 'Nothing that is recorded mentions this.'
          : found.map(({ text }) => text.split('\n').map(plainText).join('\n')).join('\n\n'),
      )
    }),
  )

function describe(report: SessionReport): string {
  const { usage, epochs, cuts } = report
  const span =
    report.startedAt === undefined || report.updatedAt === undefined
      ? ''
      : `, ${when(report.startedAt)} to ${when(report.updatedAt)}`
  return [
    `${report.session} (tenant ${report.tenant})`,
    `${plural(report.records, 'record')}, ${plural(report.items, 'item')}${span}`,
    `${plural(report.calls, 'call')} of ${report.models.join(', ') || 'no model'}: ${grouped(usage.input)} input (${percent(usage.cacheRead, usage.input)} cached), ${grouped(usage.output)} output, ${dollars(report.costUsd)}${report.savedUsd === undefined ? '' : `, ${dollars(report.savedUsd)} saved net`}`,
    ...(report.misses.length === 0 ? [] : [missedText(report)]),
    ...(report.pins.length > 0 ? [plural(report.pins.length, 'pinned item')] : []),
    ...(epochs.length === 0
      ? []
      : [
          '',
          'Epochs',
          ...epochs.map(
            ({ id, at, before, after, covered, undone, recall }) =>
              `  ${when(at)}  ${id}  ${grouped(before)} → ${grouped(after)} tokens, ${plural(covered, 'item')} covered${undone ? ', undone' : ''}${recall === undefined ? '' : `\n      still in view: ${recallText(recall)}`}`,
          ),
        ]),
    ...(cuts.length === 0
      ? []
      : [
          '',
          'Taken out',
          ...cuts.map(
            ({ at, originalBytes, shownBytes, handle, reason }) =>
              `  ${when(at)}  ${short(originalBytes)}B → ${short(shownBytes)}B  ${handle ?? ''}  ${reason}`,
          ),
        ]),
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
    { head: 'what', gives: 'start' },
  ] as const
  return `${printTable([...heads], rows)}\n${missedText(report)}`
}

const quoted = (text: string | undefined): string => (text === undefined ? 'nothing' : plainText(JSON.stringify(text)))

/** Of what a compaction took out. */
const recallText = ({ demands, plan, names, paths, errors }: RecordRecall): string =>
  [
    `${share100(demands)} of what people wrote`,
    `${share100(plan)} of the open plan`,
    `${share100(names)} of the names in use`,
    `${share100(paths)} of the files`,
    `${share100(errors)} of the open errors`,
  ].join(', ')

/** The record that stands in view now; those before it are part of the JSON. */
function newestRecord(epochs: SessionReport['epochs']): readonly string[] {
  const newest = epochs.findLast(({ undone, record }) => !undone && record.length > 0)
  if (newest === undefined) return []
  // Whatever a transcript holds, it must not steer the terminal.
  const lines = newest.record.flatMap((text) => text.split('\n').map(plainText))
  return ['', `Record of ${newest.id}, as the model sees it`, ...lines]
}

/** A session as the engine knows it, on stores that are already open. */
async function withSession<T>(
  stores: Stores,
  session: string,
  flags: StoreFlags & { agent?: string },
  work: (session: ReturnType<Plimsoll['session']>) => Promise<T>,
): Promise<T> {
  const tenant = await tenantOfSession(stores, session, flags.tenant)
  const plimsoll = createPlimsoll({ store: stores.sessions, artifacts: stores.artifacts, secret: stores.secret })
  return work(plimsoll.session({ id: session, tenant, agent: flags.agent }))
}

const undo = (): Command =>
  withExamples(
    named('undo', 'Undo the newest compaction; the next request is sent without it.').option(
      '--agent <name>',
      'agent within the session (default: main)',
    ),
    'plimsoll sessions undo run-42',
  ).action((session: string, flags: StoreFlags & { agent?: string }) =>
    withStores(flags, (stores) =>
      withSession(stores, session, flags, async (open) => {
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
  withExamples(
    named('fork', 'Copy a session under a new name; the two are independent from then on.')
      .argument('<to>', 'name of the new one')
      .option('--at <record>', 'copy only the records up to this one (default: all)', wholeNumber),
    'plimsoll sessions fork run-42 run-43',
  ).action((from: string, to: string, flags: StoreFlags & { at?: number }) =>
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
        () => `${to} holds ${plural(version, 'record')} copied from ${from}.`,
      )
    }),
  )

const exporting = (): Command =>
  withExamples(
    named('export', 'Write one session: JSON lines that `store import` reads, or Markdown for people.')
      .option('--out <file>', 'write here (default: standard output)')
      .option('--markdown', 'write the conversation as Markdown')
      .option(
        '--with-secret',
        'include the secret that handles are made with; another store needs it to open the artifacts',
      ),
    'plimsoll sessions export run-42 --out run-42.jsonl',
    'plimsoll sessions export run-42 --markdown',
  ).action((session: string, flags: StoreFlags & { out?: string; markdown?: boolean; withSecret?: boolean }) =>
    withStores(flags, async (stores) => {
      const tenant = await tenantOfSession(stores, session, flags.tenant)
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
  withExamples(
    named('pin', 'Keep an item in every request, whatever is compacted. Without an item: list what can be pinned.')
      .argument('[item]', 'identity of the item, or the first characters of it')
      .option('--off', 'remove the pin')
      .option('--agent <name>', 'agent within the session (default: main)'),
    'plimsoll sessions pin run-42',
  ).action((session: string, item: string | undefined, flags: PinFlags) =>
    withStores(flags, async (stores) => {
      const tenant = await tenantOfSession(stores, session, flags.tenant)
      const items = await pinnable(stores, tenant, session)
      if (item === undefined)
        return print(flags.json, items, () =>
          printTable(
            [{ head: 'item' }, { head: 'kind' }, { head: 'text', gives: 'start' }],
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

/** From the log: another process has made the requests. */
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
  withExamples(
    named('rm', 'Remove a session, and the artifacts that only it refers to.').option('--yes', 'do not ask'),
    'plimsoll sessions rm run-42 --yes',
  ).action((session: string, flags: StoreFlags & { yes?: boolean }) =>
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
