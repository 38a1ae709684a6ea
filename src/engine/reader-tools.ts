import type { NewTool } from '../core/conversation.ts'
import type { ToolDeclaration } from '../core/item.ts'

const handle = { type: 'string', description: 'Handle of a stored text, art_…' }

/** The tools that give back what was taken out, as a model sees them. Declarations are short: they ride along with every request. */
export const READER_TOOLS: readonly NewTool[] = [
  {
    name: 'recall',
    description: 'Searches everything that happened earlier in this conversation, also what is no longer in view.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', description: 'Words to look for' }, limit: { type: 'integer' } },
      required: ['query'],
    },
  },
  {
    name: 'artifact_read',
    description: 'Reads lines of a stored text.',
    parameters: {
      type: 'object',
      properties: { handle, from: { type: 'integer', description: 'First line, from 1' }, lines: { type: 'integer' } },
      required: ['handle'],
    },
  },
  {
    name: 'artifact_grep',
    description: 'Finds lines of a stored text by regular expression.',
    parameters: {
      type: 'object',
      properties: { handle, pattern: { type: 'string' }, context: { type: 'integer' } },
      required: ['handle', 'pattern'],
    },
  },
]

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
