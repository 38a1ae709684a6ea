import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { isPlimsollError, PlimsollError } from '../../../core/errors.ts'
import { NO_USAGE, type Usage } from '../../../core/usage.ts'
import type { ArtifactStat } from '../../../ports/artifact-store.ts'
import type { Summarizer } from '../../../ports/summarizer.ts'
import type { Tokenizer } from '../../../ports/tokenizer.ts'
import type { LineIndexes } from '../lines/line-index.ts'
import { cutBytes, grouped, type Reader, type ReaderAnswer } from '../reader.ts'
import { extractChunked, planChunks, type ChunkAnswers, type ChunkPlan } from './chunked.ts'
import { extractionModel, type ExtractionModel } from './model.ts'
import { extractBySearch, SEARCH_INSTRUCTIONS } from './search.ts'
import { deadlineAfter } from '../../../util/deadline.ts'
import { headAndTail } from './truncate.ts'

export type ExtractMode = 'auto' | 'full-chunked' | 'read-grep' | 'truncate'

export interface ExtractRequest {
  readonly handle: string
  /** What to extract, in words. */
  readonly extract: string
  /** Unknown ones count as `auto`. @default 'auto' */
  readonly mode?: string
}

export interface ExtractOptions {
  readonly model: Summarizer
  readonly tokenizer: Tokenizer
  /** Chunks that `auto` reads whole although lines could be searched. @default 4 */
  readonly fewChunks?: number
  /** Chunks that are read at all; at a window of 128k tokens this is some 10 MB. @default 40 */
  readonly maxChunks?: number
  /** @default 15 */
  readonly maxTurns?: number
  /** @default 4 */
  readonly parallel?: number
  /** @default 2_000, and a quarter of the model's window at most */
  readonly maxOutputTokens?: number
  /** @default 120_000 */
  readonly timeoutMs?: number
  readonly nonce?: () => string
}

export interface ExtractAnswer extends ReaderAnswer {
  /** The way that the answer was found in the end. */
  readonly mode: Exclude<ExtractMode, 'auto'>
  readonly calls: number
  readonly usage: Usage
}

const MAX_QUESTION_CHARACTERS = 2000
/** Lines longer than this on average cannot be searched line by line. */
const LONG_LINES_BYTES = 1000

/** Lets a model read the artifact and answer in its place. Whatever fails, head and tail come back with the reason. */
export async function artifactExtract(
  reader: Reader,
  indexes: LineIndexes,
  options: ExtractOptions | undefined,
  request: ExtractRequest,
  known: ChunkAnswers = new Map(),
): Promise<ExtractAnswer> {
  if (request.extract.trim() === '')
    throw new PlimsollError('bad-input', 'extract is empty: say in words what to look for.')
  if (request.extract.length > MAX_QUESTION_CHARACTERS) {
    throw new PlimsollError(
      'bad-input',
      `extract has ${request.extract.length} characters; ${MAX_QUESTION_CHARACTERS} is the most.`,
    )
  }
  const stat = await reader.find(request.handle)
  if (options === undefined || request.mode === 'truncate') {
    return truncated(
      reader,
      stat,
      options === undefined && request.mode !== 'truncate' ? 'no extraction model is set up' : undefined,
    )
  }
  const model = modelOf(options, request.extract, reader.signal)
  // What takes time here is the model, so what the model read is the progress.
  const quiet: Reader = { ...reader, progress: () => undefined }
  const plan = await planChunks(quiet, stat, model)
  const { maxChunks = 40, maxTurns = 15, parallel = 4 } = options
  const failures: string[] = []
  for (const mode of await modesFor(quiet, indexes, stat, plan, request.mode, options)) {
    try {
      if (mode === 'full-chunked' && plan.chunks > maxChunks)
        throw new PlimsollError('overflow', `${plan.chunks} chunks would be needed, ${maxChunks} are allowed`)
      const text =
        mode === 'full-chunked'
          ? await extractChunked(reader, stat, model, request.extract, plan, { parallel, known })
          : await extractBySearch(quiet, indexes, stat, model, request.extract, maxTurns)
      return answered(reader, stat, text, mode, plan, model)
    } catch (error) {
      reader.signal?.throwIfAborted()
      // What the store says is true for every mode; what the model did wrong is not.
      if (isPlimsollError(error, 'not-found') || isPlimsollError(error, 'store-unavailable')) throw error
      failures.push(`${mode}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return truncated(reader, stat, failures.join('; '), model)
}

function modelOf(options: ExtractOptions, question: string, cancelled: AbortSignal | undefined): ExtractionModel {
  const { model, tokenizer, maxChunks = 40, maxTurns = 15, timeoutMs = 120_000 } = options
  const {
    maxOutputTokens = Math.min(2000, Math.floor(model.window / 4)),
    nonce = () => randomBytes(8).toString('hex'),
  } = options
  // A chunk may be halved and its answers combined: three calls for each are more than that ever takes.
  const maxCalls = maxChunks * 3 + maxTurns
  const signal = deadlineAfter(timeoutMs, cancelled)
  // Every call of the extraction listens to the one signal; Node takes more than ten for a leak.
  setMaxListeners(0, signal)
  const bounded = extractionModel(model, tokenizer, {
    maxCalls,
    maxOutputTokens,
    signal,
    nonce: nonce(),
    instructions: SEARCH_INSTRUCTIONS + question,
  })
  if (bounded.dataTokens < 100) {
    throw new PlimsollError(
      'bad-config',
      `The extraction model's window of ${model.window} tokens leaves no room for data.`,
      { advice: 'Use a model with a larger window, or lower maxOutputTokens.' },
    )
  }
  return bounded
}

/** The modes to try, in order. Each is the fallback of the one before. */
async function modesFor(
  reader: Reader,
  indexes: LineIndexes,
  stat: ArtifactStat,
  plan: ChunkPlan,
  wanted: string | undefined,
  { fewChunks = 4 }: ExtractOptions,
): Promise<('full-chunked' | 'read-grep')[]> {
  if (wanted === 'full-chunked') return ['full-chunked', 'read-grep']
  if (wanted === 'read-grep') return ['read-grep', 'full-chunked']
  const { lines } = await indexes.of(reader, stat)
  const isSearchable = stat.bytes / Math.max(1, lines) < LONG_LINES_BYTES
  return plan.chunks <= fewChunks || !isSearchable ? ['full-chunked', 'read-grep'] : ['read-grep', 'full-chunked']
}

const HEADER_BYTES = 200

function answered(
  reader: Reader,
  stat: ArtifactStat,
  text: string,
  mode: 'full-chunked' | 'read-grep',
  plan: ChunkPlan,
  model: ExtractionModel,
): ExtractAnswer {
  const room = reader.room(1) - HEADER_BYTES
  const fitting = cutBytes(text, room)
  const how =
    mode === 'full-chunked'
      ? `all of it in ${plan.chunks} part${plan.chunks === 1 ? '' : 's'}`
      : 'searched with grep and read'
  const cut = fitting === text ? '' : '\n[the answer was cut here; ask for less]'
  const body = `Extracted from ${stat.handle} (${grouped(stat.bytes)} bytes, ${how}):\n${fitting}${cut}`
  return { ...reader.answer(body, [stat.handle], cut !== ''), mode, ...model.spent() }
}

async function truncated(
  reader: Reader,
  stat: ArtifactStat,
  reason?: string,
  model?: ExtractionModel,
): Promise<ExtractAnswer> {
  const warning = reason === undefined ? '' : `WARNING: nothing was extracted (${cutBytes(reason, 400)}). `
  const header = `${warning}Beginning and end of ${stat.handle} (${grouped(stat.bytes)} bytes); artifact_read, artifact_grep and artifact_query give the rest:\n`
  const view = await headAndTail(reader, stat, reader.room(1) - Buffer.byteLength(header) - 100)
  const answer = reader.answer(header + view.text, [stat.handle], view.truncated, reason === undefined)
  return { ...answer, mode: 'truncate', ...(model?.spent() ?? { calls: 0, usage: NO_USAGE }) }
}
