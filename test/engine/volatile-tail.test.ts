import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import type { PreparedTurn } from '../../src/engine/prepare/prepare.ts'
import { createPlimsoll, type Plimsoll, type PlimsollEvent } from '../../src/index.ts'
import type { MaintainedStore } from '../../src/ports/store-maintenance.ts'

const WORDS = 'alpha ledger harbour seven copper module index kernel latency packet request window budget retry'.split(
  ' ',
)
const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, i) => WORDS[(seed * 31 + i * 17) % WORDS.length]! + ((seed * i) % 97)).join(' ')

/** How a client ends its requests: with what stays in the history, or with something that only this request has. */
const TAILS: Readonly<Record<string, (turn: number) => string>> = {
  'stays in the history': (turn) => `question ${turn} ${words(turn, 60)}`,
  'is the same each time and goes again': () => 'go on',
  'changes each time and goes again': (turn) => `It is ${turn} minutes past noon. Go on.`,
}

const body = (turn: number, tail: (turn: number) => string): string =>
  JSON.stringify({
    model: 'gpt-4o',
    messages: [
      { role: 'system', content: 'You are a test.' },
      ...Array.from({ length: turn }, (_, i) => [
        { role: 'user', content: `question ${i} ${words(i, 60)}` },
        { role: 'assistant', content: `answer ${i} ${words(i + 7, 120)}` },
      ]).flat(),
      { role: 'user', content: tail(turn) },
    ],
  })

interface Run {
  readonly plimsoll: Plimsoll
  readonly events: PlimsollEvent[]
}

function start(store: MaintainedStore): Run {
  const events: PlimsollEvent[] = []
  const secret = Buffer.from('a secret that is long enough')
  return { plimsoll: createPlimsoll({ store, secret, onEvent: (event) => events.push(event) }), events }
}

const TARGETS = [{ model: 'gpt-4o', window: 16_000 }]

const prepare = ({ plimsoll }: Run, turn: number, tail: (turn: number) => string): Promise<PreparedTurn> =>
  plimsoll.session({ id: 's' }).prepare({ format: 'openai-chat', body: body(turn, tail), targets: TARGETS })

async function answer({ plimsoll }: Run, turn: number, prepared: PreparedTurn): Promise<void> {
  const message = { role: 'assistant', content: `answer ${turn} ${words(turn + 7, 120)}` }
  await plimsoll.session({ id: 's' }).record({
    turn: prepared.id,
    format: 'openai-chat',
    response: { id: 'r', object: 'chat.completion', choices: [{ index: 0, finish_reason: 'stop', message }] },
  })
}

const TURNS = 70

describe.each(Object.entries(TAILS))('a client whose last message %s', (_name, tail) => {
  it('has as many epochs as any other, and none is moved', async () => {
    const run = start(memoryStore())
    const ids = new Set<string>()
    for (let turn = 0; turn < TURNS; turn++) {
      const prepared = await prepare(run, turn, tail)
      await answer(run, turn, prepared)
      const { epoch } = prepared
      if (epoch !== undefined) ids.add(epoch)
    }
    const counts = (type: string): number => run.events.filter((event) => event.type === type).length
    expect(counts('epoch-reanchored') + counts('epoch-orphaned')).toBe(0)
    expect(ids.size).toBe(counts('epoch-declared'))
    // One for each seven turns or so, since talk fills the window: this history grows by a tenth of the window in six.
    expect(ids.size).toBeGreaterThan(1)
    expect(ids.size).toBeLessThanOrEqual(TURNS / 7)
  })

  it('gets the same bytes for the same request, after a rewind behind an epoch and after a restart', async () => {
    const store = memoryStore()
    let run = start(store)
    const sent: string[] = []
    let declared = 0
    for (let turn = 0; declared < 3; turn++) {
      const prepared = await prepare(run, turn, tail)
      sent.push(prepared.text)
      if (prepared.report.newEpoch !== undefined) declared++
      // The last one, which declared an epoch, was never answered: the process was killed.
      if (declared < 3) await answer(run, turn, prepared)
    }
    const newest = sent.length - 1
    for (const restarts of [false, true]) {
      for (const back of [0, 1, 2, 5, 12]) {
        if (restarts) run = start(store)
        const again = await prepare(run, newest - back, tail)
        expect(again.text === sent[newest - back], `${back} back, restarted: ${restarts}`).toBe(true)
        expect(again.report.newEpoch?.id ?? again.epoch).toBe(again.epoch)
      }
    }
  })
})
