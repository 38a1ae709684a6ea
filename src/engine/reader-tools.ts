import type { NewTool } from '../core/conversation.ts'
import type { ToolDeclaration } from '../core/item.ts'
import { READER_TOOLS as ARTIFACT_TOOLS } from './readers/tools.ts'

const recall: NewTool = {
  name: 'recall',
  description: 'Searches everything that happened earlier in this conversation, also what is no longer in view.',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string', description: 'Words to look for' }, limit: { type: 'integer' } },
    required: ['query'],
  },
}

/** The tools that give back what was taken out, as they are declared to a model. */
export const READER_TOOLS: readonly NewTool[] = [
  recall,
  ...ARTIFACT_TOOLS.map(({ name, description, inputSchema }) => ({
    name,
    description,
    parameters: { ...inputSchema },
  })),
]

/** The two that every agent can use; the others earn their tokens where data is queried. */
export const BASIC_READERS: readonly NewTool[] = READER_TOOLS.filter(({ name }) =>
  ['recall', 'artifact_read', 'artifact_grep'].includes(name),
)

/**
 * Which readers a request declares. An MCP client puts its own prefix before a tool's name (`mcp__plimsoll__recall`), and a
 * view may only name a tool by the name it really has.
 */
export function readersIn(tools: readonly ToolDeclaration[]): Readers {
  const names = new Map<string, string>()
  for (const { name } of tools) {
    const own = READER_TOOLS.find((tool) => name === tool.name || name.endsWith(`__${tool.name}`))
    if (own !== undefined) names.set(own.name, name)
  }
  return names
}

/** Our name of a reader → its name in this request. */
export type Readers = ReadonlyMap<string, string>
