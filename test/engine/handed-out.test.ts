import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import type { PreparedTurn } from '../../src/engine/prepare/prepare.ts'
import type { Session } from '../../src/engine/session/session.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const prepare = (session: Session, steps: number): Promise<PreparedTurn> =>
  session.prepare({
    format: 'anthropic-messages',
    body: JSON.stringify(toolLoop({ steps, resultLength: () => 200 })),
    targets: [{ model: 'm', window: 5_000 }],
  })

/** Goes on until a request is compacted; gives back the number of the last one that was not. */
async function untilEpoch(session: Session, after: (turn: PreparedTurn) => Promise<unknown>): Promise<number> {
  for (let steps = 1; ; steps++) {
    const turn = await prepare(session, steps)
    await after(turn)
    if (turn.report.newEpoch !== undefined) return steps - 1
  }
}

describe('a request that was handed out', () => {
  it('counts as sent although nobody recorded an answer: a rewind gets it as it was, in any process', async () => {
    const sessions = memoryStore()
    const session = testEngine({ sessions }).session()
    const last = await untilEpoch(session, async () => undefined)
    for (const again of [session, testEngine({ sessions }).session()])
      expect((await prepare(again, last)).epoch).toBeUndefined()
  })

  it('does not count as sent when it was refused: a rewind gets what stands now', async () => {
    const sessions = memoryStore()
    const session = testEngine({ sessions }).session()
    const last = await untilEpoch(session, ({ id }) => session.record({ turn: id, refused: true }))
    for (const again of [testEngine({ sessions }).session(), session])
      expect((await prepare(again, last)).epoch).toBeDefined()
  })

  it('is written once, however often it is asked for', async () => {
    const sessions = memoryStore()
    const session = testEngine({ sessions }).session()
    await prepare(session, 3)
    const version = await sessions.version('local', 'test')
    await prepare(session, 3)
    await prepare(testEngine({ sessions }).session(), 3)
    expect(await sessions.version('local', 'test')).toBe(version)
  })

  it('stays a closing turn: what is new was shortened before, so that it fits the second time', async () => {
    const stores = { sessions: memoryStore(), artifacts: memoryArtifacts({ secret: Buffer.alloc(32, 7) }) }
    const request = {
      format: 'openai-responses',
      body: JSON.stringify({
        model: 'm',
        previous_response_id: 'resp_1',
        max_output_tokens: 100,
        tools: [{ type: 'function', name: 'bash', parameters: { type: 'object' } }],
        input: [{ role: 'user', content: 'one of many lines\n'.repeat(200) }],
      }),
      targets: [{ model: 'm', window: 900 }],
    }
    const first = await testEngine(stores).session().prepare(request)
    expect(first.verdict.kind).toBe('final')
    const again = await testEngine(stores).session().prepare(request)
    expect(again.verdict.kind).toBe('final')
    expect(again.text).toBe(first.text)
  })
})
