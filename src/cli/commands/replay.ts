import { Command } from 'commander'
import type { Aim } from '../../core/policy.ts'
import { PlimsollError } from '../../core/errors.ts'
import { policyNamed } from '../../engine/presets/index.ts'
import type { LoadOptions, Recording } from '../../lab/transcripts/recording.ts'
import { EXIT, progressOn, screenOf } from '../kit/output.ts'
import { plural, short } from '../kit/figures.ts'
import { addLoadOptions, findFiles, htmlFile, loadWithProgress, writePage } from '../reports/recordings.ts'
import { withExamples } from '../kit/examples.ts'
import { aimList, nameList, tokenCount, tokenCounts } from '../option-values.ts'
import { dumpRecords, renderBySession, renderComparison, replayReport } from '../reports/replay.ts'
import { renderReport } from '../reports/text.ts'
import { replayJson, replaySession, type ReplayedSession } from '../../lab/replay/replay.ts'
import { knownModels, windowOf } from '../catalogue.ts'

interface ReplayFlags extends LoadOptions {
  readonly window?: number[]
  readonly policy: string
  readonly compare?: string[]
  readonly aim?: Aim[]
  readonly model?: string
  readonly reserve?: number
  readonly readers: boolean
  readonly clock: boolean
  readonly usage: boolean
  readonly details?: boolean
  readonly dump?: string
  readonly html?: string | true
  readonly check?: boolean
  readonly json?: boolean
}

/** Used when neither the flag nor the recording names a window. */
const DEFAULT_WINDOW = 200_000

const HTML_FILE = 'plimsoll-replay.html'

export function replayCommand(): Command {
  const command = new Command('replay')
    .argument('<paths...>', 'session files, or folders to look through')
    .option(
      '--window <tokens>',
      'context window to use; several separated by commas (default: the one of the model)',
      tokenCounts,
    )
    .option('--policy <name>', 'policy to apply', 'plimsoll')
    .option('--compare <names>', 'further policies, separated by commas', nameList)
    .option('--aim <names>', 'what compactions are for: room, thrift, or both side by side', aimList)
    .option('--model <id>', 'use the prices and the tokenizer of this model (default: the recorded one)')
    .option('--reserve <tokens>', 'tokens reserved for the answer', tokenCount, 1024)
    .option('--no-readers', 'declare no recall and artifact tools in the requests')
    .option('--no-clock', 'keep every prefix in the cache (default: caches expire as the recorded clock says)')
    .option('--no-usage', 'answers report no usage, as from servers that leave it out (default: what left, counted)')
    .option(
      '--details',
      'print every call, every compaction, everything that was removed, and each record as the model sees it',
    )
    .option('--dump <folder>', 'write each record (the text that a compaction puts in) to a file of its own')
    .option('--html [file]', `write one self-contained page (default: ${HTML_FILE})`, htmlFile)
    .option(
      '--check',
      `exit with ${EXIT.broken} if a request overflowed, was invalid or was refused, or something was lost`,
    )
    .option('--json', 'print one JSON object per line, for each file, policy and window')
  return withExamples(
    addLoadOptions(command, { resend: 'everything' }),
    'plimsoll replay session.jsonl --window 32k',
    'plimsoll replay session.jsonl --window 16k,32k,64k --json',
    'plimsoll replay session.jsonl --window 32k --compare contextguard,autosre',
    'plimsoll replay sessions/ --window 32k --check',
    'plimsoll replay sessions/ --window 200k --aim room,thrift',
    'plimsoll replay session.jsonl --window 32k --dump records/',
    'plimsoll replay session.jsonl --window 32k --html replay.html',
  ).action(runReplay)
}

async function runReplay(paths: string[], flags: ReplayFlags): Promise<void> {
  const policies = [...new Set([flags.policy, ...(flags.compare ?? [])])]
  // Checked first, so that a wrong name is reported before minutes of work.
  policies.forEach((name) => policyNamed(name))
  const files = await findFiles(paths)
  const progress = progressOn(process.stderr, screenOf(process.stderr))
  const { recordings } = await loadWithProgress(files, flags)
  const played = recordings.filter(({ calls }) => calls.length > 0)
  if (played.length === 0)
    throw new PlimsollError('not-found', `No recorded model call was found in ${plural(files.length, 'file')}.`, {
      advice: 'Name session files of an agent, or a folder that holds some.',
    })
  const look = { ...screenOf(process.stdout), details: flags.details }
  const all: ReplayedSession[] = []
  const jobs = played.flatMap((recording) =>
    policies.flatMap((policy) =>
      windowsFor(recording, flags).flatMap((window) =>
        (flags.aim ?? [undefined]).map((aim) => ({ recording, policy, window, aim })),
      ),
    ),
  )
  for (const [done, { recording, policy, window, aim }] of jobs.entries()) {
    const label = `${recording.file} · ${policy} · ${short(window)}${aim === undefined ? '' : ` · ${aim}`}`
    const replayed = await replaySession(recording, {
      window,
      policy,
      aim,
      readers: flags.readers,
      usage: flags.usage,
      catalogue: knownModels(),
      model: flags.model,
      reserve: flags.reserve,
      clock: flags.clock,
      onCall: ({ call }) => progress.show(done + (call + 1) / recording.calls.length, jobs.length, label),
    })
    all.push(replayed)
    progress.clear()
    if (flags.dump !== undefined) dumpRecords(flags.dump, replayed)
    if (flags.json === true) process.stdout.write(`${JSON.stringify(replayJson(replayed))}\n`)
    else if (jobs.length <= MOST_REPORTS || flags.details === true)
      process.stdout.write(`${renderReport(replayReport([replayed], flags.details), look)}\n`)
  }
  if (flags.html !== undefined)
    await writePage(replayReport(all), flags.html === true ? HTML_FILE : flags.html, flags.json)
  if (flags.json !== true && jobs.length > 1) {
    if ((flags.aim?.length ?? 0) > 1) process.stdout.write(renderBySession(all))
    process.stdout.write(renderComparison(all, screenOf(process.stdout)))
  }
  if (
    flags.check === true &&
    all.some(({ result: { overflows, invalid, lost, refused } }) => overflows + invalid + lost + refused > 0)
  )
    process.exitCode = EXIT.broken
}

/** With more sessions than this, only the comparison is printed. */
const MOST_REPORTS = 4

const windowsFor = ({ model }: Recording, flags: ReplayFlags): readonly number[] =>
  flags.window ?? [windowOf(flags.model ?? model) ?? DEFAULT_WINDOW]
