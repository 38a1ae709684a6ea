/**
 * One engine, every preset: each development transcript lived again under each policy, at each window.
 *
 *   npx tsx bench/presets.ts [--windows 32000,200000] [--policies plimsoll,contextguard] [--folders claude-code,pi] [--files 3]
 *                            [--log replays.jsonl] [--write bench/figures/presets-table.md]
 *
 * `--log` keeps each replay as a line as soon as it is done, and a later run with the same file goes on where it stopped. Exits with 1
 * when a request was invalid or something got lost.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { policies } from '../src/engine/presets/index.ts'
import { loadFile } from '../src/lab/transcripts/load.ts'
import {
  brokenLines,
  coverageLines,
  presetTables,
  SESSION_FOLDERS,
  SINGLE_REQUESTS,
  type PresetReplay,
  type Sample,
} from './lib/preset-table.ts'
import { LOAD, replayPreset } from './lib/replay-preset.ts'
import { sharedData } from './lib/shared.ts'

const MODEL = 'claude-sonnet-4-5'
const { values } = parseArgs({
  options: {
    windows: { type: 'string', default: '32000,200000' },
    policies: { type: 'string', default: [...policies.keys()].join(',') },
    folders: { type: 'string', default: [...SESSION_FOLDERS, SINGLE_REQUESTS].join(',') },
    files: { type: 'string' },
    log: { type: 'string' },
    write: { type: 'string' },
  },
})
const data = sharedData()
if (data === undefined) throw new Error('The shared data is absent. Set PLIMSOLL_SHARED to the folder that holds it.')
const windows = values.windows.split(',').map(Number)
const names = values.policies.split(',')
const keyOf = ({ folder, file, policy, window }: Pick<PresetReplay, 'folder' | 'file' | 'policy' | 'window'>): string =>
  [folder, file, policy, window].join('\t')

const replays = new Map<string, PresetReplay>()
if (values.log !== undefined && existsSync(values.log))
  for (const line of readFileSync(values.log, 'utf8').split('\n').filter(Boolean)) {
    const replay = JSON.parse(line) as PresetReplay
    replays.set(keyOf(replay), replay)
  }

const startedAt = Date.now()
/** Those of this run: a log may hold more. */
const chosen = new Set<string>()
const samples: Sample[] = []
for (const folder of values.folders.split(',')) {
  const files = readdirSync(join(data, 'transcripts', folder)).sort()
  const taken = files.slice(0, values.files === undefined ? undefined : Number(values.files))
  samples.push({ folder, taken, files: files.length })
  for (const file of taken) {
    const { recordings } = await loadFile(join(data, 'transcripts', folder, file), LOAD)
    for (const [at, found] of recordings.entries()) {
      // Names of recordings need not be unique within a file.
      const recording = { ...found, file: basename(file), name: `${at} ${found.name ?? ''}`.trim() }
      for (const policy of names)
        for (const window of windows) {
          const key = keyOf({ folder, file: `${recording.file}#${recording.name}`, policy, window })
          chosen.add(key)
          if (replays.has(key)) continue
          const replay = await replayPreset(recording, folder, { window, policy, model: MODEL })
          replays.set(key, replay)
          if (values.log !== undefined) appendFileSync(values.log, `${JSON.stringify(replay)}\n`)
          if (replay.invalid + replay.lost > 0)
            console.log(`${key}: ${replay.invalid} invalid, ${replay.lost} lost of ${replay.calls} calls`)
        }
    }
    console.error(`${folder}/${file} after ${Math.round((Date.now() - startedAt) / 1_000)} s`)
  }
}

const all = [...replays]
  .flatMap(([key, replay]) => (chosen.has(key) ? [replay] : []))
  .sort((a, b) => names.indexOf(a.policy) - names.indexOf(b.policy))
const sessions = all.filter(({ folder }) => folder !== SINGLE_REQUESTS)
const singles = all.filter(({ folder }) => folder === SINGLE_REQUESTS)
const claude = sessions.filter(({ folder }) => folder === 'claude-code')
const broken = all.reduce((total, { invalid, lost }) => total + invalid + lost, 0)
const lines = [
  '# Presets on recorded sessions',
  '',
  'Written by `npm run bench:presets -- --write bench/figures/presets-table.md`. Development transcripts, each call made again with everything resent and our readers declared,',
  `priced as ${MODEL} with its prompt cache; no model summarises, so code writes every summary. Recalls are means over calls ([what they measure](../../docs/cli.md)). A typed error is a`,
  'call that was refused with numbers before anything was sent; an overflow would be a request that left above its limit, or a call that died of anything else.',
  'Nobody reads a refused call, so its recalls are zero. `ai-agent` has no compaction: it closes the session once the window is full, and these recordings go on all the same.',
  '',
  ...coverageLines(samples, [...SESSION_FOLDERS, SINGLE_REQUESTS]),
  ...presetTables(sessions, 'All sessions'),
  ...(claude.length > 0 && claude.length < sessions.length ? presetTables(claude, 'Claude Code alone') : []),
  ...(singles.length === 0
    ? []
    : [
        `Beside them ${singles.length.toLocaleString('en')} replays of single recorded requests (\`${SINGLE_REQUESTS}\`): ` +
          `${singles.reduce((total, { invalid }) => total + invalid, 0)} invalid, ${singles.reduce((total, { lost }) => total + lost, 0)} lost, ` +
          `${singles.reduce((total, { overflows }) => total + overflows, 0)} overflows.`,
        '',
      ]),
  ...brokenLines(all),
]
const page = `${lines.join('\n').trimEnd()}\n`
if (values.write === undefined) console.log(page)
else writeFileSync(values.write, page)
process.exitCode = broken === 0 ? 0 : 1
