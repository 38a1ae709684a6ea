import type { Audit, Epoch, FirstSendEdit, ItemSeen, LogRecord, UsageSeen } from '../../core/records.ts'

/** The entries of a log by type, in the log's order. */
export interface FoldedLog {
  readonly items: readonly ItemSeen[]
  readonly edits: ReadonlyMap<string, FirstSendEdit>
  readonly calls: readonly LoggedCall[]
  readonly epochs: readonly LoggedEpoch[]
  readonly undone: ReadonlySet<string>
  readonly pins: ReadonlySet<string>
  readonly audits: readonly Audit[]
  /** Ids of the epochs under which a request was answered, or handed out and not refused. */
  readonly used: ReadonlySet<string>
  readonly startedAt: number
  readonly updatedAt: number
  readonly records: number
}

export interface LoggedCall extends UsageSeen {
  readonly number: number
  /** Number of items in the log before the call. */
  readonly itemsBefore: number
}

export interface LoggedEpoch {
  readonly epoch: Epoch
  /** Number of calls in the log before the epoch. */
  readonly callsBefore: number
}

export function foldLog(records: Iterable<LogRecord>): FoldedLog {
  const items: ItemSeen[] = []
  const edits = new Map<string, FirstSendEdit>()
  const calls: LoggedCall[] = []
  const epochs: LoggedEpoch[] = []
  const undone = new Set<string>()
  const pins = new Set<string>()
  const audits: Audit[] = []
  const handedOut = new Map<string, string>()
  let startedAt = Infinity
  let updatedAt = 0
  let count = 0
  for (const record of records) {
    count++
    startedAt = Math.min(startedAt, record.at)
    updatedAt = Math.max(updatedAt, record.at)
    switch (record.type) {
      case 'item-seen':
        items.push(record)
        break
      case 'edit':
        edits.set(record.key, record)
        break
      case 'usage':
        calls.push({ ...record, number: calls.length + 1, itemsBefore: items.length })
        break
      case 'epoch':
        epochs.push({ epoch: record, callsBefore: calls.length })
        break
      case 'undo':
        undone.add(record.epoch)
        break
      case 'pin':
        if (record.pinned) pins.add(record.identity)
        else pins.delete(record.identity)
        break
      case 'audit':
        audits.push(record)
        break
      case 'request-sent':
        if (record.refused === true) handedOut.delete(record.chain)
        else if (record.epoch !== undefined) handedOut.set(record.chain, record.epoch)
        break
      default:
    }
  }
  return {
    items,
    edits,
    calls,
    epochs,
    undone,
    pins,
    audits,
    used: new Set([...handedOut.values(), ...calls.flatMap(({ epoch = [] }) => epoch)]),
    startedAt: count === 0 ? 0 : startedAt,
    updatedAt,
    records: count,
  }
}
