import type { NewTool } from '../../core/conversation.ts'
import type { ToolDeclaration } from '../../core/item.ts'
import { READER_TOOLS } from './tools.ts'

/** The readers of these names, as a codec declares tools. */
export const readerTools = (names: readonly string[]): readonly NewTool[] =>
  READER_TOOLS.filter(({ name }) => names.includes(name)).map(({ name, description, inputSchema }) => ({
    name,
    description,
    parameters: { ...inputSchema },
  }))

/** The three that every agent can use; the others earn their tokens where data is queried. */
export const BASIC_READER_NAMES: readonly string[] = ['recall', 'artifact_read', 'artifact_grep']
export const BASIC_READERS: readonly NewTool[] = readerTools(BASIC_READER_NAMES)

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
