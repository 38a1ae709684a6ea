import {
  RECORD_VERSION,
  type Audit,
  type Epoch,
  type FirstSendEdit,
  type ItemSeen,
  type LogRecord,
  type RequestSent,
} from '../../core/records.ts'
import type { WriteOptions } from '../../ports/session-store.ts'
import { sharedItems } from '../memo/memo.ts'
import { nextRound } from '../../util/yield-now.ts'
import type { EngineDeps } from '../deps.ts'
import type { StoredText } from '../epoch/cascade/draft.ts'
import type { Journal, NewEdit, PrepareContext, Standing } from '../prepare/context.ts'
import { handlesOfRecord, putArtifact, reference } from '../store-admin/retention.ts'
import { formKey } from './branch-log.ts'
import type { Branch } from './branch.ts'

/** Reads the log entries that the branch has not read yet: all of them at first, then what other processes wrote. */
export async function catchUp(deps: EngineDeps, branch: Branch): Promise<void> {
  const { tenant, session, log } = branch
  // Usually nothing is new, and asking for the version is the cheapest way to know.
  if ((await deps.sessions.version(tenant, session)) === log.version) return
  for await (const { version, record } of deps.sessions.read(tenant, session, log.version)) {
    log.absorb(record, version)
    if (record.type === 'usage') deps.ledger?.restore({ tenant, session, version }, record)
  }
}

/** Log entries in one write; a larger write would delay other writers. */
const BATCH = 500

/**
 * Appends log entries and absorbs them without reading them back. A first request may have a hundred thousand items, so decisions and usage are
 * written before the items: an item in the log without the decision about it would look as if it had been sent unchanged.
 */
export async function appendTo(
  deps: EngineDeps,
  branch: Branch,
  added: readonly LogRecord[],
  options: WriteOptions = {},
): Promise<void> {
  const { tenant, session, log } = branch
  const records = log.seed === undefined ? added : [log.seed, ...added]
  const batches = [records]
  if (records.length > BATCH) {
    const items = records.filter(({ type }) => type === 'item-seen')
    batches[0] = records.filter(({ type }) => type !== 'item-seen')
    for (let from = 0; from < items.length; from += BATCH) batches.push(items.slice(from, from + BATCH))
  }
  for (const batch of batches) {
    if (batch.length === 0) continue
    const version = await deps.sessions.append(tenant, session, batch, undefined, options)
    // Another process wrote in between: read its entries first, in the order of the log.
    if (version !== log.version + batch.length) await catchUp(deps, branch)
    else for (const record of batch) log.absorb(record, log.version + 1)
  }
}

/**
 * Prepares the calibration's first state for the log. From then on the branch learns from its own usage entries only, so that a restarted process, or
 * another proxy, makes the same decisions.
 */
export async function seedCalibration(deps: EngineDeps, { tenant, agent, log }: Branch): Promise<void> {
  if (deps.calibrations === undefined || log.calibration !== undefined) return
  const { v, models } = (await deps.calibrations.of(tenant)).state()
  // Written together with the first entry that builds on it.
  log.begin({ v: RECORD_VERSION, at: deps.clock.now(), agent, type: 'calibration', state: { v, models } })
}

/** Stores texts as artifacts before a view mentions their handles. False when one of them could not be stored. */
export async function storeTexts(deps: EngineDeps, branch: Branch, texts: Iterable<StoredText>): Promise<boolean> {
  for (const { text, content = Buffer.from(text), mime, tool, callId, about } of texts) {
    const meta = { tool, callId, ...about, ...(mime !== undefined && { mime }) }
    if (!(await putArtifact(deps, branch, content, meta))) return false
  }
  return true
}

interface Decided {
  readonly standing: Standing
  readonly edits: readonly NewEdit[]
}

/** The log entries about one request: its items, the decisions about it, and the earlier edits that it uses. */
export function journalOf(context: PrepareContext, decided: Decided): Journal {
  const { deps, branch, conversation } = context
  // Epochs and first-send edits may come from another session of the tenant, which can be pruned: this session copies those that it uses into its own
  // log.
  const adopted = (): readonly (Epoch | FirstSendEdit)[] => {
    const { epoch, firstSend } = decided.standing
    const edits = new Map([...firstSend.values()].map((edit) => [edit.key, edit]))
    return [
      ...(epoch === undefined || branch.log.epochs.has(epoch.id) ? [] : [{ ...epoch, agent: branch.agent }]),
      ...[...edits.values()].filter(({ key }) => !branch.log.editKeys.has(key)),
    ]
  }
  let written: Promise<void> | undefined
  let forms: readonly string[] = []
  async function records(): Promise<LogRecord[]> {
    const at = deps.clock.now()
    const items = await newItems(context, at)
    forms = items.forms
    const audits = decided.edits.map((edit): LogRecord => ({
      v: RECORD_VERSION,
      at,
      agent: branch.agent,
      type: 'audit',
      action: 'first-send',
      ...sizesOf(edit),
    }))
    return [...items.records, ...adopted(), ...decided.edits.map(({ record }) => record), ...audits]
  }
  /** The next request skips these items; items that only reached the outbox are tried again. */
  const noteArchived = (): void => {
    if (forms.every((form) => branch.log.archived.has(form))) branch.archivedItems = conversation.items
  }
  async function write(sent: readonly (RequestSent | Audit)[]): Promise<void> {
    const all = [...(await records()), ...sent]
    await reference(deps, branch, adopted().flatMap(handlesOfRecord))
    if (all.length > 0) await appendTo(deps, branch, all)
    noteArchived()
    for (const edit of decided.edits) context.emit({ type: 'item-offloaded', ...sizesOf(edit) })
  }
  return {
    write: () => (written ??= write([])),
    async writeWith(sent) {
      if (written === undefined) return (written = write(sent))
      await written
      if (sent.length > 0) await appendTo(deps, branch, sent)
    },
    // Edits that this session's log does not hold must be durable before the request leaves.
    later: () =>
      written !== undefined || decided.edits.length + adopted().length > 0
        ? undefined
        : { records, written: noteArchived },
  }
}

/** Items between two turns for other requests. */
const SLICE = 1_000

/**
 * Every item that the archive does not hold yet, those outside the chain (reasoning, reminders) under an identity of their own: a fold takes
 * them out as well. One that comes back in other bytes is archived once more, without the text that is known. `forms`: what the archive knows
 * the bytes of all items by that were looked at.
 */
async function newItems(
  { deps, branch, codec, conversation, links }: PrepareContext,
  at: number,
): Promise<{ readonly records: readonly ItemSeen[]; readonly forms: readonly string[] }> {
  const { items } = conversation
  const { archived } = branch.log
  const from = sharedItems(branch.archivedItems, items)
  let next = links.filter(({ index }) => index < from).length
  let chain = links[next - 1]?.chain ?? ''
  const records: ItemSeen[] = []
  const forms: string[] = []
  const fresh = new Set<string>()
  for (let index = from; index < items.length; index++) {
    const item = items[index]!
    const link = links[next]?.index === index ? links[next++]! : undefined
    const fragment = codec.fragment(conversation, item)
    // By its bytes: two thoughts of equal text differ in their signatures.
    const identity = link?.identity ?? deps.hash(`outside:${fragment}`)
    chain = link?.chain ?? chain
    const form = formKey(deps, identity, fragment)
    if (forms.push(form) % SLICE === 0) await nextRound()
    if (archived.has(form) || fresh.has(form)) continue
    const isFurtherForm = archived.has(identity) || fresh.has(identity)
    fresh.add(identity).add(form)
    const { kind, role, callId, toolName } = item
    const text = isFurtherForm ? '' : item.text
    const about = { v: RECORD_VERSION, at, agent: branch.agent, type: 'item-seen' } as const
    records.push({ ...about, identity, chain, kind, role, text, fragment, callId, toolName })
  }
  return { records, forms }
}

const sizesOf = ({ record, original }: NewEdit) => ({
  reason: record.reason,
  originalBytes: Buffer.byteLength(original),
  shownBytes: Buffer.byteLength(record.text),
  handle: record.handle,
})
