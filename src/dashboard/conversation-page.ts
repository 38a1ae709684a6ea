import { firstSendKey } from '../core/chain.ts'
import type { Epoch, FirstSendEdit, ItemSeen } from '../core/records.ts'
import { READER_TOOLS } from '../engine/readers/tools.ts'
import { standingEpochs } from '../meter/session/figures.ts'
import type { FoldedLog } from '../meter/session/log.ts'
import { type CountText, type Fate, fatesOf } from '../meter/session/parts.ts'
import type { ConversationPage, ConversationRow, HiddenRow, InsertedRow } from './page-types.ts'

export interface ConversationQuery {
  readonly agent: string
  readonly from: number
  readonly limit: number
  /** The conversation under this compaction instead of the newest. */
  readonly epoch?: string
  /** The page that holds this item, in place of `from`. */
  readonly item?: string
}

/** The page fetches longer texts when they are opened. */
const EXCERPT = 600

/** The client's conversation and what is sent of it. */
export function conversationPageOf(log: FoldedLog, query: ConversationQuery, countText: CountText): ConversationPage {
  const { agent, limit, item } = query
  const chosen = query.epoch === undefined ? undefined : log.epochs.find(({ epoch }) => epoch.id === query.epoch)?.epoch
  const epoch = chosen ?? standingEpochs(log).get(agent)
  const placed = placesOf(log, agent, epoch)
  const at = item === undefined ? -1 : placed.findIndex(({ identity }) => identity === item)
  const from = at < 0 ? query.from : Math.floor(at / limit) * limit
  const fates = epoch === undefined ? new Map<number, Fate>() : fatesOf(epoch)
  const rows = placed.slice(from, from + limit).map((item, offset) => rowOf(item, from + offset, fates, log, countText))
  return {
    agent,
    epoch: epoch?.id,
    total: placed.length,
    from,
    rows,
    inserted: epoch === undefined ? [] : insertedBy(epoch),
  }
}

/** The covered items in the compaction's order, then later ones. */
function placesOf(log: FoldedLog, agent: string, epoch: Epoch | undefined): readonly ItemSeen[] {
  const own = log.items.filter((item) => (item.agent ?? agent) === agent && item.chain !== '')
  if (epoch === undefined) return own
  const byIdentity = new Map(log.items.map((item) => [item.identity, item]))
  const covered = epoch.identities.flatMap((identity) => byIdentity.get(identity) ?? [])
  const known = new Set(epoch.identities)
  return [...covered, ...own.filter(({ identity }) => !known.has(identity))]
}

function rowOf(
  item: ItemSeen,
  place: number,
  fates: ReadonlyMap<number, Fate>,
  log: FoldedLog,
  countText: CountText,
): ConversationRow {
  const { identity, kind, toolName, text } = item
  const fate = fates.get(place)
  const edit = log.edits.get(firstSendKey(item.callId, identity))
  return {
    identity,
    place,
    kind,
    tool: toolName,
    tokens: countText(text),
    characters: text.length,
    text: text.slice(0, EXCERPT),
    pinned: log.pins.has(identity),
    ...fateOf(fate, edit),
  }
}

function fateOf(
  fate: Fate | undefined,
  edit: FirstSendEdit | undefined,
): Pick<ConversationRow, 'fate' | 'shown' | 'reason' | 'handle'> {
  if (fate?.op === 'drop') return { fate: 'left out', reason: fate.reason }
  const shown = fate ?? edit
  if (shown === undefined) return { fate: 'sent' }
  const { text, reason, handle } = shown
  return {
    fate: fate === undefined ? 'shortened' : 'replaced',
    shown: text.slice(0, EXCERPT),
    reason,
    handle,
  }
}

const insertedBy = ({ edits }: Epoch): readonly InsertedRow[] =>
  edits.flatMap((edit) =>
    edit.op === 'insert' ? [{ place: edit.at, role: edit.role, text: edit.text, reason: edit.reason }] : [],
  )

const HIDDEN_EXCERPT = 4_000
const NAMES: ReadonlySet<string> = new Set(READER_TOOLS.map(({ name }) => name))

/**
 * Calls of our tools that the client never saw, with their answers. `agents`: agents with hidden steps; other agents' calls of these tools were made
 * by their clients.
 */
export function hiddenRowsOf({ items }: FoldedLog, agents: ReadonlySet<string>): readonly HiddenRow[] {
  const isHidden = ({ agent = 'main', toolName = '' }: ItemSeen): boolean => agents.has(agent) && NAMES.has(toolName)
  const results = new Map(items.flatMap((item) => (item.kind === 'result' ? [[item.callId ?? '', item]] : [])))
  return items.flatMap((item) => {
    if (item.kind !== 'call' || !isHidden(item)) return []
    const result = results.get(item.callId ?? '')
    return {
      at: item.at,
      agent: item.agent ?? 'main',
      tool: item.toolName!,
      asked: item.text.slice(0, HIDDEN_EXCERPT),
      answered: result?.text.slice(0, HIDDEN_EXCERPT),
      identity: result?.identity,
    }
  })
}
