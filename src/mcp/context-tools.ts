import { PlimsollError } from '../core/errors.ts'
import { stringOf } from '../core/values.ts'
import { flagField, optional, textField, toolInput } from '../engine/readers/tools.ts'
import type { ItemSeen } from '../core/records.ts'
import type { Session, SessionStatus } from '../engine/session/session.ts'
import { conversationOf, type Conversation, type Reach } from './scope.ts'
import { BOOLEAN, conversationFields, listOf, NUMBER, output, TEXT, type McpTool } from './tools.ts'

/** Tools for the status of a conversation, and for compaction and pins. */
export const contextTools = (reach: Reach): readonly McpTool[] => [status(reach), compact(reach), pin(reach)]

const open = ({ plimsoll, tenant }: Reach, { session, agent }: Conversation): Session =>
  plimsoll.session({ tenant, id: session, agent })

const status = (reach: Reach): McpTool => ({
  name: 'context_status',
  title: 'How full the context window is',
  description:
    'Tells how many tokens of the context window are used, at how many tokens compaction starts, and what the conversation has cost.',
  ...toolInput('context_status', conversationFields(reach)),
  outputSchema: output(
    {
      session: TEXT,
      agent: TEXT,
      model: TEXT,
      used: NUMBER,
      limit: NUMBER,
      available: NUMBER,
      percent: NUMBER,
      threshold: NUMBER,
      calls: NUMBER,
      costUsd: NUMBER,
      compaction: TEXT,
      pins: NUMBER,
    },
    ['session', 'agent', 'used', 'limit', 'available', 'percent', 'threshold', 'calls', 'costUsd', 'pins'],
  ),
  isReadOnly: true,
  async run(input) {
    const conversation = await conversationOf(reach, input)
    const standing = await open(reach, conversation).status()
    const { model, used, limit, available, percent, threshold, epoch, pins, spent } = standing
    return {
      ok: true,
      text: wordsOf(standing),
      data: {
        ...conversation,
        model,
        used,
        limit,
        available,
        percent,
        threshold,
        pins,
        calls: spent.calls,
        costUsd: spent.costUsd,
        compaction: epoch,
      },
    }
  },
})

const grouped = (value: number): string => Math.round(value).toLocaleString('en-US')

function wordsOf({ used, limit, percent, threshold, epoch, pins, spent, turnsRemaining }: SessionStatus): string {
  const full =
    limit === 0
      ? `${grouped(used)} tokens are used; the limit is not known yet.`
      : `${grouped(used)} of ${grouped(limit)} tokens are used (${percent} %). Compaction starts at ${grouped(threshold)}.`
  return [
    full,
    ...(turnsRemaining === undefined ? [] : [`About ${grouped(turnsRemaining)} calls are left until then.`]),
    `${grouped(spent.calls)} calls so far, $${spent.costUsd.toFixed(4)}.`,
    ...(epoch === undefined ? [] : [`Compaction ${epoch} is in effect.`]),
    ...(pins === 0 ? [] : [`${pins} pinned.`]),
  ].join(' ')
}

const compact = (reach: Reach): McpTool => ({
  name: 'context_compact',
  title: 'Compact the conversation',
  description:
    'Compacts the conversation before its next request. What is removed can still be read with recall and artifact_read.',
  ...toolInput('context_compact', {
    instructions: optional(textField('What the summary must contain.')),
    ...conversationFields(reach),
  }),
  outputSchema: output({ session: TEXT, agent: TEXT, status: TEXT }),
  isReadOnly: false,
  async run({ instructions, ...input }) {
    const conversation = await conversationOf(reach, input)
    const { status: outcome } = await open(reach, conversation).compact({ instructions: stringOf(instructions) })
    const text = 'The conversation will be compacted before its next request.'
    return { ok: true, text, data: { ...conversation, status: outcome } }
  },
})

const MOST_LISTED = 50

const pin = (reach: Reach): McpTool => ({
  name: 'context_pin',
  title: 'Pin an item',
  description:
    'Pins an item, so that no compaction removes it, or unpins it. Without item: lists items that can be pinned, newest first.',
  ...toolInput('context_pin', {
    item: optional(textField('Identity of the item, or the first characters of it, as in the list.')),
    pinned: optional(flagField('true (the default) pins the item, false unpins it.')),
    query: optional(textField('For the list: only items whose text contains this.')),
    ...conversationFields(reach),
  }),
  outputSchema: output(
    {
      session: TEXT,
      agent: TEXT,
      item: TEXT,
      pinned: BOOLEAN,
      items: listOf(output({ identity: TEXT, kind: TEXT, excerpt: TEXT, pinned: BOOLEAN })),
    },
    ['session', 'agent'],
  ),
  isReadOnly: false,
  async run({ item, pinned = true, query, ...input }) {
    const conversation = await conversationOf(reach, input)
    const { items, pins } = await itemsOf(reach, conversation)
    if (typeof item !== 'string') {
      const shown = items
        .filter(({ text }) => typeof query !== 'string' || text.toLowerCase().includes(query.toLowerCase()))
        .toReversed()
        .slice(0, MOST_LISTED)
        .map(({ identity, kind, text }) => ({ identity, kind, excerpt: excerptOf(text), pinned: pins.has(identity) }))
      const lines = shown.map(
        (each) => `${each.identity.slice(0, 12)}  ${each.kind}${each.pinned ? ', pinned' : ''}: ${each.excerpt}`,
      )
      const text = lines.length === 0 ? 'No item can be pinned.' : lines.join('\n')
      return { ok: true, text, data: { ...conversation, items: shown } }
    }
    const found = items.filter(({ identity }) => identity.startsWith(item))
    if (found.length !== 1 || item === '')
      throw new PlimsollError(
        'not-found',
        `${found.length === 0 ? 'No item begins' : `${found.length} items begin`} with ${JSON.stringify(item.slice(0, 80))}.`,
        { advice: 'Call context_pin without item to list the items.' },
      )
    const { identity } = found[0]!
    await open(reach, conversation).pin(identity, pinned === true)
    return {
      ok: true,
      text: pinned === true ? 'The item stays in view from now on.' : 'The item may be compacted again.',
      data: { ...conversation, item: identity, pinned },
    }
  },
})

const excerptOf = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 120)

/** Read from the log, because another process makes the requests. */
async function itemsOf(
  { plimsoll, tenant }: Reach,
  { session, agent }: Conversation,
): Promise<{ readonly items: readonly ItemSeen[]; readonly pins: ReadonlySet<string> }> {
  const items = new Map<string, ItemSeen>()
  const pins = new Set<string>()
  for await (const record of plimsoll.archive.read(session, { tenant })) {
    if (record.agent !== agent) continue
    if (record.type === 'item-seen' && record.text !== '') items.set(record.identity, record)
    else if (record.type === 'pin' && record.pinned) pins.add(record.identity)
    else if (record.type === 'pin') pins.delete(record.identity)
  }
  return { items: [...items.values()], pins }
}
