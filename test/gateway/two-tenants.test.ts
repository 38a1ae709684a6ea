import { describe, expect, it } from 'vitest'
import { json, MESSAGE, plainUpstream, post, testProxy, type TestProxy } from './upstream.ts'

/** Words that only one of the two has said; nothing that the other gets may hold them. */
const SECRETS = { a: 'amber-lighthouse-71', b: 'basalt-orchard-38' } as const
type Who = keyof typeof SECRETS
const key = (who: Who): Record<string, string> => ({ 'x-api-key': `sk-${who}` })

const history = (who: Who): string =>
  JSON.stringify({
    model: 'claude-opus-4-6',
    max_tokens: 64,
    tools: [{ name: 'bash', input_schema: { type: 'object' } }],
    messages: [
      { role: 'user', content: `Go on with ${SECRETS[who]}` },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'bash', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: `${SECRETS[who]} line\n`.repeat(4_000) }],
      },
    ],
  })

async function twoTenants(options: { operatorToken?: string } = {}) {
  const upstream = await plainUpstream(json(MESSAGE))
  const started = await testProxy({ upstreams: { anthropic: upstream.url }, ...options }, { window: 16_000 })
  const answers: Record<string, string> = {}
  for (const who of ['a', 'b'] as const) {
    const url = `${started.proxy.url}/anthropic/v1/messages`
    const answer = await post(url, history(who), { ...key(who), 'x-plimsoll-session': `session-${SECRETS[who]}` })
    expect(answer.status).toBe(200)
    answers[who] = await answer.text()
  }
  await expect.poll(() => started.events.filter(({ type }) => type === 'request-forwarded').length).toBe(2)
  const sent = upstream.received.map(({ body }) => body.toString())
  const handles = sent.map((text) => /art_[0-9a-z]{26}/.exec(text)![0])
  return { ...started, upstream, handles: { a: handles[0]!, b: handles[1]! } }
}

const get = async (
  { proxy }: TestProxy,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> => {
  const response = await fetch(proxy.url + path, { headers })
  return { status: response.status, text: await response.text() }
}

/** What a listener of the event stream is told until it hangs up. */
async function listen({ proxy }: TestProxy, headers: Record<string, string>): Promise<string> {
  const response = await fetch(`${proxy.url}/plimsoll/events?since=0`, { headers })
  if (response.status !== 200) return response.text()
  const reader = response.body!.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return Buffer.from(value ?? []).toString()
}

const CONTROL = ['/plimsoll/api/sessions', '/plimsoll/api/ledger?by=session&calls', '/plimsoll/api/events?since=0']

describe('two tenants on one proxy', () => {
  it('each see what is their own on the control routes', async () => {
    const started = await twoTenants()
    for (const [who, other] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      const shown = await Promise.all(CONTROL.map((path) => get(started, path, key(who))))
      shown.push({ status: 200, text: await listen(started, key(who)) })
      for (const { status, text } of shown) {
        expect([status, text.includes(`session-${SECRETS[who]}`)]).toEqual([200, true])
        expect(text).not.toContain(SECRETS[other])
      }
      expect((await get(started, `/plimsoll/api/sessions/session-${SECRETS[other]}`, key(who))).status).toBe(404)
      const tenants = started.plimsoll.ledger.sessions().map(({ tenant }) => tenant)
      for (const tenant of tenants) {
        const { status, text } = await get(started, `/plimsoll/api/sessions?tenant=${tenant}`, key(who))
        expect(status === 403 || !text.includes(SECRETS[other])).toBe(true)
      }
      expect((await get(started, '/metrics', key(who))).status).toBe(401)
    }
  })

  it('show nothing to who sends neither key nor token', async () => {
    const started = await twoTenants()
    for (const path of [...CONTROL, '/metrics', '/plimsoll/events', `/v1/retrieve/${started.handles.a}`]) {
      for (const headers of [{}, { 'x-api-key': '' }, { authorization: 'Bearer ' }] as Record<string, string>[]) {
        const { status, text } = await get(started, path, headers)
        expect([path, status]).toEqual([path, 401])
        expect(text).not.toMatch(/amber|basalt/)
      }
    }
  })

  it('show everything to the operator, by its token alone', async () => {
    const operatorToken = 'the operator’s own'.normalize('NFKD').replace(/[^\w]/g, '-')
    const started = await twoTenants({ operatorToken })
    const ways: Record<string, string>[] = [
      { 'x-plimsoll-token': operatorToken },
      { authorization: `Bearer ${operatorToken}` },
    ]
    for (const headers of ways) {
      for (const path of CONTROL) {
        const { status, text } = await get(started, path, headers)
        expect([status, text.includes(SECRETS.a), text.includes(SECRETS.b)]).toEqual([200, true, true])
      }
      expect((await get(started, '/metrics', headers)).status).toBe(200)
    }
    expect((await get(started, '/metrics', { 'x-plimsoll-token': `${operatorToken}x` })).status).toBe(401)
  })

  it('with an operator’s token nobody else sees everything, even while there is one tenant', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const started = await testProxy({ upstreams: { anthropic: upstream.url }, operatorToken: 'op' })
    expect((await get(started, '/plimsoll/api/sessions', {})).status).toBe(401)
    expect((await get(started, '/plimsoll/api/sessions', key('a'))).status).toBe(200)
    // The clients' own token is not the operator's.
    const both = await testProxy({ upstreams: {}, operatorToken: 'op', token: 'clients' })
    expect((await get(both, '/metrics', { 'x-plimsoll-token': 'clients' })).status).toBe(401)
    expect((await get(both, '/metrics', { 'x-plimsoll-token': 'op' })).status).toBe(200)
  })

  it('read what was stored with their own key only', async () => {
    const started = await twoTenants()
    for (const [who, other] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      const own = await get(started, `/v1/retrieve/${started.handles[who]}`, key(who))
      expect([own.status, own.text.includes(SECRETS[who])]).toEqual([200, true])
      expect((await get(started, `/v1/retrieve/${started.handles[other]}`, key(who))).status).toBe(404)
    }
  })
})
