import type { NewTool } from '../../core/conversation.ts'
import type { ToolDeclaration } from '../../core/item.ts'
import { READER_TOOLS } from './tools.ts'

/**
 * One tool for what every agent can use: search the conversation, read a stored output, search in it. It is declared in requests
 * that did not ask for it, so it is short; its fields are those of `recall`, `artifact_read` and `artifact_grep`.
 */
export const COMPACT_READER: NewTool = {
  name: 'recall',
  description:
    'Brings back earlier parts of this conversation that are not shown any more. query searches all of it; handle (art_…) reads a stored output, with pattern only the lines that match.',
  parameters: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'Words to search for' },
      handle: { type: 'string' },
      pattern: { type: 'string', description: 'Regular expression' },
      start: { type: 'integer', description: 'First line, from 1; negative counts from the end' },
      count: { type: 'integer', description: 'Lines at most' },
    },
  },
}

/** What source designs call a reader: their texts ask for it, and their agents know it, by this name. */
const DESIGN_NAMES: Readonly<Record<string, string>> = {
  execute_custom_analysis_in_sandbox: 'artifact_run',
  tool_output: 'artifact_extract',
}

/** Readers with the designs' names for them; a request declares each by one name. */
export const withDesignNames = (names: readonly string[]): readonly string[] => [
  ...names,
  ...Object.keys(DESIGN_NAMES).filter((name) => names.includes(DESIGN_NAMES[name]!)),
]

/** Each tool once: by the name of this design where it has one for it, else by ours. */
export const namedFor = (tools: readonly NewTool[], own: string | undefined): readonly NewTool[] => {
  const ours = tools.some(({ name }) => name === own) ? DESIGN_NAMES[own!] : undefined
  return tools.filter(({ name }) => name === own || (DESIGN_NAMES[name] === undefined && name !== ours))
}

/** Made once: what was written and counted of a tool is found again by the object. */
const ALL_READERS: readonly NewTool[] = [
  COMPACT_READER,
  ...READER_TOOLS.filter(({ name }) => name !== COMPACT_READER.name).flatMap(({ name, description, inputSchema }) => {
    const tool = { name, description, parameters: { ...inputSchema } }
    return withDesignNames([name]).map((own) => ({ ...tool, name: own }))
  }),
]

/** The readers of these names, as a codec declares tools. `recall` is the compact one. */
export const readerTools = (names: readonly string[]): readonly NewTool[] =>
  ALL_READERS.filter(({ name }) => names.includes(name))

/** What a call of the compact reader asks for, as a call of the reader that does it. Other calls stay as they are. */
export function compactCall(call: ReaderCall): ReaderCall {
  const { name, input } = call
  const known = Object.hasOwn(DESIGN_NAMES, name) ? DESIGN_NAMES[name] : undefined
  if (known !== undefined) return { name: known, input }
  if (name !== COMPACT_READER.name || !isFields(input) || !isGiven(input['handle'])) return call
  const { handle, pattern, query, start, count } = input
  const words = isGiven(pattern) ? pattern : query
  if (!isGiven(words)) return { name: 'artifact_read', input: { handle, start, count } }
  return {
    name: 'artifact_grep',
    input: { handle, pattern: words, limit: count, ...(!isGiven(pattern) && { fixed: true, ignoreCase: true }) },
  }
}

export interface ReaderCall {
  readonly name: string
  readonly input: unknown
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Models send null or an empty text for what they leave out. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

/** What the compact reader can do in the place of others. */
export const COMPACT_READS: readonly string[] = ['recall', 'artifact_read', 'artifact_grep']

/**
 * Which readers a request declares. An MCP client puts its own prefix before a tool's name (`mcp__plimsoll__recall`), and a
 * view may only name a tool by the name it really has. A tool of the client's own that only has the name is none.
 */
export function readersIn(tools: readonly ToolDeclaration[]): Readers {
  const names = new Map<string, string>()
  for (const tool of tools) {
    // A client's own tool of this name knows no handles of ours.
    const known = Object.hasOwn(DESIGN_NAMES, tool.name) && takes(tool, 'handle') ? DESIGN_NAMES[tool.name] : undefined
    if (known !== undefined) names.set(known, tool.name)
    const own = READER_TOOLS.find(({ name }) => tool.name === name || tool.name.endsWith(`__${name}`))
    if (own === undefined) continue
    if (own.name !== COMPACT_READER.name) names.set(own.name, tool.name)
    else if (takes(tool, 'handle')) for (const name of COMPACT_READS) names.set(name, names.get(name) ?? tool.name)
    else if (takes(tool, 'query')) names.set(own.name, tool.name)
  }
  return names
}

/** Whether a declaration has a field of this name, in whatever dialect it is written. */
const takes = ({ text }: ToolDeclaration, field: string): boolean => new RegExp(`"${field}"\\s*:`).test(text)

/** Our name of a reader → its name in this request. */
export type Readers = ReadonlyMap<string, string>

/**
 * Tools that help with a handle, each once, as they are named in this request. `recall` alone is the compact one, which opens handles; one
 * that only searches is named beside tools that open them.
 */
export function readerNames(readers: Readers): readonly string[] {
  const opening = [...readers].flatMap(([name, own]) => (name === 'recall' ? [] : [own]))
  const search = readers.get('recall')
  return [...new Set(search === undefined || opening.length === 0 ? opening : [search, ...opening])]
}
