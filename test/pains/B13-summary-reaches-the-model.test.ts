import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { testEngine } from '../support/engine.ts'
import { withFolder } from '../stores/support/temporary.ts'
import { occurrences, runLoop } from './support/loop.ts'

describe('B13: the summary', () => {
  it('is in each later request exactly once, with nothing that it stands for, also in a new process', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'p.db')
      const first = sqliteStore({ path })
      const session = testEngine({ sessions: first }).session()
      await runLoop(session, { to: 35 })
      await session.compact()
      const turn = await runLoop(session, { from: 36, to: 36 })
      const inserted = turn.edits.flatMap((edit) => (edit.op === 'insert' ? [edit.text] : []))
      expect(inserted).toHaveLength(1)
      const summary = JSON.stringify(inserted[0]).slice(1, -1)
      const before = anthropicMessages.decode(turn.text).items.length
      await first.close()
      const second = sqliteStore({ path })
      const resumed = testEngine({ sessions: second }).session()
      const later = await runLoop(resumed, { from: 37, to: 39 })
      expect(later.report.newEpoch).toBeUndefined()
      expect(occurrences(later.text, summary)).toBe(1)
      // Three steps of text, call and result were added, and nothing came back.
      expect(anthropicMessages.decode(later.text).items.length).toBe(before + 9)
      await second.close()
    })
  })
})
