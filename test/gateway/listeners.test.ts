import { describe, expect, it } from 'vitest'
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
