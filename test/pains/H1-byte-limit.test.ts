import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { plainMeter, testEngine } from '../support/engine.ts'
import { prepareMessages } from './support/loop.ts'

/** The acceptance line in a tenth: 42 screenshots of 3.4 MB together and a limit of 3.2 MB. */
const LIMIT = 3_200_000
const LENGTH = 81_000
const picture = (n: number): string => `${String(n).padStart(8, '0')}${'A'.repeat(LENGTH - 8)}`
const meter: typeof plainMeter = { ...plainMeter, limitOf: (...args) => ({ ...plainMeter.limitOf(...args), bytes: LIMIT }) }

const messages = [
  { role: 'user', content: 'Click through.' },
  ...Array.from({ length: 42 }, (_, n) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${n}`, name: 'shot', input: {} }] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: `toolu_${n}`,
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture(n) } }],
        },
      ],
    },
  ]).flat(),
]

describe('H1: a body that is too large in bytes', () => {
  it('fits before it is sent: the newest pictures stay, each older one is behind a handle with its bytes', async () => {
    const { session, deps } = testEngine({ meter })
    const turn = await prepareMessages(session(), messages, 200_000)
    expect(Buffer.byteLength(JSON.stringify({ messages }))).toBeGreaterThan(LIMIT)
    expect(Buffer.byteLength(turn.text)).toBeLessThanOrEqual(LIMIT)
    const kept = Array.from({ length: 42 }, (_, n) => n).filter((n) => turn.text.includes(picture(n)))
    expect(kept.length).toBeGreaterThan(10)
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => 42 - kept.length + i))
    const stored = new Set<string>()
    for (const handle of handlesIn(turn.text))
      stored.add(Buffer.from((await deps.artifacts.read('local', handle))!).toString('base64'))
    for (let n = 0; n < 42 - kept.length; n++)
      expect(stored.has(Buffer.from(picture(n), 'base64').toString('base64')), `picture ${n}`).toBe(true)
  })
})
