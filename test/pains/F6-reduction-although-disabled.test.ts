import { describe, expect, it } from 'vitest'
import { createReferee } from '../../src/testing/referee/index.ts'
import { createPlimsoll } from '../../src/index.ts'
import { toolLoop } from '../support/anthropic-loop.ts'

describe('F6: a policy that is off', () => {
  it.each(['off', 'observe'])(
    '(%s) sends the bytes that came in at every size, and the provider’s own refusal comes back',
    async (mode) => {
      const referee = createReferee({ wire: 'anthropic-messages', window: 6_000 })
      const plimsoll = createPlimsoll({
        store: 'memory:',
        secret: Buffer.alloc(32, 1),
        window: 6_000,
        fetch: referee.fetch,
      })
      const statuses: number[] = []
      for (const steps of [1, 10, 30, 60, 200]) {
        const body = JSON.stringify(toolLoop({ steps }), undefined, 1)
        const answer = await plimsoll.fetch('http://referee.test/v1/messages', {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'x-api-key': 'k',
            'anthropic-version': '2023-06-01',
            'x-plimsoll-policy': mode,
          },
          body,
        })
        await answer.text()
        statuses.push(answer.status)
        expect(Buffer.from(referee.log.at(-1)!.raw).toString()).toBe(body)
      }
      expect(statuses[0]).toBe(200)
      expect(statuses.at(-1)).toBe(400)
      // One request each: nothing was reduced and tried again.
      expect(referee.log).toHaveLength(5)
      referee.close()
      await plimsoll.close()
    },
  )
})
