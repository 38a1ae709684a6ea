import { NO_USAGE, addUsage, type Usage } from '../../core/usage.ts'
import { insertedTexts } from '../../core/epochs.ts'
import type { CacheMiss, CacheSeen } from '../../core/cache.ts'
import type { Audit, Epoch, FetchedAgain, LogRecord, Receipt, RecordRecall, UsageSeen } from '../../core/records.ts'
import type { SessionStore } from '../../ports/session-store.ts'

export interface SessionEpoch extends Pick<Epoch, 'id' | 'at' | 'before' | 'after' | 'forced' | 'reason' | 'policy'> {
  readonly covered: number
  readonly undone: boolean
  /** The share of the removed content that the view still contained. */
  readonly recall?: RecordRecall
  readonly receipt?: Receipt
  /** What its session fetched again of it within the next 30 answers. */
  readonly fetchedAgain?: FetchedAgain
  /** The inserted text that the model sees. */
  readonly record: readonly string[]
}

export interface SessionMiss extends CacheMiss, Pick<CacheSeen, 'ageSeconds'> {
  readonly at: number
  readonly turn: string
  readonly model: string
  readonly agent?: string
}

export type SessionCut = Pick<Audit, 'at' | 'action' | 'reason' | 'originalBytes' | 'shownBytes' | 'handle'>

export interface SessionReport {
  readonly session: string
  readonly tenant: string
  readonly records: number
  readonly items: number
  readonly startedAt?: number
  readonly updatedAt?: number
  readonly agents: readonly string[]
  readonly models: readonly string[]
  readonly calls: number
  readonly usage: Usage
  readonly costUsd: number
  /** What the session cost less for us, net; absent where no call says it. */
  readonly savedUsd?: number
  readonly withoutUsage: number
  /** Calls that read less from the provider's cache than they could have. */
  readonly misses: readonly SessionMiss[]
  readonly pins: readonly string[]
  readonly epochs: readonly SessionEpoch[]
  readonly cuts: readonly SessionCut[]
}

export async function reportOf(
  store: Pick<SessionStore, 'read'>,
  tenant: string,
  session: string,
): Promise<SessionReport> {
  const all: LogRecord[] = []
  for await (const { record } of store.read(tenant, session)) all.push(record)
  const undone = new Set(all.filter((record) => record.type === 'undo').map(({ epoch }) => epoch))
  const usages = all.filter((record) => record.type === 'usage')
  const pins = new Set<string>()
  for (const record of all) {
    if (record.type !== 'pin') continue
    if (record.pinned) pins.add(record.identity)
    else pins.delete(record.identity)
  }
  return {
    session,
    tenant,
    records: all.length,
    items: all.filter(({ type }) => type === 'item-seen').length,
    startedAt: all[0]?.at,
    updatedAt: all.at(-1)?.at,
    agents: [...new Set(all.flatMap(({ agent }) => (agent === undefined ? [] : [agent])))],
    models: [...new Set(usages.map(({ model }) => model))],
    calls: usages.length,
    usage: usages.reduce((sum, { usage }) => (usage === undefined ? sum : addUsage(sum, usage)), NO_USAGE),
    costUsd: usages.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0),
    savedUsd: savedIn(usages),
    misses: usages.flatMap(({ at, turn, model, agent, cache }) =>
      cache?.miss === undefined ? [] : [{ at, turn, model, agent, ageSeconds: cache.ageSeconds, ...cache.miss }],
    ),
    withoutUsage: usages.filter(({ usage }) => usage === undefined).length,
    pins: [...pins],
    epochs: all.filter((record) => record.type === 'epoch').map((record) => epochOf(record, undone, usages)),
    cuts: all.filter((record) => record.type === 'audit').map(cutOf),
  }
}

/** What calls say of themselves, added up; undefined where one that was priced does not. */
export function savedIn(calls: readonly Pick<UsageSeen, 'costUsd' | 'savedUsd'>[]): number | undefined {
  const priced = calls.filter(({ costUsd }) => costUsd !== undefined)
  if (priced.length === 0 || priced.some(({ savedUsd }) => savedUsd === undefined)) return undefined
  return priced.reduce((sum, { savedUsd = 0 }) => sum + savedUsd, 0)
}

function epochOf(record: Epoch, undone: ReadonlySet<string>, usages: readonly UsageSeen[]): SessionEpoch {
  const { id, at, before, after, count, forced, reason, policy, recall, receipt } = record
  return {
    id,
    at,
    before: Math.round(before),
    after: Math.round(after),
    covered: count,
    forced,
    reason,
    policy,
    undone: undone.has(id),
    recall,
    receipt,
    fetchedAgain: againOf(usages, id),
    record: insertedTexts(record),
  }
}

function againOf(usages: readonly UsageSeen[], id: string): FetchedAgain | undefined {
  const found = usages.flatMap(({ fetchedAgain }) => (fetchedAgain?.epoch === id ? [fetchedAgain] : []))
  const sum = (name: keyof FetchedAgain): number => found.reduce((all, one) => all + one[name], 0)
  return found.length === 0 ? undefined : { results: sum('results'), tokens: sum('tokens'), costUsd: sum('costUsd') }
}

const cutOf = ({ at, action, reason, originalBytes, shownBytes, handle }: Audit): SessionCut => ({
  at,
  action,
  reason,
  originalBytes,
  shownBytes,
  handle,
})

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
