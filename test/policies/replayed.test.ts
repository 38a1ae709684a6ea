import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { policies } from '../../src/engine/presets/index.ts'
import { loadFile } from '../../src/lab/transcripts/load.ts'
import { replaySession } from '../../src/lab/replay/replay.ts'
import { LOAD } from '../../bench/lib/replay-preset.ts'
import { filesOf, sharedTranscripts } from '../support/shared-data.ts'

/** So small that instructions and one step fill them: there a request may leave that only may be too large. */
const TINY = 2_000

/** A sample; every transcript at 32k and 200k is `npm run bench:presets`, with the figures in bench/figures/presets-table.md. */
const fixtures = resolve(import.meta.dirname, '../fixtures/transcripts')
const shared = sharedTranscripts()
const samples: readonly { readonly name: string; readonly file: string; readonly windows: readonly number[] }[] = [
  ...readdirSync(fixtures)
    .filter((name) => name !== 'README.md')
    .map((name) => ({ name, file: join(fixtures, name), windows: [TINY, 32_000] })),
  ...(shared === undefined
    ? []
    : [
        { name: 'copilot-cli', file: filesOf(shared, 'copilot-cli')[0]!, windows: [32_000, 200_000] },
        { name: 'gemini-cli', file: filesOf(shared, 'gemini-cli')[0]!, windows: [16_000, 200_000] },
        { name: 'openhands', file: filesOf(shared, 'openhands')[0]!, windows: [16_000] },
      ]),
]

describe.each([...policies.keys()])('%s', (policy) => {
  it.each(samples)('$name: nothing invalid, nothing lost, nothing too large', async ({ file, windows }) => {
    const { recordings } = await loadFile(file, LOAD)
    expect(recordings.length).toBeGreaterThan(0)
    for (const recording of recordings.slice(0, 2))
      for (const window of windows) {
        const { result } = await replaySession(recording, { window, policy, model: 'claude-sonnet-4-5' })
        expect(result, `${window}`).toMatchObject({ invalid: 0, lost: 0, overflows: 0 })
        if (window > TINY) expect(result.doubtful, `${window}`).toBe(0)
      }
  })
})
