import { describe, expect, it } from 'vitest'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createPlimsoll } from '../../src/index.ts'
import { json, MESSAGE, ODD_BODY, plainUpstream, post, testProxy } from './upstream.ts'

describe('a listener that throws', () => {
  it('touches neither the request nor the other listeners', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const seen: string[] = []
    const { proxy, plimsoll } = await testProxy(
      { upstreams: { anthropic: upstream.url }, onRequest: () => raise() },
      { onEvent: () => raise() },
    )
    plimsoll.on(() => raise())
    plimsoll.on(({ type }) => seen.push(type))
    const response = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)
    expect([response.status, await response.text()]).toEqual([200, MESSAGE])
    expect(upstream.received.map(({ body }) => body.toString())).toEqual([ODD_BODY])
    await expect.poll(() => seen).toContain('request-forwarded')
    expect((await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)).status).toBe(200)
  })
})

const raise = (): never => {
  throw new Error('a listener is broken')
}

describe('a listener of one type of event', () => {
  it('is told that type alone, with its fields, and refused for one that there is not', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy, plimsoll } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const statuses: number[] = []
    const stop = plimsoll.on('request-forwarded', ({ status }) => statuses.push(status))
    await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)
    await expect.poll(() => statuses).toEqual([200])
    stop()
    // @ts-expect-error an event of this type has no status
    plimsoll.on('epoch-declared', ({ status }) => status)
    expect(() => plimsoll.on('request-forwarde' as 'request-forwarded', () => undefined)).toThrow(/request-forwarded/)
    expect(() => plimsoll.on('request-forwarded', undefined as never)).toThrow(/listener/)
  })
})

it('closes at the end of a block that uses it', async () => {
  const store = memoryStore()
  const artifacts = memoryArtifacts({ secret: Buffer.alloc(32, 7) })
  const closed: string[] = []
  store.close = async () => void closed.push('store')
  artifacts.close = async () => void closed.push('artifacts')
  {
    await using plimsoll = createPlimsoll({ store, artifacts })
    await plimsoll.isReady()
    expect(closed).toEqual([])
  }
  expect(closed.sort()).toEqual(['artifacts', 'store'])
})
