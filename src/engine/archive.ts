import { linksBefore } from '../core/chain.ts'
import { sharedItems } from '../core/grown-lists.ts'
import { RECORD_VERSION, type ItemSeen, type LogRecord } from '../core/records.ts'
import type { Branch } from './branch.ts'
import type { StoredText } from './cascade/draft.ts'
import type { PrepareContext } from './context.ts'
import type { EngineDeps } from './deps.ts'
import type { NewEdit } from './first-send.ts'
import { appendTo } from './restore.ts'

/** Makes texts durable behind their handles, before any view mentions them. */
export async function storeTexts(deps: EngineDeps, branch: Branch, texts: Iterable<StoredText>): Promise<void> {
  for (const { text, content, mime, tool, callId } of texts) {
    await deps.artifacts.put(branch.tenant, content ?? Buffer.from(text), {
      session: branch.session,
      ...(tool !== undefined && { tool }),
      ...(callId !== undefined && { callId }),
      ...(mime !== undefined && { mime }),
    })
  }
}

/** Writes what is new about a request to the log: items not archived yet, first-send edits, an audit for each cut. */
export async function logRequest(context: PrepareContext, edits: readonly NewEdit[]): Promise<void> {
  const { deps, branch } = context
  const at = deps.clock.now()
  const unknown = archivable(context).filter(({ identity }) => !branch.archived.has(identity))
  if (unknown.length > 0) {
    const seen = await deps.sessions.seen(
      branch.tenant,
      unknown.map(({ identity }) => identity),
    )
    for (const identity of seen) branch.archived.add(identity)
  }
  const items = newItems(context, unknown, at)
  const records: LogRecord[] = [
    ...items,
    ...edits.map((edit) => edit.record),
    ...edits.map((edit) => auditOf(edit, at)),
  ]
  if (records.length > 0) await appendTo(deps, branch, records)
  // What is only owed to a store that is away is tried again with the next request.
  if (items.every(({ identity }) => branch.archived.has(identity))) branch.archivedItems = context.conversation.items
  for (const edit of edits) context.emit({ type: 'item-offloaded', ...sizesOf(edit) })
}

interface Archivable {
  readonly index: number
  readonly identity: string
  readonly chain: string
}

/** Every item that the archive may not hold yet, those outside the chain (reasoning, reminders) under an identity of their own: a fold takes them out as well. */
function archivable({ deps, branch, codec, conversation, links }: PrepareContext): Archivable[] {
  const { items } = conversation
  const from = sharedItems(branch.archivedItems ?? [], items)
  const known = linksBefore(links, from)
  const chained = new Map(links.slice(known).map((link) => [link.index, link]))
  let chain = links[known - 1]?.chain ?? ''
  return items.slice(from).map((item, at) => {
    const link = chained.get(from + at)
    // By its bytes: two thoughts of equal text differ in their signatures.
    if (link === undefined)
      return { index: from + at, identity: deps.hash(`outside:${codec.fragment(conversation, item)}`), chain }
    chain = link.chain
    return link
  })
}

function newItems(
  { branch, codec, conversation }: PrepareContext,
  unknown: readonly Archivable[],
  at: number,
): ItemSeen[] {
  const records = new Map<string, ItemSeen>()
  for (const { index, identity, chain } of unknown) {
    if (branch.archived.has(identity) || records.has(identity)) continue
    const item = conversation.items[index]!
    records.set(identity, {
      v: RECORD_VERSION,
      at,
      type: 'item-seen',
      identity,
      chain,
      kind: item.kind,
      role: item.role,
      ...(item.callId !== undefined && { callId: item.callId }),
      ...(item.toolName !== undefined && { toolName: item.toolName }),
      text: item.text,
      fragment: codec.fragment(conversation, item),
    })
  }
  return [...records.values()]
}

function auditOf({ record, original }: NewEdit, at: number): LogRecord {
  return {
    v: RECORD_VERSION,
    at,
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
