import type { Archive } from '../../compose/api/archive.ts'
import type { ReaderTool } from '../../engine/readers/tools.ts'
import { sessionOf, type Reach } from '../scope.ts'
import { BOOLEAN, listOf, NUMBER, output, TEXT, type McpTool, type OutputSchema } from './tool.ts'

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

/** The readers that requests get too: the same declarations, and the same code answers. */
export function readerTools(reach: Reach): readonly McpTool[] {
  const { plimsoll, tenant, session, agent } = reach
  const readers = plimsoll.archive.readers(ownerOf(reach))
  return readers.tools.map((tool): McpTool => ({
    ...(tool.name === 'recall' && session === undefined ? withSession(tool) : tool),
    title: TITLES[tool.name] ?? tool.name,
    outputSchema: tool.name === 'recall' ? FOUND : READ,
    isReadOnly: true,
    ...(tool.name === 'artifact_extract' && { asksModel: true }),
    async run({ session: named, ...input }, call) {
      const narrowed =
        typeof named !== 'string'
          ? readers
          : plimsoll.archive.readers({ tenant, session: await sessionOf(reach, named), ...(agent && { agent }) })
      const { ok, ...answer } = (await narrowed.call({ name: tool.name, input }, call))!
      return { ok, text: answer.text, data: answer }
    },
  }))
}

export const ownerOf = ({ tenant, session, agent }: Reach): Parameters<Archive['readers']>[0] => ({
  tenant,
  ...(session !== undefined && { session }),
  ...(agent !== undefined && { agent }),
})

const withSession = (tool: ReaderTool): ReaderTool => ({
  ...tool,
  description: 'Searches everything that happened in the stored conversations, or in one of them.',
  inputSchema: {
    ...tool.inputSchema,
    properties: {
      ...tool.inputSchema.properties,
      session: {
        type: 'string',
        description: 'Only this conversation, by its session name; all of them if not given.',
      },
    },
  },
})
