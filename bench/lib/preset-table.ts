import type { ReplayResult } from '../../src/lab/replay/replay.ts'

/** A replay with the folder that it is from. */
export interface PresetReplay extends ReplayResult {
  readonly folder: string
  /** Calls that left as a closing turn. */
  readonly closing: number
}

/** Sessions of agents; the folder of single requests has no next answer to measure recall by. */
export const SESSION_FOLDERS = [
  'cline',
  'gemini-cli',
  'swe-agent',
  'openhands',
  'openai-chat',
  'copilot-cli',
  'tau-bench',
  'tau2-bench',
  'codex-rollout',
  'pi',
  'claude-code',
] as const
export const SINGLE_REQUESTS = 'token-usage'

const HEAD = [
  'Policy',
  'quotes',
  'names',
  'recoverable',
  'price',
  'epochs',
  'closing turns',
  'typed errors',
  'overflows',
  'invalid',
  'lost',
]

/** One table per window: a row per policy, all replays of it together. */
export function presetTables(replays: readonly PresetReplay[], title: string): string[] {
  return [...grouped(replays, ({ window }) => window)].sort(byKey).flatMap(([window, here]) => {
    const policies = grouped(here, ({ policy }) => policy)
    const [first = []] = policies.values()
    const calls = sum(first, ({ calls: count }) => count)
    const unmanaged = sum(first, ({ unmanagedCostUsd }) => unmanagedCostUsd)
    return [
      `### ${title}, ${(window / 1_000).toLocaleString('en')}k`,
      '',
      `${first.length} sessions, ${calls.toLocaleString('en')} calls; sending everything: $${unmanaged.toFixed(2)}.`,
      '',
      `| ${HEAD.join(' | ')} |`,
      `|---|${'--:|'.repeat(HEAD.length - 1)}`,
      ...[...policies].map(([policy, group]) => `| \`${policy}\` | ${cellsOf(group).join(' | ')} |`),
      '',
    ]
  })
}

function cellsOf(group: readonly PresetReplay[]): string[] {
  const calls = sum(group, (one) => one.calls)
  const mean = (pick: (one: PresetReplay) => number): string =>
    (sum(group, (one) => pick(one) * one.calls) / Math.max(1, calls)).toFixed(3)
  return [
    mean((one) => one.quoteRecall),
    mean((one) => one.nameRecall),
    mean((one) => one.recoverableRecall),
    `$${sum(group, (one) => one.costUsd).toFixed(2)}`,
    ...[
      sum(group, (one) => one.epochs),
      sum(group, (one) => one.closing),
      sum(group, (one) => one.refused),
      sum(group, (one) => one.overflows),
      sum(group, (one) => one.invalid),
      sum(group, (one) => one.lost),
    ].map((count) => count.toLocaleString('en')),
  ]
}

/** How many files of a folder were lived again, out of how many there are. */
export interface Sample {
  readonly folder: string
  readonly taken: readonly string[]
  readonly files: number
}

/** What the figures are over, so that a part is never read as the whole. */
export function coverageLines(samples: readonly Sample[], folders: readonly string[]): string[] {
  const left = folders.filter((name) => !samples.some(({ folder }) => folder === name))
  const parts = samples.filter(({ taken, files }) => taken.length < files)
  const counts = samples.map(({ folder, taken, files }) => `${folder} ${taken.length} of ${files}`).join(', ')
  return [
    left.length + parts.length === 0
      ? `All files of every folder: ${counts}.`
      : `**A part of the recordings.** Files: ${counts}.`,
    ...(left.length === 0 ? [] : [`Left out: ${left.join(', ')}.`]),
    ...parts.map(({ folder, taken }) => `From ${folder}: ${taken.join(', ')}.`),
    '',
  ]
}

/** Every recording with an invalid request or something lost, under how many policies and windows. */
export function brokenLines(replays: readonly PresetReplay[]): string[] {
  const broken = replays.filter(({ invalid, lost }) => invalid + lost > 0)
  const byFile = grouped(broken, ({ folder, file }) => `${folder}/${file}`)
  if (byFile.size === 0) return []
  return [
    'Broken promises:',
    '',
    ...[...byFile].map(
      ([file, runs]) =>
        `- \`${file}\`, in ${runs.length} replays: ${sum(runs, ({ invalid }) => invalid)} invalid, ${sum(runs, ({ lost }) => lost)} lost`,
    ),
    '',
  ]
}

const sum = <T>(values: readonly T[], pick: (value: T) => number): number =>
  values.reduce((total, value) => total + pick(value), 0)

const byKey = ([a]: readonly [number, unknown], [b]: readonly [number, unknown]): number => a - b

function grouped<T, K>(values: readonly T[], keyOf: (value: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value])
  return groups
}
