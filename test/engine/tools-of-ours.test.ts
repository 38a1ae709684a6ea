import { describe, expect, it } from 'vitest'
import { COMPACT_READER } from '../../src/engine/readers/reader-tools.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

describe('a tool of ours that comes with a compaction', () => {
  const compacted = async (window: number): Promise<{ names: string[]; text: string }> => {
    const turn = await testEngine()
      .session()
      .prepare({
        format: 'anthropic-messages',
        body: JSON.stringify(toolLoop({ steps: 60 })),
        targets: [{ model: 'claude-sonnet-4-5', window }],
        tools: { tools: [COMPACT_READER] },
      })
    expect(turn.report.newEpoch).toBeDefined()
    const { tools } = JSON.parse(turn.text) as { tools: { name: string }[] }
    return { names: tools.map(({ name }) => name), text: turn.text }
  }

  it('is declared and named where it takes little of the window', async () => {
    const { names, text } = await compacted(8_000)
    expect(names).toEqual(['read', 'recall'])
    expect(text).toContain('Use recall to search it.')
  })

  it('is neither declared nor named where it would take more than a tenth of what fits', async () => {
    const { names, text } = await compacted(2_000)
    expect(names).toEqual(['read'])
    expect(text).not.toContain('recall')
  })
})
