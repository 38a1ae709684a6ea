import { PlimsollError } from '../../core/errors.ts'
import type { ArtifactReaders } from './artifact-readers.ts'
import type { ReaderAnswer } from './reader.ts'

export interface Property {
  readonly type: 'string' | 'integer' | 'boolean' | 'array'
  readonly description: string
  readonly enum?: readonly string[]
  readonly items?: { readonly type: 'string' }
}

/** A reader as a tool that a model can call; the schema is JSON Schema as every provider takes it. */
export interface ReaderTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: {
    readonly type: 'object'
    readonly properties: Readonly<Record<string, Property>>
    readonly required: readonly string[]
    readonly additionalProperties: false
  }
}

const handle: Property = { type: 'string', description: 'The handle as it was shown: art_ and 26 characters.' }
const also: Property = {
  type: 'array',
  items: { type: 'string' },
  description: 'Handles of further artifacts to look at together.',
}
const path: Property = { type: 'string', description: 'Path to the array inside a JSON object, such as result.items.' }

const tool = (
  name: string,
  description: string,
  properties: Record<string, Property>,
  required: readonly string[],
): ReaderTool => ({
  name,
  description,
  inputSchema: {
    type: 'object',
    properties: { handle, ...properties },
    required: ['handle', ...required],
    additionalProperties: false,
  },
})

/** Searches the archive of a session, not an artifact: it has no handle. */
const recall: ReaderTool = {
  name: 'recall',
  description: 'Searches everything that happened earlier in this conversation, also what is no longer in view.',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'Words to look for.' },
      limit: { type: 'integer', description: 'Hits to return; 8 if not given.' },
    },
    required: ['query'],
    additionalProperties: false,
  },
}

/** The tools that give back what was taken out, in the order in which they should be thought of. Declared here and nowhere else. */
export const READER_TOOLS: readonly ReaderTool[] = [
  recall,
  tool(
    'artifact_grep',
    'Finds lines of a stored tool output by a regular expression (RE2: no lookaround, no back-references). Gives the total even when not all are shown.',
    {
      pattern: { type: 'string', description: 'The regular expression.' },
      ignoreCase: { type: 'boolean', description: 'Ignore upper and lower case.' },
      fixed: { type: 'boolean', description: 'The pattern is plain text.' },
      invert: { type: 'boolean', description: 'Return the lines that do not match.' },
      context: { type: 'integer', description: 'Lines shown around each match, up to 20.' },
      limit: { type: 'integer', description: 'Matches to return; 50 if not given.' },
      offset: { type: 'integer', description: 'Skip this many matches first.' },
    },
    ['pattern'],
  ),
  tool(
    'artifact_read',
    'Gives back a part of a stored tool output verbatim: lines (from 1), bytes or JSON items (from 0). A negative start counts from the end.',
    {
      unit: {
        type: 'string',
        enum: ['lines', 'bytes', 'items'],
        description: 'Unit of start and count; lines if not given.',
      },
      start: { type: 'integer', description: 'The first one.' },
      count: { type: 'integer', description: 'How many at most.' },
      path,
    },
    [],
  ),
  tool(
    'artifact_query',
    'Runs one SQLite SELECT over the records of a stored JSON, JSON-lines, CSV or log output: table t (those of also: t2, t3). Has percentile(x, p), stddev(x), REGEXP, regexp_extract(text, pattern, group), json ->>. Without sql it shows the columns.',
    {
      sql: { type: 'string', description: 'One SELECT or WITH statement.' },
      also,
      path,
    },
    [],
  ),
  tool(
    'artifact_run',
    'Runs your JavaScript over a whole stored tool output in a sandbox without files, network or timers. data is the output parsed (JSON, JSON lines) or its text; artifacts[i].text and .lines; csv(text). Answer with the last expression, return or console.log.',
    {
      code: { type: 'string', description: 'The JavaScript.' },
      also,
    },
    ['code'],
  ),
  tool(
    'artifact_extract',
    'Lets a model read a stored tool output and extract what you describe. Slower and costlier than the others: use it for questions about meaning, not for counts or lookups.',
    {
      extract: { type: 'string', description: 'What to extract, precisely.' },
      mode: {
        type: 'string',
        enum: ['auto', 'full-chunked', 'read-grep', 'truncate'],
        description: 'How; auto if not given.',
      },
    },
    ['extract'],
  ),
]

/** The reader of artifacts behind a tool's name; undefined for other names. Arguments come from a model and are checked. */
export function callReader(readers: ArtifactReaders, name: string, input: unknown): Promise<ReaderAnswer> | undefined {
  const run: Readonly<Record<string, (input: never) => Promise<ReaderAnswer>>> = {
    artifact_read: readers.read,
    artifact_grep: readers.grep,
    artifact_query: readers.query,
    artifact_run: readers.run,
    artifact_extract: readers.extract,
  }
  const declared = READER_TOOLS.find((each) => each.name === name)
  if (declared === undefined || !Object.hasOwn(run, name)) return undefined
  return answering(async () => (run[name] as (input: unknown) => Promise<ReaderAnswer>)(checkedInput(declared, input)))
}

/** A mistake of the model is an answer to it, not an error of the program. Trouble of the store stays an error. */
async function answering(call: () => Promise<ReaderAnswer>): Promise<ReaderAnswer> {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof PlimsollError) || !['bad-input', 'not-found', 'unsupported'].includes(error.code))
      throw error
    return { ok: false, text: error.message, handles: [], truncated: false }
  }
}

/** Only declared fields of the declared type go through; null means left out, as some providers send it. */
export function checkedInput(
  { name, inputSchema: { properties, required } }: ReaderTool,
  input: unknown,
): Record<string, unknown> {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw new PlimsollError('bad-input', `${name} takes an object.`)
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== undefined)
  const fields: Record<string, unknown> = {}
  for (const [key, value] of given) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (property === undefined)
      throw new PlimsollError(
        'bad-input',
        `${name} does not know "${key.slice(0, 50)}". It takes ${Object.keys(properties).join(', ')}.`,
      )
    if (!isOfType(property, value))
      throw new PlimsollError(
        'bad-input',
        `${key} of ${name} must be ${property.enum?.join(' or ') ?? `of type ${property.type}`}.`,
      )
    fields[key] = value
  }
  const missing = required.find((key) => fields[key] === undefined)
  if (missing !== undefined)
    throw new PlimsollError('bad-input', `${name} needs ${missing}: ${properties[missing]?.description ?? ''}`)
  return fields
}

function isOfType(property: Property, value: unknown): boolean {
  if (property.enum !== undefined) return typeof value === 'string' && property.enum.includes(value)
  if (property.type === 'integer') return Number.isSafeInteger(value)
  if (property.type === 'array') return Array.isArray(value) && value.every((each) => typeof each === 'string')
  return typeof value === property.type
}
