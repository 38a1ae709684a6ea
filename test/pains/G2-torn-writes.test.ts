import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openJournal } from '../../src/cli/chat/journal.ts'
import { withFolder } from '../stores/support/temporary.ts'

const said = (n: number) => ({ type: 'user' as const, text: `Zeile ${n}: ünïcode 🚢` })

describe('G2: a torn write', () => {
  it('at any byte of the last three records loses only what was incomplete, and later appends are whole', async () => {
    await withFolder(async (folder) => {
      const journal = openJournal(folder, 'chat', '/')
      for (let n = 0; n < 5; n++) journal.add(said(n))
      const file = join(folder, readdirSync(folder)[0]!)
      const bytes = readFileSync(file)
      const ends = [...bytes.keys()].filter((at) => bytes[at] === 10)
      for (let cut = ends[ends.length - 4]! + 1; cut <= bytes.length; cut++) {
        writeFileSync(file, bytes.subarray(0, cut))
        // The head is a line of its own.
        const whole = ends.filter((end) => end < cut).length - 1
        const torn = openJournal(folder, 'chat', '/')
        expect(torn.entries).toHaveLength(whole)
        torn.add(said(100))
        torn.add(said(101))
        const again = openJournal(folder, 'chat', '/').entries
        expect(again).toEqual([...Array.from({ length: whole }, (_, n) => said(n)), said(100), said(101)])
      }
    })
  })
})
