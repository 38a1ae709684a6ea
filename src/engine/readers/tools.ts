import * as v from 'valibot'
import { PlimsollError } from '../../core/errors.ts'
import { isRecord } from '../../core/values.ts'
import { jsonSchemaOf } from '../../util/json-schema.ts'
import type { ArtifactReaders } from './artifact-readers.ts'
import type { ReaderAnswer } from './reader.ts'

/** A reader as a tool that a model can call; the schema is JSON Schema as every provider takes it. */
export interface ReaderTool extends ToolInput {
  readonly name: string
  readonly description: string
}

export interface ToolInput {
  readonly inputSchema: {
    readonly type: 'object'
    readonly properties: Readonly<Record<string, object>>
    readonly required: readonly string[]
    readonly additionalProperties: false
  }
  /** Only declared fields of the declared type go through; null means left out, as some providers send it. @throws PlimsollError `bad-input` */
  check(input: unknown): Record<string, unknown>
}

type Fields = Readonly<Record<string, v.GenericSchema>>

export const textField = (about: string): v.GenericSchema<string> => v.pipe(v.string(), v.description(about))
export const flagField = (about: string): v.GenericSchema<boolean> => v.pipe(v.boolean(), v.description(about))
export const numberField = (about: string): v.GenericSchema<number> =>
  v.pipe(v.number(), v.safeInteger(), v.description(about), v.metadata({ json: { type: 'integer' } }))
const choice = (names: readonly string[], about: string): v.GenericSchema =>
  v.pipe(v.picklist(names), v.description(about))
export const { optional } = v

const handle = textField('The handle as it was shown: art_ and 26 characters.')
const also = v.pipe(v.array(v.string()), v.description('Handles of further artifacts to look at together.'))
const path = optional(textField('Path to the array inside a JSON object, such as result.items.'))

const tool = (name: string, description: string, fields: Fields): ReaderTool => ({
  name,
  description,
  ...toolInput(name, { handle, ...fields }),
})

/** What a tool takes: its JSON Schema, and the check of what a model sends. */
export function toolInput(name: string, fields: Fields): ToolInput {
  const inputSchema = jsonSchemaOf(v.objectWithRest(fields, v.never())) as ToolInput['inputSchema']
  const about = inputSchema.properties as Readonly<
    Record<string, { enum?: string[]; type: string; description: string }>
  >
  const wrong = (message: string): PlimsollError => new PlimsollError('bad-input', message)
  return {
    inputSchema,
    check(input) {
      if (!isRecord(input)) throw wrong(`${name} takes an object.`)
      const found = Object.fromEntries(Object.entries(input).filter(([, one]) => one !== null && one !== undefined))
      for (const [key, value] of Object.entries(found)) {
        if (!Object.hasOwn(fields, key))
          throw wrong(`${name} does not know "${key.slice(0, 50)}". It takes ${Object.keys(fields).join(', ')}.`)
        const { enum: names, type } = about[key]!
        if (!v.is(fields[key]!, value))
          throw wrong(`${key} of ${name} must be ${names?.join(' or ') ?? `of type ${type}`}.`)
      }
      const missing = inputSchema.required.find((key) => found[key] === undefined)
      if (missing !== undefined) throw wrong(`${name} needs ${missing}: ${about[missing]!.description}`)
      return found
    },
  }
}

/** Searches the archive of a session, not an artifact: it has no handle. */
export const RECALL = {
  query: textField('Words to look for, exact strings in quotes; file: tool: role: since: narrow it.'),
  limit: optional(numberField('Hits to return; as many as fit if not given.')),
}

/** The tools that give back what was taken out, in the order in which they should be thought of. Declared here and nowhere else. */
export const READER_TOOLS: readonly ReaderTool[] = [
  {
    name: 'recall',
    description: 'Searches everything that happened earlier in this conversation, also what is no longer in view.',
    ...toolInput('recall', RECALL),
  },
  tool(
    'artifact_grep',
    'Finds lines of a stored tool output by a regular expression (RE2: no lookaround, no back-references). Gives the total even when not all are shown.',
    {
      pattern: textField('The regular expression.'),
      ignoreCase: optional(flagField('Ignore upper and lower case.')),
      fixed: optional(flagField('The pattern is plain text.')),
      invert: optional(flagField('Return the lines that do not match.')),
      context: optional(numberField('Lines shown around each match, up to 20.')),
      limit: optional(numberField('Matches to return; 50 if not given.')),
      offset: optional(numberField('Skip this many matches first.')),
    },
  ),
  tool(
    'artifact_read',
    'Gives back a part of a stored tool output verbatim: lines (from 1), bytes or JSON items (from 0). A negative start counts from the end.',
    {
      unit: optional(choice(['lines', 'bytes', 'items'], 'Unit of start and count; lines if not given.')),
      start: optional(numberField('The first one.')),
      count: optional(numberField('How many at most.')),
      path,
    },
  ),
  tool(
    'artifact_query',
    'Runs one SQLite SELECT over the records of a stored JSON, JSON-lines, CSV or log output: table t (those of also: t2, t3). Has percentile(x, p), stddev(x), REGEXP, regexp_extract(text, pattern, group), json ->>. Without sql it shows the columns.',
    {
      sql: optional(textField('One SELECT or WITH statement.')),
      also: optional(also),
      path,
    },
  ),
  tool(
    'artifact_run',
    'Runs your JavaScript over a whole stored tool output in a sandbox without files, network or timers. data is the output parsed (JSON, JSON lines) or its text; artifacts[i].text and .lines; csv(text). Answer with the last expression, return or console.log.',
    {
      code: textField('The JavaScript.'),
      also: optional(also),
    },
  ),
  tool(
    'artifact_extract',
    'Lets a model read a stored tool output and extract what you describe. Slower and costlier than the others: use it for questions about meaning, not for counts or lookups.',
    {
      extract: textField('What to extract, precisely.'),
      mode: optional(choice(['auto', 'full-chunked', 'read-grep', 'truncate'], 'How; auto if not given.')),
    },
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
  return answering(async () => (run[name] as (input: unknown) => Promise<ReaderAnswer>)(declared.check(input)))
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
