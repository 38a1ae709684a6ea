import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import type { LoadOptions } from '../../lab/transcripts/recording.ts'
import { discoverSessions, type FoundSession } from '../../lab/transcripts/discover.ts'
import { printError, screenOf } from '../kit/output.ts'
import { fitEnd, plural, short } from '../kit/figures.ts'
import { inspectAll, inspectReport } from '../reports/inspect.ts'
import { renderReport } from '../reports/text.ts'
import {
  addLoadOptions,
  findFiles,
  type GivenFile,
  htmlFile,
  loadWithProgress,
  writePage,
} from '../reports/recordings.ts'
import { withExamples } from '../kit/examples.ts'
import { tokenCount, oneOrMore, wholeNumber } from '../option-values.ts'
import { replaySession } from '../../lab/replay/replay.ts'
import { pictureOf, writePicture } from '../reports/session-view.ts'
import { estimateFor, knownModels, priceOf, windowOf } from '../catalogue.ts'

interface InspectFlags extends LoadOptions {
  readonly window?: number
  readonly model?: string
  readonly html?: string | true
  readonly json?: boolean
  readonly png?: string
  readonly details?: boolean
  readonly list?: boolean
  readonly limit: number
  readonly top: number
}

const HTML_FILE = 'plimsoll-inspect.html'
/** With more sessions than this, only the overview is printed. */
const MOST_DETAILED = 3

export function inspectCommand(): Command {
  const command = new Command('inspect')
    .argument('[paths...]', 'session files, or folders to look through')
    .option('--window <tokens>', 'window to compare with (default: the one of the recorded model)', tokenCount)
    .option('--model <id>', 'use the tokenizer and prices of this model (default: the recorded one)')
    .option('--details', 'print the full report of every session, also when there are many')
    .option('--no-details', 'print only the overview')
    .option('--html [file]', `write one self-contained page (default: ${HTML_FILE})`, htmlFile)
    .option('--png <file>', 'write a picture of the first session, re-run under the default policy; .svg gets SVG')
    .option('--json', 'print an array with one object per session')
    .option('--list', 'without a path: only list the sessions that were found')
    .option('--limit <n>', 'without a path: the newest n sessions', oneOrMore, 10)
    .option('--top <n>', 'how many of the largest items to name', wholeNumber, 10)
  return withExamples(
    addLoadOptions(command, { resend: 'recorded' }),
    'plimsoll inspect session.jsonl',
    'plimsoll inspect sessions/ --no-details',
    'plimsoll inspect session.jsonl --window 64k --html report.html',
    'plimsoll inspect session.jsonl --json',
    'plimsoll inspect session.jsonl --png session.svg',
  ).action(runInspect)
}

async function runInspect(paths: string[], flags: InspectFlags): Promise<void> {
  if (flags.list === true && paths.length > 0)
    throw new PlimsollError('bad-input', '--list takes no path: it lists the sessions that are found without one.', {
      advice: 'Leave out --list, or the path.',
    })
  const out = screenOf(process.stdout)
  const found = paths.length === 0 ? await newestSessions(flags.limit) : []
  if (flags.list === true) return listSessions(found, flags.json === true, out.width)
  const files =
    paths.length === 0 ? found.map(({ path }): GivenFile => ({ path, named: false })) : await findFiles(paths)
  const { recordings, failures, others } = await loadWithProgress(files, flags)
  if (recordings.length === 0) throw nothingFound(files, failures)
  if (others > 0)
    printError(`${plural(others, 'file')} without a transcript ${others === 1 ? 'was' : 'were'} passed over.`)
  const inspections = inspectAll(recordings, {
    top: flags.top,
    countText: (text, recorded) => estimateFor(flags.model ?? recorded, text),
    window: flags.window ?? ((recorded) => windowOf(flags.model ?? recorded)),
    price: (recorded) => priceOf(flags.model ?? recorded),
  })
  if (flags.png !== undefined) await drawRecording(flags.png, files, flags)
  if (flags.html !== undefined)
    await writePage(inspectReport(inspections), flags.html === true ? HTML_FILE : flags.html, flags.json)
  if (flags.json === true) process.stdout.write(`${JSON.stringify(inspections, null, 2)}\n`)
  else if (flags.html === undefined) {
    const look = { ...out, rows: Infinity, details: flags.details }
    const details = flags.details ?? inspections.length <= MOST_DETAILED
    process.stdout.write(renderReport(inspectReport(inspections, details), look))
    // Without paths, the newest session is shown: it is most likely the one that the user means.
    if (paths.length === 0 && !details && flags.details === undefined)
      process.stdout.write(`\n${renderReport(inspectReport(inspections.slice(0, 1)), look)}`)
  }
}

const DEFAULT_WINDOW = 200_000

/** What Plimsoll would have sent of the first recording, as `plimsoll dashboard` shows it. */
async function drawRecording(png: string, files: readonly GivenFile[], flags: InspectFlags): Promise<void> {
  const { recordings } = await loadWithProgress(files.slice(0, 1), { ...flags, resend: 'everything' })
  const [recording] = recordings.filter(({ calls }) => calls.length > 0)
  if (recording === undefined) throw new PlimsollError('not-found', 'No recorded model call was found to draw.')
  const model = flags.model ?? recording.model
  const window = flags.window ?? windowOf(model) ?? DEFAULT_WINDOW
  const options = { window, policy: 'plimsoll', model: flags.model, clock: true, catalogue: knownModels() }
  const { log } = await replaySession(recording, options)
  const countText = (text: string): number => estimateFor(model, text)
  await writePicture(png, pictureOf(log, { countText, priceOf, isReplay: true }))
}

async function newestSessions(limit: number): Promise<readonly FoundSession[]> {
  const found = await discoverSessions({ limit })
  if (found.length > 0) return found
  throw new PlimsollError('not-found', 'No session of Claude Code, Codex, Gemini CLI, pi or OpenCode was found here.', {
    advice: 'Name a file or folder: plimsoll inspect session.jsonl',
  })
}

function listSessions(found: readonly FoundSession[], asJson: boolean, width: number): void {
  if (asJson) return void process.stdout.write(`${JSON.stringify(found, null, 2)}\n`)
  for (const { client, path, bytes, modifiedAt } of found) {
    const figures = `${new Date(modifiedAt).toISOString().slice(0, 16).replace('T', ' ')}  ${client.padEnd(11)} ${short(bytes).padStart(6)}B`
    process.stdout.write(`${figures}  ${fitEnd(path, Math.max(10, width - figures.length - 2))}\n`)
  }
}

function nothingFound(files: readonly GivenFile[], failures: readonly string[]): PlimsollError {
  const what =
    files.length === 0
      ? 'There is no session file here (.jsonl, .json, .traj, also gzipped).'
      : failures.length > 0
        ? 'Nothing could be read.'
        : `None of ${plural(files.length, 'file')} is a transcript that Plimsoll can read.`
  return new PlimsollError('not-found', what, {
    advice:
      'Plimsoll reads sessions of Claude Code, Codex, Gemini CLI, Copilot CLI, pi, OpenCode, Cline, OpenHands, SWE-agent and tau-bench, and logs of requests.',
  })
}
