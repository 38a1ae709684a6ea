import { createHash } from 'node:crypto'
import { createPlimsoll } from '../../../src/plimsoll.ts'
import { toolLoop } from '../../support/anthropic-loop.ts'

/** Small enough that a thousand turns need many epochs. */
const WINDOW = 8_000
/** Every so often a result that does not fit as it is. */
const resultLength = (step: number): number => (step % 97 === 0 ? 12_000 : 40 + ((step * 37) % 100))

/** Early requests bring several turns at once, which saves minutes: each costs time in proportion to its history. */
const strideAt = (turn: number): number => (turn < 950 ? 10 : 1)

export interface SentTurn {
  readonly digest: string
  readonly epoch?: string
}

/** Turns `from` to `to` of one agent on the store: what each sends, and which epoch stands then. */
export async function runTurns(
  store: string,
  from: number,
  to: number,
  afterTurn: (turn: number) => void = () => undefined,
): Promise<SentTurn[]> {
  const plimsoll = createPlimsoll({ store, clock: { now: () => 1_700_000_000_000 } })
  const session = plimsoll.session({ id: 'long' })
  const { messages, ...envelope } = toolLoop({ steps: to, resultLength })
  const sent: SentTurn[] = []
  for (let turn = from; turn <= to; turn += strideAt(turn)) {
    const body = JSON.stringify({ ...envelope, messages: messages.slice(0, 2 * turn - 1) })
    const { id, text, epoch } = await session.prepare({
      format: 'anthropic-messages',
      body,
      targets: [{ model: 'claude-sonnet-4-5', window: WINDOW }],
    })
    sent.push({ digest: createHash('sha256').update(text).digest('hex'), ...(epoch !== undefined && { epoch }) })
    const input = Math.ceil(text.length / 3.6)
    await session.record({ turn: id, usage: { input, cacheRead: 0, cacheWrite: 0, output: 40, reasoning: 0 } })
    afterTurn(turn)
  }
  await plimsoll.close()
  return sent
}
