import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { loadFile } from '../../lab/transcripts/load.ts'
import type { LoadOptions, Recording } from '../../lab/transcripts/recording.ts'
import { singlePage } from '../../dashboard/static-files.ts'
import type { Report } from '../../dashboard/page-types.ts'
import { EXIT, printError, progressOn, screenOf, sentenceOf } from '../kit/output.ts'

const SESSION_FILE = /\.(?:jsonl|json|ndjson|traj)(?:\.gz)?$/
const SKIPPED_FOLDERS = new Set(['node_modules', '.git'])

export interface GivenFile {
  readonly path: string
  /** The user named the file. Other files were found in a folder, which may contain files that are no transcripts. */
  readonly named: boolean
}

/** The given files, and session files in the given folders. Rejects for paths that do not exist. */
export async function findFiles(paths: readonly string[]): Promise<readonly GivenFile[]> {
  const found: GivenFile[] = []
  for (const path of paths) {
    const info = await stat(path).catch((cause: unknown) => {
      throw new PlimsollError('bad-input', `${path} cannot be read.`, { cause, advice: 'Check the path.' })
    })
    if (!info.isDirectory()) found.push({ path, named: true })
    else await walk(path, found)
  }
  return found
}

async function walk(folder: string, found: GivenFile[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => a.name.localeCompare(b.name))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name)) await walk(path, found)
    else if (entry.isFile() && SESSION_FILE.test(entry.name)) found.push({ path, named: false })
  }
}

export interface LoadedFiles {
  readonly recordings: readonly Recording[]
  /** One sentence for each file that could not be read. */
  readonly failures: readonly string[]
  /** Number of files in folders that are no transcripts. */
  readonly others: number
}

/** Loads every file that can be read; the others are listed as failures. */
export async function loadFiles(
  files: readonly GivenFile[],
  options: LoadOptions,
  onFile: (done: number, file: string) => void,
): Promise<LoadedFiles> {
  const recordings: Recording[] = []
  const failures: string[] = []
  let others = 0
  for (const [done, { path, named }] of files.entries()) {
    onFile(done, path)
    try {
      const loaded = await loadFile(path, options)
      recordings.push(...namedApart(loaded.recordings))
      if (loaded.recordings.length > 0) continue
      if (named)
        failures.push(...loaded.problems.slice(0, 1).map(({ line, message }) => `${path}, line ${line}: ${message}`))
      else others++
    } catch (error) {
      failures.push(sentenceOf(error))
    }
  }
  return { recordings, failures, others }
}

/** The same with progress and failures on standard error. A failure also sets the exit code. */
export async function loadWithProgress(files: readonly GivenFile[], options: LoadOptions): Promise<LoadedFiles> {
  const progress = progressOn(process.stderr, screenOf(process.stderr))
  const loaded = await loadFiles(files, options, (done, file) => progress.show(done, files.length, file))
  progress.clear()
  loaded.failures.forEach(printError)
  if (loaded.failures.length > 0) process.exitCode = EXIT.failure
  return loaded
}

/** Writes the page of `--html`, and says so unless the output is JSON. */
export async function writePage(report: Report, file: string, isJson = false): Promise<void> {
  await writeFile(file, await singlePage(report))
  if (!isJson) process.stdout.write(`Wrote ${file}.\n`)
}

/** The only recording of a file needs no name beside the file's. */
function namedApart(recordings: readonly Recording[]): readonly Recording[] {
  if (recordings.length !== 1) return recordings
  return recordings.map(({ name: _name, ...recording }) => recording)
}

/** Options for turning a recording into requests. */
export function addLoadOptions(command: Command, defaults: Required<Pick<LoadOptions, 'resend'>>): Command {
  return command
    .addOption(
      new Option(
        '--resend <what>',
        'what is sent after a compaction that the recorded client made itself: what the client kept (recorded), or the whole history (everything)',
      )
        .choices(['recorded', 'everything'])
        .default(defaults.resend),
    )
    .addOption(
      new Option(
        '--thinking <what>',
        'recorded reasoning: keep it in the history, or drop it, as clients do that never send it again',
      )
        .choices(['keep', 'drop'])
        .default('keep'),
    )
    .addOption(
      new Option(
        '--parallel <how>',
        'parallel calls that the log holds one by one: merge them into one turn as the API had them, or keep them as written',
      )
        .choices(['merged', 'as-written'])
        .default('merged'),
    )
}

/** Refuses `--html session.jsonl`, which would overwrite the session to be read. */
export function htmlFile(text: string): string {
  if (/\.html?$/i.test(text)) return text
  throw new InvalidArgumentError('The name of the page should end in .html.')
}
