import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { testEngine } from '../support/engine.ts'
import { withFolder } from '../stores/support/temporary.ts'
import { runLoop } from './support/loop.ts'

describe('C12: a clear', () => {
  it('happens once, and the nine requests after it have its prefix byte for byte, each in a new process', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'p.db')
      let epochs = 0
      let messages: string[] = []
      for (let n = 0; n <= 10; n++) {
        const sessions = sqliteStore({ path })
        const engine = testEngine({ sessions })
        const session = engine.session()
        if (n === 1) await session.compact()
        const turn = await runLoop(session, { from: 40 + n, to: 40 + n })
        epochs += engine.events.filter((event) => event.type === 'epoch-declared').length
        const sent = (JSON.parse(turn.text) as { messages: object[] }).messages.map((message) =>
          JSON.stringify(message),
        )
        if (n > 1) expect(sent.slice(0, messages.length)).toEqual(messages)
        messages = sent
        await sessions.close()
      }
      expect(epochs).toBe(1)
    })
  })
})
