import { describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { createMetrics } from '../../src/gateway/operate/metrics.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { reportOf } from '../../src/engine/store-admin/session-report.ts'
import { plainBody, type PlainTurn } from '../pains/support/plain-bodies.ts'
import { testEngine } from '../support/engine.ts'

const page = (n: number): string =>
  Array.from({ length: 80 }, (_, line) => `page ${n}, line ${line}: berth ${n * line}`).join('\n')
const read = (n: number): PlainTurn['steps'][number] => ({
  calls: [{ name: 'read', args: { path: `src/${n}.ts` }, result: page(n) }],
})
const pages = Array.from({ length: 16 }, (_, n) => read(n))

async function eventsAfter(next: PlainTurn['steps'], sessions = memoryStore()): Promise<readonly PlimsollEvent[]> {
  const { session, events } = testEngine({ sessions })
  const open = session()
  for (const steps of [pages, [...pages, ...next]]) {
    const body = JSON.stringify(
      plainBody('anthropic-messages', [
        { user: 'Read them all.', steps: [], answer: 'Yes.' },
        { user: 'Go on.', steps },
      ]),
    )
    const { id: turn } = await open.prepare({
      format: 'anthropic-messages',
      body,
      targets: [{ model: 'm', window: 8_000 }],
    })
    await open.record({ turn, usage: { input: 5_000, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 } })
  }
  return events
}
const fetched = (events: readonly PlimsollEvent[]) => events.filter((event) => event.type === 'fetched-again')

describe('what a compaction took out and a call brings back', () => {
  it('is told with its tokens, and stands in /metrics', async () => {
    const events = await eventsAfter([read(0)])
    const declared = events.find((event) => event.type === 'epoch-declared')!
    expect(fetched(events)).toMatchObject([{ epoch: declared.epoch, by: 'call', tool: 'read' }])
    expect(fetched(events)[0]!.tokens).toBe(Math.ceil(page(0).length / 4) + 4)
    const metrics = createMetrics()
    for (const event of events) metrics.take(event)
    expect(metrics.text()).toContain(`plimsoll_fetched_again_tokens_total{by="call"} ${fetched(events)[0]!.tokens}`)
  })

  it('is summed up in the session’s report, at the compaction that had taken it out', async () => {
    const sessions = memoryStore()
    const events = await eventsAfter([read(0), read(1)], sessions)
    const { epochs } = await reportOf(sessions, 'local', 'test')
    const tokens = fetched(events).reduce((sum, event) => sum + event.tokens, 0)
    expect(epochs.map(({ fetchedAgain }) => fetchedAgain)).toMatchObject([{ results: 2, tokens }])
  })

  it('is told of readers apart', async () => {
    const recall = { calls: [{ name: 'recall', args: { query: 'berth' }, result: page(0) }] }
    expect(fetched(await eventsAfter([recall]))).toMatchObject([{ by: 'reader', tool: 'recall' }])
  })

  it('is no other file, and nothing that stayed in view', async () => {
    expect(fetched(await eventsAfter([read(99)]))).toEqual([])
    expect(fetched(await eventsAfter([read(15)]))).toEqual([])
  })

  it('is held to account when it leaves: each kind is counted as kept, within reach or gone', async () => {
    const events = await eventsAfter([read(0)])
    const { receipt } = events.find((event) => event.type === 'epoch-declared')!
    expect(receipt!.files.retained).toBeGreaterThan(5)
    expect(receipt!.files).toMatchObject({ missing: 0, stale: 0 })
    expect(Object.keys(receipt!)).toEqual(['demands', 'decisions', 'errors', 'files', 'commands', 'openItems'])
  })
})
