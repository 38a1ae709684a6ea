import {
  RECORD_VERSION,
  type LogRecord,
  type Epoch,
  type FirstSendEdit,
  type ItemSeen,
  type RequestSent,
} from '../../core/records.ts'
import type { WriteOptions } from '../../ports/session-store.ts'
import type { EngineDeps } from '../deps.ts'
import type { Branch, Unwritten } from './branch.ts'
import { linksBefore } from '../../core/chain.ts'
import { ArchivedForms, formOf, noteForm } from './branch-log.ts'
import type { StoredText } from '../epoch/cascade/draft.ts'
import type { Journal, NewEdit, PrepareContext, Standing } from '../prepare/context.ts'
import { noteQuoted } from '../../ports/quoted-texts.ts'
import { handlesOfRecord, putArtifact } from '../store-admin/retention.ts'
import type { Writable } from '../../util/writable.ts'
import { yieldNow } from '../../util/yield-now.ts'

/** Takes in what the log holds beyond what the branch knows: all of it at first, then what other processes wrote. */
export async function catchUp(deps: EngineDeps, branch: Branch): Promise<void> {
  const { tenant, session, log } = branch
  // Nearly always there is nothing, and this is the cheapest way to know.
  if ((await deps.sessions.version(tenant, session)) === log.version) return
  for await (const { version, record } of deps.sessions.read(tenant, session, log.version)) {
    absorb(branch, record)
    log.reached(version)
    if (record.type === 'usage') deps.ledger?.restore({ tenant, session, version }, record)
  }
}

/** Appends, and keeps up without reading the same records again. What waited for a write to go with goes first. */
export function appendTo(
  deps: EngineDeps,
  branch: Branch,
  added: readonly LogRecord[],
  options: WriteOptions = {},
): Promise<void> {
  const { log } = branch
  const records = log.seed === undefined ? added : [log.seed, ...added]
  return (records.length <= BATCH ? appendBatch : appendInBatches)(deps, branch, records, options)
}

async function appendInBatches(
  deps: EngineDeps,
  branch: Branch,
  records: readonly LogRecord[],
  options: WriteOptions,
): Promise<void> {
  for (const batch of batchesOf(records)) await appendBatch(deps, branch, batch, options)
}

/** Records that a store takes in at once; more would hold up everybody else who writes. */
const BATCH = 500

/**
 * A first request may have a hundred thousand items. What was decided and what it cost stays together and goes first: items that stand in the log
 * without the decision about them would pass for sent as they are, and a client sends them again.
 */
function batchesOf(records: readonly LogRecord[]): readonly (readonly LogRecord[])[] {
  const items = records.filter(({ type }) => type === 'item-seen')
  const batches: (readonly LogRecord[])[] = [records.filter(({ type }) => type !== 'item-seen')]
  for (let from = 0; from < items.length; from += BATCH) batches.push(items.slice(from, from + BATCH))
  return batches.filter(({ length }) => length > 0)
}

async function appendBatch(
  deps: EngineDeps,
  branch: Branch,
  records: readonly LogRecord[],
  options: WriteOptions,
): Promise<void> {
  const { tenant, session, log } = branch
  const version = await deps.sessions.append(tenant, session, records, undefined, options)
  // Somebody else wrote in between: take theirs in first, in the order of the log.
  if (version !== log.version + records.length) return await catchUp(deps, branch)
  for (const record of records) absorb(branch, record)
  log.reached(version)
}

function absorb({ agent, log, standing, wish }: Branch, record: LogRecord): void {
  const change = log.absorb(record)
  if (change !== undefined) standing.follow(change)
  if ((record.agent ?? agent) !== agent) return
  if (record.type === 'compaction-asked' && record.refusal === undefined) {
    const { instructions } = record
    wish.ask({ isLogged: true, instructions })
  } else if (record.type === 'compaction-asked') wish.answer(record.refusal)
  else if (record.type === 'epoch') wish.answer()
}

/**
 * Fixes in the log what the meter knows when a branch begins. From there on the branch learns from its own usage records
 * only, so that a restarted process, or another proxy, decides exactly as this one would.
 */
export async function seedCalibration(deps: EngineDeps, { tenant, agent, log }: Branch): Promise<void> {
  if (deps.calibrations === undefined || log.calibration !== undefined) return
  const { v, models } = (await deps.calibrations.of(tenant)).state()
  // Not worth a write of its own: it goes before the first record that builds on it.
  log.begin({ v: RECORD_VERSION, at: deps.clock.now(), agent, type: 'calibration', state: { v, models } })
}

/** Makes texts durable behind their handles, before any view mentions them. */
export async function storeTexts(deps: EngineDeps, branch: Branch, texts: Iterable<StoredText>): Promise<void> {
  for (const { text, content, mime, tool, callId, about } of texts) {
    await putArtifact(deps, branch, content ?? Buffer.from(text), {
      ...about,
      ...(tool !== undefined && { tool }),
      ...(callId !== undefined && { callId }),
      ...(mime !== undefined && { mime }),
    })
  }
}

/** Everything of a request that the session's own log does not hold: its items, and what was decided about it. */
function unwrittenOf(context: PrepareContext, decided: Decided, items: readonly Archivable[]): LogRecord[] {
  const at = context.deps.clock.now()
  const seen = newItems(context, items, at)
  // Nearly always there is nothing else.
  if (!isNews(context, decided)) return seen
  return [
    ...seen,
    ...adopted(context, decided.standing),
    ...decided.edits.map((edit) => edit.record),
    ...decided.edits.map((edit) => auditOf(edit, at, context.branch.agent)),
  ]
}

interface Decided {
  /** What stood before this request. */
  readonly standing: Standing
  readonly edits: readonly NewEdit[]
}

/** Whether anything was decided that no log of this session holds: it must be durable before the request leaves. */
const isNews = (context: PrepareContext, { standing, edits }: Decided): boolean =>
  edits.length > 0 || adopted(context, standing).length > 0

/** Writes it, and what is said about the request that leaves. The artifacts that it names are then this session's as well. */
async function logRequest(context: PrepareContext, decided: Decided, sent: readonly RequestSent[] = []): Promise<void> {
  const { deps, branch } = context
  const items = await archivable(context)
  const records = [...unwrittenOf(context, decided, items), ...sent]
  await referenceHandles(deps, branch, adopted(context, decided.standing))
  if (records.length > 0) await appendTo(deps, branch, records)
  noteArchived(context, items)
  for (const edit of decided.edits) context.emit({ type: 'item-offloaded', ...sizesOf(edit) })
}

/**
 * Epochs and first-send edits are found in any session of the tenant, and sessions are pruned one by one: what this session
 * builds on is copied into its own log.
 */
function adopted({ branch }: PrepareContext, { epoch, firstSend }: Standing): (Epoch | FirstSendEdit)[] {
  const found: (Epoch | FirstSendEdit)[] = []
  if (epoch !== undefined && !branch.log.epochs.has(epoch.id)) found.push({ ...epoch, agent: branch.agent })
  const edits = new Map<string, FirstSendEdit>()
  for (const edit of firstSend.values()) if (!branch.log.editKeys.has(edit.key)) edits.set(edit.key, edit)
  found.push(...edits.values())
  return found
}

/** Nothing that these records name may go while the session lives. */
export async function referenceHandles(
  { artifacts }: EngineDeps,
  { tenant, session }: Branch,
  records: readonly (Epoch | FirstSendEdit)[],
): Promise<void> {
  const handles = records.flatMap(handlesOfRecord)
  if (handles.length > 0) await artifacts.reference(tenant, session, handles)
}

/** An item that the archive may not hold yet. */
interface Archivable {
  readonly index: number
  readonly identity: string
  readonly chain: string
  /** Its bytes, and what they are known by. */
  readonly fragment: string
  readonly form: string
}

/** The next request need not look at these items again; what only the outbox has is tried again. */
function noteArchived(context: PrepareContext, items: readonly Archivable[]): void {
  const { branch, conversation } = context
  if (items.every(({ identity, form }) => branch.log.archived.holds(identity, form)))
    branch.requests.keepArchived(conversation.items)
}

/**
 * Every item that the archive may not hold yet, those outside the chain (reasoning, reminders) under an identity of their own: a
 * fold takes them out as well.
 */
async function archivable(context: PrepareContext): Promise<readonly Archivable[]> {
  const { deps, branch, codec, conversation, links } = context
  const { items } = conversation
  const pause = yieldNow()
  const from = deps.memo.prefixes.shared(branch.requests.archived, items)
  let next = linksBefore(links, from)
  let chain = links[next - 1]?.chain ?? ''
  const found: Archivable[] = []
  for (let index = from; index < items.length; index++) {
    const link = links[next]?.index === index ? links[next++]! : undefined
    const fragment = codec.fragment(conversation, items[index]!)
    const form = formOf(deps, fragment)
    // By its bytes: two thoughts of equal text differ in their signatures.
    const identity = link?.identity ?? deps.hash(`outside:${fragment}`)
    chain = link?.chain ?? chain
    found.push({ index, identity, chain, fragment, form })
    if (found.length % PAUSE_EVERY === 0) await pause()
  }
  return found
}

/** Items between two looks at the clock. */
const PAUSE_EVERY = 64

function newItems(
  { branch, codec, conversation }: PrepareContext,
  items: readonly Archivable[],
  at: number,
): ItemSeen[] {
  const { archived } = branch.log
  const records: ItemSeen[] = []
  const fresh = new ArchivedForms()
  for (const { index, identity, chain, fragment, form } of items) {
    const item = conversation.items[index]!
    if (archived.holds(identity, form) || fresh.holds(identity, form)) continue
    const isFurtherForm = archived.has(identity) || fresh.has(identity)
    fresh.add(identity, form)
    const record: Writable<ItemSeen> = {
      v: RECORD_VERSION,
      at,
      agent: branch.agent,
      type: 'item-seen',
      identity,
      chain,
      kind: item.kind,
      role: item.role,
      text: isFurtherForm ? '' : item.text,
      fragment,
    }
    if (item.callId !== undefined) record.callId = item.callId
    if (item.toolName !== undefined) record.toolName = item.toolName
    noteForm(record, form)
    const quoted = isFurtherForm ? undefined : codec.quoted(conversation, item)
    if (quoted !== undefined) noteQuoted(record, quoted)
    records.push(record)
  }
  return records
}

function auditOf({ record, original }: NewEdit, at: number, agent: string): LogRecord {
  return {
    v: RECORD_VERSION,
    at,
    agent,
    type: 'audit',
    action: 'first-send',
    ...sizesOf({ record, original }),
  }
}

const sizesOf = ({ record, original }: Pick<NewEdit, 'record' | 'original'>) => ({
  reason: record.reason,
  originalBytes: Buffer.byteLength(original),
  shownBytes: Buffer.byteLength(record.text),
  handle: record.handle,
})

export function journalOf(context: PrepareContext, decided: Decided): Journal {
  let written: Promise<void> | undefined
  return {
    write: () => (written ??= logRequest(context, decided)),
    async writeWith(sent) {
      if (written === undefined) return (written = logRequest(context, decided, sent))
      await written
      if (sent.length > 0) await appendTo(context.deps, context.branch, sent)
    },
    later: () => (written !== undefined || isNews(context, decided) ? undefined : unwritten(context, decided)),
  }
}

function unwritten(context: PrepareContext, decided: Decided): Unwritten {
  let items: readonly Archivable[] = []
  return {
    async records() {
      items = await archivable(context)
      return unwrittenOf(context, decided, items)
    },
    written: () => noteArchived(context, items),
  }
}
