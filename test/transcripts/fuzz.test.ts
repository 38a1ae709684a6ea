import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { loadTranscript } from '../../src/lab/transcripts/load.ts'
import { fixtureText } from './fixtures.ts'
import { brokenInvariants } from './invariants.ts'

const SEED = 20260402
const FILES = [
  'claude-code.jsonl',
  'codex-rollout.jsonl',
  'gemini-cli.jsonl',
  'copilot-cli.jsonl',
  'pi.jsonl',
  'opencode.json',
  'openhands.json',
  'tau2-bench.json',
  'openai-chat.json',
  'anthropic.json',
]

describe('damaged at random', () => {
  it('a transcript is read as far as it goes: never an exception, never an unpaired call', () => {
    console.log(`loader property: seed ${SEED}`)
    const change = fc.record({
      kind: fc.constantFrom('cut', 'drop-line', 'repeat-line', 'swap-lines', 'null-value', 'delete'),
      at: fc.nat(),
      length: fc.integer({ min: 1, max: 400 }),
    })
    const property = fc.property(
      fc.constantFrom(...FILES),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      (file, changes) => {
        const text = changes.reduce(
          (damaged, { kind, at, length }) => damage(damaged, kind, at, length),
          fixtureText(file),
        )
        const { recordings } = loadTranscript(text, file)
        for (const recording of recordings) expect(brokenInvariants(recording)).toEqual([])
      },
    )
    fc.assert(property, { seed: SEED, numRuns: 1500 })
  })

  it('arguments that are nested 100,000 deep do not stop the rest', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const { recordings, problems } = loadTranscript([line('1', deep), line('2', '{}')].join('\n'), 'deep')
    expect(recordings[0]?.calls).toHaveLength(2)
    expect(brokenInvariants(recordings[0]!)).toEqual([])
    expect(problems[0]?.message).toMatch(/nested too deep/)
  })
})

const line = (id: string, input: string) =>
  `{"type":"assistant","uuid":"${id}","message":{"id":"${id}","content":[{"type":"tool_use","id":"t${id}","name":"x","input":${input}}]}}`

function damage(text: string, kind: string, at: number, length: number): string {
  const lines = text.split('\n')
  const line = at % lines.length
  const place = text.length === 0 ? 0 : at % text.length
  if (kind === 'cut') return text.slice(0, place)
  if (kind === 'delete') return text.slice(0, place) + text.slice(place + length)
  if (kind === 'drop-line') return lines.toSpliced(line, 1).join('\n')
  if (kind === 'repeat-line') return lines.toSpliced(line, 0, lines[line] ?? '').join('\n')
  if (kind === 'swap-lines') {
    const other = length % lines.length
    return lines
      .with(line, lines[other] ?? '')
      .with(other, lines[line] ?? '')
      .join('\n')
  }
  // A value that is there but null: what careless writers leave behind.
  const colon = text.indexOf('":"', place)
  const end = text.indexOf('"', colon + 3)
  return colon < 0 || end < 0 ? text : `${text.slice(0, colon + 2)}null${text.slice(end + 1)}`
}
