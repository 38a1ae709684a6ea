import { readFileSync } from 'node:fs'

import { describe, expect, it } from 'vitest'

import { loadFile } from '../../src/lab/transcripts/load.ts'
import { brokenInvariants } from './invariants.ts'
import { filesOf, sharedFolder } from '../support/shared-data.ts'

const { transcripts: FLOORS } = JSON.parse(readFileSync(new URL('../corpus.json', import.meta.url), 'utf8')) as {
  transcripts: Record<string, { files: number; recordings: number; bodies: number }>
}

const folder = sharedFolder('transcripts')

describe('all shared transcripts', () => {
  it.each(Object.entries(FLOORS))('loads %s', async (name, floor) => {
    const files = filesOf(folder, name).filter((file) => !file.includes('claude-session-deltas'))
    const found = { files: 0, recordings: 0, bodies: 0 }
    let bytes = 0
    for (const file of files) {
      const { recordings, problems } = await loadFile(file)
      expect(recordings.length, `${file}: ${JSON.stringify(problems)}`).toBeGreaterThan(0)
      found.files++
      for (const recording of recordings) {
        found.recordings++
        found.bodies += recording.calls.length
        expect(brokenInvariants(recording), file).toEqual([])
        bytes += recording.calls.at(-1)?.body().length ?? 0
      }
    }
    console.log(
      `${name}: ${found.files} files, ${found.recordings} recordings, ${found.bodies} bodies, last bodies ${bytes} characters`,
    )
    expect(found.files).toBeGreaterThanOrEqual(floor.files)
    expect(found.recordings).toBeGreaterThanOrEqual(floor.recordings)
    expect(found.bodies).toBeGreaterThanOrEqual(floor.bodies)
  })
})
