import { writeSync } from 'node:fs'
import { createPlimsoll } from '../../src/compose/plimsoll.ts'
import { toolLoop } from '../support/anthropic-loop.ts'

/*
 * An agent behind the gateway's way of archiving, until it is killed. Each line is one answer that was recorded, with the number of
 * steps that its request showed.
 */

const [store = '', from = '1'] = process.argv.slice(2)
const session = createPlimsoll({ store }).session({ id: 'agent' })
for (let steps = Number(from); ; steps++) {
  const { id, text, epoch } = await session.prepare({
    format: 'anthropic-messages',
    // Every so often a result that is cut before its first send.
    body: toolLoop({ steps, resultLength: (step) => (step % 13 === 0 ? 12_000 : 150) }),
    targets: [{ model: 'claude-sonnet-4-5', window: 8_000 }],
    archive: 'meanwhile',
  })
  const input = Math.ceil(text.length / 3.6)
  await session.record({ turn: id, usage: { input, cacheRead: 0, cacheWrite: 0, output: 9, reasoning: 0 } })
  writeSync(1, `${JSON.stringify({ steps, turn: id, epoch })}\n`)
}
