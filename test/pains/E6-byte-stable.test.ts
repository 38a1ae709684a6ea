import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { withFolder } from '../stores/support/temporary.ts'
import { ANTHROPIC, targets } from './support/loop.ts'

/** Number formats, key order, white space, escapes and duplicate keys that a parse and a stringify would change. */
const ODD =
  '{ "max_tokens" : 512,\n "model":"claude-sonnet-4-5", "temperature": 1.0e0, "metadata":{"10":"b","2":"a"},\n' +
  ' "messages":[ {"role":"user","content":"\\u0048i \\/ there"} ], "top_k": 40.0 }'

describe('E6: bytes', () => {
  it('pass through as they came, numbers and key order included', async () => {
    const turn = await testEngine().session().prepare({ format: ANTHROPIC, body: ODD, targets: targets() })
    expect(turn.text).toBe(ODD)
  })

  it('that were sent are the prefix of the next request after a restart', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'p.db')
      let before = ''
      for (let steps = 60; steps <= 64; steps++) {
        const sessions = sqliteStore({ path })
        const body = JSON.stringify(toolLoop({ steps }))
        const { text } = await testEngine({ sessions }).session().prepare({ format: ANTHROPIC, body, targets: targets() })
        expect(text).not.toBe(body)
        // Without the two characters that close the list of messages.
        if (before !== '') expect(text.startsWith(before.slice(0, -2))).toBe(true)
        before = text
        await sessions.close()
      }
    })
  })
})
