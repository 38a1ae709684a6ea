import type { GenericSchema } from 'valibot'
import {
  numberField,
  optional,
  RECALL,
  textField,
  toolInput,
  type ReaderTool,
  flagField,
} from '../engine/readers/tools.ts'
import { stringOf } from '../core/values.ts'
import { counted, grouped } from '../engine/intake/text.ts'
import { nothingHeld, type Reach, sessionOf, conversationOf, type Conversation } from './scope.ts'
import type { Archive } from '../compose/api/stored.ts'
import type { Handle } from '../core/handles.ts'
import type { ArtifactStat } from '../ports/artifact-store.ts'
import { PlimsollError } from '../core/errors.ts'
import type { ItemSeen } from '../core/records.ts'
import type { Session, SessionStatus } from '../engine/session/session.ts'

/** A tool of the server, declared and checked like the reader tools. */
export interface McpTool extends ReaderTool {
  readonly title: string
  readonly outputSchema: OutputSchema
  /** Changes nothing in a conversation. */
  readonly isReadOnly: boolean
  /** Calls a model. */
  readonly asksModel?: boolean
  run(input: Readonly<Record<string, unknown>>, call: ToolCall): Promise<ToolOutcome>
}

interface ToolCall {
  readonly signal: AbortSignal
  readonly onProgress: (share: number) => void
}

interface ToolOutcome {
  readonly ok: boolean
  /** For the model. */
  readonly text: string
  /** For programs. */
  readonly data: Readonly<Record<string, unknown>>
}

interface OutputSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, object>>
  readonly required: readonly string[]
}

const TEXT = { type: 'string' } as const
const NUMBER = { type: 'number' } as const
const BOOLEAN = { type: 'boolean' } as const
const listOf = (items: object): object => ({ type: 'array', items })

const output = (properties: Readonly<Record<string, object>>, required = Object.keys(properties)): OutputSchema => ({
  type: 'object',
  properties,
  required,
})

/** The fields that name the conversation, unless the scope does. */
const conversationFields = ({ session, agent }: Reach): Readonly<Record<string, GenericSchema>> => ({
  ...(session === undefined && { session: textField('Session name of the conversation.') }),
  ...(agent === undefined && {
    agent: optional(textField('Name of the agent; needed when several work in the session.')),
  }),
})

const TITLES: Readonly<Record<string, string>> = {
  recall: 'Search the conversation',
  artifact_grep: 'Search in a stored output',
  artifact_read: 'Read a stored output',
  artifact_query: 'Query a stored output with SQL',
  artifact_run: 'Run JavaScript over a stored output',
  artifact_extract: 'Let a model read a stored output',
}

const ANSWER = { text: TEXT, handles: listOf(TEXT), truncated: BOOLEAN }
const FOUND: OutputSchema = output({
  ...ANSWER,
  items: listOf(output({ identity: TEXT, kind: TEXT, excerpt: TEXT, characters: NUMBER })),
})
const READ: OutputSchema = output(ANSWER)

/** The same reader tools that are added to requests, with the same declarations and code. */
export function readerTools(reach: Reach): readonly McpTool[] {
  const { plimsoll, tenant, session, agent } = reach
  const readers = plimsoll.archive.readers(ownerOf(reach))
  return readers.tools.map((tool): McpTool => ({
    ...(tool.name === 'recall' && session === undefined ? withSession(tool) : tool),
    title: TITLES[tool.name] ?? tool.name,
    outputSchema: tool.name === 'recall' ? FOUND : READ,
    isReadOnly: true,
    asksModel: tool.name === 'artifact_extract',
    async run({ session: named, ...input }, call) {
      const narrowed =
        typeof named !== 'string'
          ? readers
          : plimsoll.archive.readers({ tenant, session: await sessionOf(reach, named), agent })
      const { ok, ...answer } = (await narrowed.call({ name: tool.name, input }, call))!
      const isEmpty = 'items' in answer && answer.items.length === 0
      const text = isEmpty ? `${answer.text}${await nothingHeld(reach, named)}` : answer.text
      return { ok, text, data: { ...answer, text } }
    },
  }))
}

export const ownerOf = ({ tenant, session, agent }: Reach): Parameters<Archive['readers']>[0] => ({
  tenant,
  session,
  agent,
})

const withSession = (tool: ReaderTool): ReaderTool => ({
  ...tool,
  description: 'Searches the full text of all stored conversations, or of one of them.',
  ...toolInput('recall', {
    ...RECALL,
    session: optional(textField('Session name of one conversation. Default: all conversations.')),
  }),
})

const DEFAULT_SHOWN = 20
const MOST_SHOWN = 100

export function artifactList(reach: Reach): McpTool {
  return {
    name: 'artifact_list',
    title: 'List stored outputs',
    description:
      'Lists stored tool outputs, newest first: handle, size, tool. Pass the handle to the other artifact tools.',
    ...toolInput('artifact_list', {
      tool: optional(textField('Only outputs of this tool.')),
      limit: optional(numberField(`Most outputs to list, up to ${MOST_SHOWN}. Default: ${DEFAULT_SHOWN}.`)),
      after: optional(textField('The last handle of the previous page.')),
      ...(reach.session === undefined && {
        session: optional(textField('Only this conversation, by its session name.')),
      }),
    }),
    outputSchema: output({
      artifacts: listOf(
        output({ handle: TEXT, bytes: NUMBER, createdAt: NUMBER, tool: TEXT, lines: NUMBER }, [
          'handle',
          'bytes',
          'createdAt',
        ]),
      ),
    }),
    isReadOnly: true,
    async run({ tool, limit, after, session }) {
      const wanted = Math.min(MOST_SHOWN, Math.max(1, (limit as number | undefined) ?? DEFAULT_SHOWN))
      const filter = { tool: stringOf(tool), after: stringOf(after), session: stringOf(session) }
      const found = await artifactsIn(reach, wanted, filter)
      const text =
        found.length === 0 ? `No output is stored.${await nothingHeld(reach, session)}` : found.map(lineOf).join('\n')
      return { ok: true, text: `${text}${await leftOut(reach)}`, data: { artifacts: found.map(shortOf) } }
    },
  }
}

/** 0.2.0 did not store which agent an output belongs to: an agent's list omits such outputs and says so. */
async function leftOut(reach: Reach): Promise<string> {
  if (reach.agent === undefined) return ''
  const { length } = await reach.plimsoll.archive.readers(ownerOf(reach)).unattributed()
  if (length === 0) return ''
  return `\n\n${counted(length, 'output')} of this conversation were stored by version 0.2.0, which did not record the agent. They are not listed and cannot be opened for one agent; a client without an agent in its scope can read them.`
}

/** Reads pages until enough artifacts are found: for one agent, some on each page belong to others. */
export async function artifactsIn(
  reach: Reach,
  wanted: number,
  filter: { readonly tool?: string; readonly after?: Handle; readonly session?: string } = {},
): Promise<readonly ArtifactStat[]> {
  const { plimsoll, tenant, session = filter.session, agent } = reach
  const { mayOpen } = plimsoll.archive.readers(ownerOf(reach))
  const found: ArtifactStat[] = []
  let { after } = filter
  for (;;) {
    const page = await plimsoll.artifacts.list({ tenant, limit: MOST_SHOWN, session, tool: filter.tool, after })
    for (const stat of page) if (agent === undefined || (await mayOpen(stat.handle))) found.push(stat)
    after = page.at(-1)?.handle
    if (found.length >= wanted || page.length < MOST_SHOWN) return found.slice(0, wanted)
  }
}

const lineOf = ({ handle, bytes, lines, tool, createdAt }: ArtifactStat): string =>
  [
    handle,
    `${grouped(bytes)} bytes`,
    ...(lines === undefined ? [] : [`${grouped(lines)} lines`]),
    ...(tool === undefined ? [] : [`of ${tool}`]),
    new Date(createdAt).toISOString(),
  ].join('  ')

const shortOf = ({ handle, bytes, createdAt, lines, tool, mime, contentKind }: ArtifactStat): object => ({
  handle,
  bytes,
  createdAt,
  lines,
  tool,
  mime,
  contentKind,
})

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
