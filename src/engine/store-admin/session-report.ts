import type { LogRecord } from '../../core/records.ts'
import {
  type CompactionRow,
  compactionsOf,
  figuresOf,
  missesOf,
  type MissRow,
  type PriceOf,
  recordOf,
  type RemovalRow,
  removalsOf,
  type SessionFigures,
  type TroubleRow,
  troublesOf,
} from '../../meter/session/figures.ts'
import { type FoldedLog, foldLog } from '../../meter/session/log.ts'
import type { SessionStore } from '../../ports/session-store.ts'

export interface SessionReport extends SessionFigures {
  readonly session: string
  readonly tenant: string
  readonly records: number
  readonly items: number
  readonly startedAt?: number
  readonly updatedAt?: number
  readonly pins: readonly string[]
  /** Calls that read less from the provider's cache than they could have. */
  readonly misses: readonly MissRow[]
  /** Calls that failed, overflows that were recovered, requests that a budget stopped. */
  readonly troubles: readonly TroubleRow[]
  /** With the text that the model reads instead of what each took out. */
  readonly epochs: readonly (CompactionRow & { readonly record: string })[]
  /** Everything that was removed or shortened. */
  readonly removals: readonly RemovalRow[]
}

export async function foldedLog(
  store: Pick<SessionStore, 'read'>,
  tenant: string,
  session: string,
): Promise<FoldedLog> {
  const all: LogRecord[] = []
  for await (const { record } of store.read(tenant, session)) all.push(record)
  return foldLog(all)
}

export async function reportOf(
  store: Pick<SessionStore, 'read'>,
  tenant: string,
  session: string,
  priceOf?: PriceOf,
): Promise<SessionReport> {
  const log = await foldedLog(store, tenant, session)
  const { records, items, startedAt, updatedAt, pins } = log
  const texts = new Map(log.epochs.map(({ epoch }) => [epoch.id, recordOf(epoch)]))
  return {
    ...figuresOf(log),
    session,
    tenant,
    records,
    items: items.length,
    startedAt: records === 0 ? undefined : startedAt,
    updatedAt: records === 0 ? undefined : updatedAt,
    pins: [...pins],
    misses: missesOf(log),
    troubles: troublesOf(log),
    epochs: compactionsOf(log, priceOf).map((row) => ({ ...row, record: texts.get(row.id) ?? '' })),
    removals: removalsOf(log),
  }
}

/** The session as Markdown: the archived items in the order in which they were first seen. */
export async function* readableSession(
  store: Pick<SessionStore, 'read'>,
  tenant: string,
  session: string,
): AsyncGenerator<string, void, undefined> {
  yield `# ${session}\n`
  for await (const { record } of store.read(tenant, session)) {
    if (record.type === 'item-seen' && record.text !== '') {
      const who = record.toolName === undefined ? record.kind : `${record.kind}: ${record.toolName}`
      yield `## ${who}\n\n${fenced(record.kind, record.text)}\n`
    } else if (record.type === 'epoch')
      yield `> compaction ${record.id}: ${Math.round(record.before)} → ${Math.round(record.after)} tokens, ${record.reason}\n`
    else if (record.type === 'undo') yield `> compaction ${record.epoch} was undone\n`
  }
}

/** A result may contain fences, so a longer one is put around it. */
function fenced(kind: string, text: string): string {
  if (kind !== 'result' && kind !== 'call') return text
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map((fence) => fence.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}
