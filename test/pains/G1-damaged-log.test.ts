import { describe, expect, it } from 'vitest'
import { loadTranscript } from '../../src/lab/transcripts/load.ts'
import { fixtureText } from '../transcripts/fixtures.ts'

const NAME = 'claude-code.jsonl'
const lines = fixtureText(NAME).trim().split('\n')
const load = (damaged: readonly string[]) => loadTranscript(damaged.join('\n'), NAME)
const textOf = (damaged: readonly string[]): string =>
  // Where a call stood in the file is the one thing that may move.
  JSON.stringify(
    load(damaged).recordings.map(({ calls }) => calls),
    (key, value: unknown) => (/line/i.test(key) ? undefined : value),
  )
const whole = textOf(lines)
const at = Math.floor(lines.length / 2)
const record = (index: number, change: object): string =>
  JSON.stringify({ ...(JSON.parse(lines[index]!) as object), ...change })

const DAMAGE: Record<string, readonly string[]> = {
  'a line of another program': lines.toSpliced(at, 0, 'Segmentation fault'),
  'an empty line': lines.toSpliced(at, 0, ''),
  'a record of an unknown type': lines.toSpliced(at, 0, '{"type":"from-the-future","value":1}'),
  'a number where a record should be': lines.toSpliced(at, 0, '42'),
  'half a record in the middle': lines.toSpliced(at, 0, lines[at]!.slice(0, 40)),
  'a torn record at the end': [...lines, lines[at]!.slice(0, 60)],
  'the same record twice': lines.toSpliced(at, 0, lines[at]!),
  'a parent that is missing': lines.with(1, record(1, { parentUuid: '00000000-0000-0000-0000-000000000000' })),
}

describe('G1: a damaged log', () => {
  it.each(Object.entries(DAMAGE))(
    'loads whole but for the damage, with at most one problem named: %s',
    (_, damaged) => {
      expect(load(lines).recordings.length).toBeGreaterThan(0)
      expect(textOf(damaged) === whole).toBe(true)
      expect(load(damaged).problems.length).toBeLessThanOrEqual(load(lines).problems.length + 1)
    },
  )
})
