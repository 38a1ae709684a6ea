import { describe, expect, it } from 'vitest'
import { toolLoop } from '../support/anthropic-loop.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { exportStore } from '../../src/engine/store-admin/store-export.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

describe('G3: the archive', () => {
  it('only grows over five compactions, and its export holds every message byte for byte', async () => {
    const sessions = memoryStore()
    const { session, events } = testEngine({ sessions })
    const agent = session()
    let before: string[] = []
    let steps = 0
    while (events.filter((event) => event.type === 'epoch-declared').length < 5) {
      await runLoop(agent, { from: ++steps, to: steps, resultLength: 900, window: 5_000 })
      const records: string[] = []
      for await (const { record } of sessions.read('local', 'test')) records.push(JSON.stringify(record))
      expect(records.slice(0, before.length)).toEqual(before)
      before = records
    }
    const exported: string[] = []
    for await (const line of exportStore(sessions)) exported.push(line)
    const fragments = new Set(
      exported
        .map((line) => JSON.parse(line) as { record?: { fragment?: string } })
        .flatMap(({ record }) => (record?.fragment === undefined ? [] : [record.fragment])),
    )
    const blocks = toolLoop({ steps, resultLength: 900 }).messages.flatMap(({ content }) => content as object | string)
    expect(blocks.filter((block) => !fragments.has(JSON.stringify(block)))).toEqual([])
  })
})
