import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { createPlimsoll } from '../../src/plimsoll.ts'
import type { PreparedTurn } from '../../src/engine/prepare/prepare.ts'
import { toolLoop } from '../support/anthropic-loop.ts'

/*
 * An agent behind the gateway's way of archiving, until it is killed. Each line is one answer that was recorded, with the number of
 * steps that its request showed and a digest of its bytes. An agent that starts again asks once more for what was answered last: it
 * must get the same bytes.
 */

const [store = '', from = '1', tail = 'stays', digest = ''] = process.argv.slice(2)
const session = createPlimsoll({ store }).session({ id: 'agent' })

/** Every so often a result that is cut before its first send; a moving tail is a line that only this request ends with. */
function bodyOf(steps: number): object {
  const body = toolLoop({ steps, resultLength: (step) => (step % 13 === 0 ? 12_000 : 150) })
  if (tail === 'stays') return body
  const { messages, ...rest } = body
  const { role, content } = messages.at(-1)!
  const own = Array.isArray(content) ? (content as object[]) : [{ type: 'text', text: String(content) }]
  const moving = { role, content: [...own, { type: 'text', text: `Step ${steps} of many.` }] }
  return { ...rest, messages: [...messages.slice(0, -1), moving] }
}

const prepare = (steps: number): Promise<PreparedTurn> =>
  session.prepare({
    format: 'anthropic-messages',
    body: bodyOf(steps),
    targets: [{ model: 'claude-sonnet-4-5', window: 7_000 }],
  })

const digestOf = ({ text }: PreparedTurn): string => createHash('sha256').update(text).digest('hex')

if (digest !== '') {
  const again = await prepare(Number(from) - 1)
  if (digestOf(again) !== digest) throw new Error(`Request ${Number(from) - 1} got other bytes than before the kill.`)
  await session.record({ turn: again.id, refused: true })
}
for (let steps = Number(from); ; steps++) {
  const prepared = await prepare(steps)
  const { id, text, epoch } = prepared
  const input = Math.ceil(text.length / 3.6)
  await session.record({ turn: id, usage: { input, cacheRead: 0, cacheWrite: 0, output: 9, reasoning: 0 } })
  writeSync(1, `${JSON.stringify({ steps, turn: id, epoch, digest: digestOf(prepared) })}\n`)
}
