import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { renderBySession } from '../../src/cli/reports/replay.ts'
import { replaySession } from '../../src/lab/replay/replay.ts'
import { loadFile } from '../../src/lab/transcripts/load.ts'

const SESSION = join(import.meta.dirname, '../../bench/sessions/entire-13-db96e5c261-0.jsonl.gz')

describe('a replay under the recorded clock', () => {
  it('shows room and thrift side by side: the one changes nothing, the other costs less and keeps what is needed', async () => {
    const { recordings } = await loadFile(SESSION, { resend: 'everything', thinking: 'drop' })
    const [room, thrift] = await Promise.all(
      (['room', 'thrift'] as const).map(async (aim) => {
        const options = { window: 200_000, policy: 'plimsoll', clock: true, aim, model: 'claude-sonnet-4-5' }
        return replaySession(recordings[0]!, options)
      }),
    )
    expect(room!.result).toMatchObject({ aim: 'room', epochs: 0 })
    expect(thrift!.result).toMatchObject({ aim: 'thrift', overflows: 0, invalid: 0, lost: 0 })
    expect(thrift!.result.epochs).toBeGreaterThan(0)
    expect(thrift!.result.costUsd).toBeLessThan(0.8 * room!.result.costUsd)
    expect(thrift!.result.quoteRecall).toBeGreaterThan(0.96)
    for (const { forced, price } of thrift!.epochs) {
      expect(forced).toBe(false)
      expect(price!.expectedCalls).toBeGreaterThanOrEqual(5)
    }
    const table = renderBySession([room!, thrift!])
    expect(table).toContain('plimsoll 200k room')
    expect(table).toContain('plimsoll 200k thrift')
    expect(table).toMatch(/\$\d+\.\d+ \(0\.0 % missed\)\s+≈ \$\d+\.\d+ \([0-3]\.\d % missed\)/)
  })
})
