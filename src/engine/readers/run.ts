import { isRecord, parsedJson } from '../../core/values.ts'
import { typeName } from '../intake/json/fields.ts'
import { type InputRequest, loadInputs } from './query.ts'
import { grouped } from '../intake/text.ts'
import { badInput, cutBytes, type Reader, type ReaderAnswer } from './reader.ts'
import type { Sandbox } from '../../ports/sandbox.ts'

export interface RunRequest extends InputRequest {
  /** JavaScript. Sees `data` (the artifact, parsed) and `artifacts`; answers with its last value, `return` or console.log. */
  readonly code: string
}

export interface RunLimits {
  /** @default 10_000 */
  readonly timeoutMs?: number
  /** @default 256 MiB */
  readonly memoryBytes?: number
  /** Of all artifacts of one run together. @default 64 MiB */
  readonly maxInputBytes?: number
}

const NOTE_BYTES = 100
const ERROR_BYTES = 1400
const MAX_CODE_CHARACTERS = 100_000
/** A sample only helps when it is small: this is read to make it. */
const SAMPLE_BYTES = 4 * 2 ** 20

/** The model's own code over the whole artifact, in a sandbox. Without one: a sample, and which readers there are. */
export async function artifactRun(
  reader: Reader,
  sandbox: Sandbox | undefined,
  request: RunRequest,
  limits: RunLimits = {},
): Promise<ReaderAnswer> {
  const { timeoutMs = 10_000, memoryBytes = 256 * 2 ** 20, maxInputBytes = 64 * 2 ** 20 } = limits
  if (request.code.length > MAX_CODE_CHARACTERS)
    throw badInput(`The code has ${request.code.length} characters; ${MAX_CODE_CHARACTERS} is the most.`)
  if (sandbox === undefined) return withoutSandbox(reader, request)
  const inputs = await loadInputs(reader, request, maxInputBytes)
  const handles = inputs.map(({ stat }) => stat.handle)
  const room = reader.room(handles.length)
  const result = await sandbox.run({
    code: request.code,
    inputs: Object.fromEntries(inputs.map(({ stat, bytes }) => [stat.handle, bytes])),
    timeoutMs,
    memoryBytes,
    maxOutputBytes: room - NOTE_BYTES,
    owner: reader.tenant,
    signal: reader.signal,
  })
  if (!result.ok) {
    const printed =
      result.output === '' ? '' : `\nIt had printed:\n${result.output.slice(0, Math.max(0, (room - ERROR_BYTES) / 3))}`
    return reader.answer(`The code failed: ${result.error ?? 'no reason was given'}${printed}`, handles, false, false)
  }
  if (result.output === '')
    return reader.answer(
      'The code ran and gave no value. End it with an expression, return or console.log.',
      handles,
      false,
    )
  return reader.answer(
    result.truncated ? `${result.output}\n[the output was cut here; print less]` : result.output,
    handles,
    result.truncated,
  )
}

async function withoutSandbox(reader: Reader, { handle }: RunRequest): Promise<ReaderAnswer> {
  const stat = await reader.find(handle)
  const bytes = await reader.store.read(reader.tenant, stat.handle, { start: 0, end: SAMPLE_BYTES })
  const sample = compactSample(new TextDecoder().decode(bytes), stat.bytes)
  const help = `Code cannot run here. Use artifact_read, artifact_grep or artifact_query with the handle ${stat.handle}.`
  return reader.answer(`${help}\n${sample}`, [stat.handle], true)
}

const SAMPLE_ITEMS = 3
const SAMPLE_CHARACTERS = 2000
const SCHEMA_FIELDS = 30

/** The first three items within 2,000 characters, and the names and types of their fields. */
function compactSample(text: string, totalBytes: number): string {
  const items = itemsOf(text)
  const first = items[0]
  const schema = isRecord(first)
    ? `\nFields: ${Object.entries(first)
        .slice(0, SCHEMA_FIELDS)
        .map(([name, value]) => `${name} ${typeName(value)}`)
        .join(', ')}`
    : ''
  const shown = items.slice(0, SAMPLE_ITEMS).map((item) => (typeof item === 'string' ? item : JSON.stringify(item)))
  const each = Math.floor(SAMPLE_CHARACTERS / Math.max(1, shown.length))
  const sample = shown.map((item) => (item.length > each ? `${cutBytes(item, each)}...` : item)).join('\n')
  return `A sample of ${grouped(totalBytes)} bytes:${schema}\n${sample}`
}

/** Of a JSON array, of the largest array in a JSON object, or of lines. */
function itemsOf(text: string): unknown[] {
  const value = parsedJson(text)
  if (value === undefined) return text.split('\n', SAMPLE_ITEMS)
  if (Array.isArray(value)) return value
  if (!isRecord(value)) return [value]
  const arrays = Object.values(value).filter((each): each is unknown[] => Array.isArray(each))
  return arrays.sort((a, b) => b.length - a.length)[0] ?? [value]
}
