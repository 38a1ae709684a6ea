import { firstSendKey } from '../core/chain.ts'
import type { Epoch, FirstSendEdit, ItemSeen, LogRecord, UsageSeen } from '../core/records.ts'

/** The entries of a log by type, in the log's order. */
export interface FoldedLog {
  readonly items: readonly ItemSeen[]
  readonly edits: ReadonlyMap<string, FirstSendEdit>
  readonly calls: readonly LoggedCall[]
  readonly epochs: readonly LoggedEpoch[]
  readonly undone: ReadonlySet<string>
  readonly pins: ReadonlySet<string>
  readonly audits: readonly Extract<LogRecord, { type: 'audit' }>[]
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
  const audits: Extract<LogRecord, { type: 'audit' }>[] = []
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
    startedAt: count === 0 ? 0 : startedAt,
    updatedAt,
    records: count,
  }
}

export type CountText = (text: string) => number
export type Parts = ReadonlyMap<string, number>

/** The name of an item's part in the chart. */
export function partOf({ kind, toolName }: Pick<ItemSeen, 'kind' | 'toolName'>): string {
  if (kind === 'user') return 'user'
  if (kind === 'result') return toolName === undefined ? 'results' : `results: ${toolName}`
  if (kind === 'media') return 'media'
  if (kind === 'instruction') return 'instructions'
  return 'model'
}

/** Tokens by part of the items that an epoch covers, and of what is sent instead. */
interface Rewrite {
  readonly covered: Parts
  readonly shown: Parts
}

/** Tokens of each call's prompt by part. Each text is counted once, whatever the number of calls. */
export function compositionOf(log: FoldedLog, countText: CountText): (call: LoggedCall, prompt: number) => Parts {
  const tokens = new Map<string, number>()
  const byIdentity = new Map<string, ItemSeen>()
  const upTo: Parts[] = [new Map()]
  for (const item of log.items) {
    const shown = log.edits.get(firstSendKey(item.callId, item.identity))
    const size = countText(shown?.text ?? item.text)
    tokens.set(item.identity, size)
    byIdentity.set(item.identity, item)
    upTo.push(added(upTo.at(-1)!, partOf(item), size))
  }
  const epochs = new Map(log.epochs.map(({ epoch }) => [epoch.id, epoch]))
  const rewrites = new Map<string, Rewrite>()
  const rewriteOf = (id: string): Rewrite | undefined => {
    const epoch = epochs.get(id)
    if (epoch === undefined) return undefined
    let rewrite = rewrites.get(id)
    if (rewrite === undefined) rewrites.set(id, (rewrite = rewriteBy(epoch, byIdentity, tokens, countText)))
    return rewrite
  }
  return (call, prompt) => {
    const sum = new Map(upTo[Math.min(call.itemsBefore, upTo.length - 1)])
    const rewrite = call.epoch === undefined ? undefined : rewriteOf(call.epoch)
    for (const [part, size] of rewrite?.covered ?? []) sum.set(part, Math.max(0, (sum.get(part) ?? 0) - size))
    for (const [part, size] of rewrite?.shown ?? []) sum.set(part, (sum.get(part) ?? 0) + size)
    return scaled(sum, call, prompt)
  }
}

const added = (parts: Parts, part: string, size: number): Parts =>
  new Map([...parts, [part, (parts.get(part) ?? 0) + size]])

function rewriteBy(
  epoch: Epoch,
  items: ReadonlyMap<string, ItemSeen>,
  tokens: ReadonlyMap<string, number>,
  countText: CountText,
): Rewrite {
  const covered = new Map<string, number>()
  const shown = new Map<string, number>()
  const add = (parts: Map<string, number>, part: string, size: number): void =>
    void parts.set(part, (parts.get(part) ?? 0) + size)
  const fates = fatesOf(epoch)
  const seen = new Set<string>()
  epoch.identities.forEach((identity, place) => {
    const item = items.get(identity)
    if (item === undefined) return
    const size = tokens.get(identity) ?? 0
    // The log contains an item once, even if it occurs several times in the conversation.
    if (!seen.has(identity)) add(covered, partOf(item), size)
    seen.add(identity)
    const fate = fates.get(place)
    if (fate === undefined) add(shown, partOf(item), size)
    else if (fate.op === 'replace') add(shown, partOf(item), countText(fate.text))
  })
  for (const edit of epoch.edits) if (edit.op === 'insert') add(shown, 'record', countText(edit.text))
  return { covered, shown }
}

export type Fate = Extract<Epoch['edits'][number], { op: 'drop' | 'replace' }>

/** What an epoch does with each covered position; positions without an entry are sent unchanged. */
export function fatesOf({ edits }: Epoch): ReadonlyMap<number, Fate> {
  const fates = new Map<number, Fate>()
  for (const edit of edits) {
    if (edit.op === 'drop') for (let place = edit.from; place < edit.to; place++) fates.set(place, edit)
    else if (edit.op === 'replace') fates.set(edit.at, edit)
  }
  return fates
}

/** Scales parts to the provider's count: instructions and tools by their share of the estimate, the rest in proportion. */
function scaled(sum: Map<string, number>, { measured, estimated }: LoggedCall, prompt: number): Parts {
  const standing = measured === undefined || estimated === 0 ? 0 : (measured.standing / estimated) * prompt
  const own = [...sum.values()].reduce((a, b) => a + b, 0)
  const parts = new Map<string, number>()
  if (standing > 0) parts.set('instructions and tools', standing)
  const rest = Math.max(0, prompt - standing)
  for (const [part, size] of sum) if (size > 0 && own > 0) parts.set(part, (size / own) * rest)
  return parts
}
