import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { PlimsollError } from '../../core/errors.ts'
import type { TranscriptLoader, LoadOptions, Problem, Recording, SourceValue } from './recording.ts'
import { readOpenCodeStorage, openCode } from './agents/opencode.ts'
import { readSource } from './source.ts'
import { claudeCode } from './agents/claude-code.ts'
import { cline } from './agents/cline.ts'
import { codexRollout } from './agents/codex-rollout.ts'
import { copilotCli } from './agents/copilot-cli.ts'
import { geminiCli } from './agents/gemini-cli.ts'
import { openHands, sweAgent, tau2Bench, tauBench } from './agents/harnesses.ts'
import { pi } from './agents/pi.ts'
import { anthropic, openaiChat, requestLog } from './histories.ts'

export interface LoadedFile {
  readonly file: string
  readonly recordings: readonly Recording[]
  /** Problems by line. Everything readable was loaded anyway. */
  readonly problems: readonly Problem[]
}

/** Loads a transcript from its text. Never throws: each unreadable part is a problem with a line number. */
export function loadTranscript(text: string, file: string, options: LoadOptions = {}): LoadedFile {
  const source = readSource(text)
  const problems: Problem[] = [...source.problems]
  const groups = groupByFormat(source.values, problems)
  const recordings = [...groups].flatMap(([loader, values]) => loader.load(values, { file, options, problems }))
  if (groups.size === 0 && source.values.length > 0) {
    const line = source.values[0]?.line ?? 1
    problems.push({ line, message: 'No known transcript format was recognised here.' })
  }
  problems.sort((a, b) => a.line - b.line)
  return { file, recordings, problems }
}

const unzip = promisify(gunzip)

/** @throws PlimsollError `not-found` or `bad-input` when the file itself cannot be opened or unpacked. */
export async function loadFile(file: string, options: LoadOptions = {}): Promise<LoadedFile> {
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (cause) {
    throw new PlimsollError('not-found', `${file} cannot be read.`, {
      cause,
      advice: 'Check the path and its permissions.',
      fields: { file },
    })
  }
  // gzip is recognised by its first bytes, 1f 8b, not by the file name.
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    try {
      bytes = await unzip(bytes)
    } catch (cause) {
      throw new PlimsollError('bad-input', `${file} is a damaged gzip file.`, { cause, fields: { file } })
    }
  }
  const loaded = loadTranscript(bytes.toString('utf8'), file, options)
  if (loaded.recordings.length > 0) return loaded
  const gathered = await readOpenCodeStorage(file)
  return gathered === undefined ? loaded : loadTranscript(gathered, file, options)
}

/** Groups values by format. A value of no known format joins the group of the values around it. */
function groupByFormat(values: readonly SourceValue[], problems: Problem[]): Map<TranscriptLoader, SourceValue[]> {
  const groups = new Map<TranscriptLoader, SourceValue[]>()
  let current: TranscriptLoader | undefined
  const leading: SourceValue[] = []
  for (const entry of values) {
    const recognised = current?.recognises(entry.value) === true ? current : detectLoader(entry.value)
    if (recognised !== undefined && current !== undefined && recognised !== current && !groups.has(recognised)) {
      problems.push({
        line: entry.line,
        message: `${recognised.format} lines begin here in a ${current.format} file; read as a separate recording.`,
      })
    }
    current = recognised ?? current
    if (current === undefined) leading.push(entry)
    else {
      const group = groups.get(current)
      if (group === undefined) groups.set(current, [...leading.splice(0), entry])
      else group.push(entry)
    }
  }
  return groups
}

/** The most specific format first: a later one may also accept what an earlier one recognises. */
const LOADERS: readonly TranscriptLoader[] = [
  claudeCode,
  copilotCli,
  geminiCli,
  cline,
  openCode,
  tauBench,
  tau2Bench,
  sweAgent,
  openHands,
  pi,
  anthropic,
  openaiChat,
  codexRollout,
  requestLog,
]

/** The format of a JSON value by its content; the file name is not used. */
function detectLoader(value: unknown): TranscriptLoader | undefined {
  return LOADERS.find((loader) => loader.recognises(value))
}
