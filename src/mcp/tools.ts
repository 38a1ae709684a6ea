import type { GenericSchema } from 'valibot'
import { numberField, optional, RECALL, textField, toolInput, type ReaderTool } from '../engine/readers/tools.ts'
import { stringOf } from '../core/values.ts'
import { counted, grouped } from '../engine/intake/text.ts'
import { type Reach, sessionOf } from './scope.ts'
import type { Archive } from '../compose/api/stored.ts'
import type { Handle } from '../core/handles.ts'
import type { ArtifactStat } from '../ports/artifact-store.ts'

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

export const TEXT = { type: 'string' } as const
export const NUMBER = { type: 'number' } as const
export const BOOLEAN = { type: 'boolean' } as const
export const listOf = (items: object): object => ({ type: 'array', items })

export const output = (
  properties: Readonly<Record<string, object>>,
  required = Object.keys(properties),
): OutputSchema => ({
  type: 'object',
  properties,
  required,
})

/** The fields that name the conversation, unless the scope does. */
export const conversationFields = ({ session, agent }: Reach): Readonly<Record<string, GenericSchema>> => ({
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
      return { ok, text: answer.text, data: answer }
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
      const text = found.length === 0 ? 'No output is stored.' : found.map(lineOf).join('\n')
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
