import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { speakerOf, tenantOf, type Speaker } from '../../src/gateway/identity.ts'
import { json, MESSAGE, plainUpstream, post, testProxy } from './upstream.ts'

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
const body = (first: string, rest: object = {}): string =>
  JSON.stringify({ model: 'claude-opus-4-6', max_tokens: 64, messages: [{ role: 'user', content: first }], ...rest })

async function speaker(text: string, headers: Record<string, string> = {}): Promise<Speaker> {
  const conversation = anthropicMessages.decode(text)
  const found = await speakerOf({
    header: (name) => headers[name],
    fields: anthropicMessages.fields(conversation),
    items: conversation.items,
    hash,
    ownerOfResponse: () => Promise.resolve(undefined),
  })
  return 'base' in found ? found.speaker : found
}

describe('who is speaking', () => {
  it('is told by the header, then by what clients send, then by the conversation’s beginning', async () => {
    const own = { 'x-plimsoll-session': 'run 42/../x', 'x-plimsoll-agent': 'sub' }
    expect(await speaker(body('Hi'), own)).toEqual({ session: 'run 42/../x', agent: 'sub' })
    const claude = { metadata: { user_id: 'user_abc_account__session_8f14e45f-ceea-4672-a4ed-9a3d5ff4a2b1' } }
    expect((await speaker(body('Hi', claude))).session).toBe('claude-code-8f14e45f-ceea-4672-a4ed-9a3d5ff4a2b1')
    const newer = { metadata: { user_id: '{"device_id":"d","session_id":"8f14e45f-ceea-4672-a4ed-9a3d5ff4a2b1"}' } }
    expect((await speaker(body('Hi', newer))).session).toBe('claude-code-8f14e45f-ceea-4672-a4ed-9a3d5ff4a2b1')
    expect((await speaker(body('Hi'), { session_id: 'abc' })).session).toBe('session_id-abc')
    expect((await speaker(body('Hi', { prompt_cache_key: 'k1' }))).session).toBe('prompt_cache_key-k1')
    expect((await speaker(body('Hi', { conversation: { id: 'conv_1' } }))).session).toBe('conversation-conv_1')
    const plain = await speaker(body('Hi'))
    expect(plain.session).toMatch(/^chain-[0-9a-f]{16}$/)
    expect(await speaker(body('Hi', { system: 'x' }))).toEqual(plain)
    expect(await speaker(body('Ho'))).not.toEqual(plain)
  })

  it('keeps sub-agents of one session apart by their task, and reminders out of it', async () => {
    const metadata = { user_id: 'user_abc_account__session_8f14e45f-ceea-4672-a4ed-9a3d5ff4a2b1' }
    const main = await speaker(body('Fix the build.', { metadata }))
    const reminded = await speaker(
      JSON.stringify({
        model: 'm',
        max_tokens: 1,
        metadata,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: '<system-reminder>Today is Monday.</system-reminder>' },
              { type: 'text', text: 'Fix the build.' },
            ],
          },
        ],
      }),
    )
    const sub = await speaker(body('Search for the failing test.', { metadata }))
    expect(reminded).toEqual(main)
    expect(sub.session).toBe(main.session)
    expect(sub.agent).not.toBe(main.agent)
  })

  it('hashes names that are too long to be names', async () => {
    const { session } = await speaker(body('Hi'), { 'x-plimsoll-session': 'x'.repeat(5_000) })
    expect(session.length).toBeLessThan(100)
  })

  it('makes one tenant of one key, wherever it is written', () => {
    const secret = Buffer.from('secret')
    const of = (headers: Record<string, string>, path = '/') => tenantOf(secret, (name) => headers[name], path)
    expect(of({ 'x-api-key': 'k' })).toBe(of({ authorization: 'Bearer k' }))
    expect(of({ 'x-goog-api-key': 'k' })).toBe(of({}, '/v1beta/models?key=k'))
    expect(of({ 'x-api-key': 'k' })).not.toBe(of({ 'x-api-key': 'l' }))
    expect(of({ 'x-api-key': 'k' })).not.toContain('k'.repeat(2))
    expect(of({})).toBe('local')
  })

  it('takes an empty credential for none, and every credential that was sent for part of who it is', () => {
    const secret = Buffer.from('secret')
    const of = (headers: Record<string, string>, path = '/') => tenantOf(secret, (name) => headers[name], path)
    const [a, b] = [{ authorization: 'Bearer a' }, { authorization: 'Bearer b' }]
    expect(of({ 'x-api-key': '', ...a })).toBe(of(a))
    expect(of({ 'x-api-key': ' ', ...a })).not.toBe(of({ 'x-api-key': ' ', ...b }))
    const empties: Record<string, string>[] = [
      { authorization: 'Bearer ' },
      { authorization: 'Bearer' },
      { 'x-api-key': '' },
    ]
    for (const empty of empties) expect(of(empty)).toBe('local')
    // A gateway's dummy key must not make one tenant of everybody behind it.
    const dummies = ['x-api-key', 'api-key', 'x-goog-api-key', 'cookie'].map((name) => ({ [name]: 'dummy' }))
    for (const dummy of dummies) expect(of({ ...dummy, ...a })).not.toBe(of({ ...dummy, ...b }))
    expect(of(a, '/?key=dummy')).not.toBe(of(b, '/?key=dummy'))
    expect(of({ 'x-api-key': 'a', ...a })).toBe(of(a))
    expect(of({ 'x-api-key': 'a', 'api-key': 'b' })).not.toBe(of({ 'x-api-key': 'a', 'api-key': 'c' }))
  })

  it('keeps one tenant over renewed tokens where it is told to', () => {
    const secret = Buffer.from('secret')
    const of = (rule: string, headers: Record<string, string>) => tenantOf(secret, (name) => headers[name], '/', rule)
    expect(of('one', { authorization: 'Bearer t1' })).toBe(of('one', { authorization: 'Bearer t2' }))
    const byName = (team: string, token: string) => of('header:X-Team', { 'x-team': team, authorization: token })
    expect(byName('red', 't1')).toBe(byName('red', 't2'))
    expect(byName('red', 't1')).not.toBe(byName('blue', 't1'))
    // Nobody becomes a tenant by choosing a key, nor loses one by leaving the header out.
    expect(of('header:x-team', { authorization: 'red' })).not.toBe(byName('red', 't1'))
    expect(of('header:x-team', { authorization: 't1' })).not.toBe(of('header:x-team', { authorization: 't2' }))
  })

  it('hashes names that no database or header gives back', async () => {
    const names = await Promise.all(
      ['\ud800', 'a\0b', 'a\0c'].map(async (name) => (await speaker(body('Hi', { prompt_cache_key: name }))).session),
    )
    expect(new Set(names).size).toBe(3)
    for (const name of names) expect(name).toMatch(/^long-[0-9a-f]+$/)
    expect((await speaker(body('Hi'), { 'x-plimsoll-session': '' })).session).toMatch(/^chain-/)
  })
})

/** A history that only fits after an epoch, with one recent result that is too large to be shown whole. */
const long = JSON.stringify({
  model: 'claude-opus-4-6',
  max_tokens: 64,
  tools: [{ name: 'bash', input_schema: { type: 'object' } }],
  messages: [
    { role: 'user', content: 'Go' },
    ...Array.from({ length: 12 }, (_, i) => [
      { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${i}`, name: 'bash', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: `toolu_${i}`, content: `private ${i} `.repeat(i === 10 ? 9_000 : 300) },
        ],
      },
    ]).flat(),
  ],
})

describe('two tenants with the same conversation', () => {
  it('share nothing but the text that they both sent', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy, plimsoll } = await testProxy({ upstreams: { anthropic: upstream.url } }, { window: 8_000 })
    for (const key of ['sk-a', 'sk-b']) {
      expect((await post(`${proxy.url}/anthropic/v1/messages`, long, { 'x-api-key': key })).status).toBe(200)
    }
    const [a, b] = upstream.received.map((received) => received.body.toString())
    const handles = [a, b].map((text) => /art_[0-9a-z]{26}/.exec(text!)?.[0])
    expect(handles[0]).toBeDefined()
    expect(handles[0]).not.toBe(handles[1])
    const secret = Buffer.from('a secret that is long enough')
    const tenants = ['sk-a', 'sk-b'].map((key) => tenantOf(secret, (name) => (name === 'x-api-key' ? key : undefined)))
    expect(await plimsoll.artifacts.read(handles[0]!, { tenant: tenants[0]! })).toBeDefined()
    expect(await plimsoll.artifacts.read(handles[0]!, { tenant: tenants[1]! })).toBeUndefined()
  })
})

describe('modes', () => {
  it('observes without touching a byte, and leaves nothing behind that could be applied', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const observing = await testProxy({ upstreams: { anthropic: upstream.url } }, { window: 8_000, observe: true })
    const response = await post(`${observing.proxy.url}/anthropic/v1/messages`, long)
    expect(upstream.received[0]!.body.toString()).toBe(long)
    expect(response.headers.get('x-plimsoll-mode')).toBe('observe')
    expect(response.headers.get('x-plimsoll-would')).toContain('epoch')
    // Asked for by name, the policy applies after all, and begins from nothing.
    await post(`${observing.proxy.url}/anthropic/v1/messages`, long, { 'x-plimsoll-policy': 'plimsoll' })
    expect(upstream.received[1]!.body.length).toBeLessThan(long.length / 2)
    const applying = await testProxy({ upstreams: { anthropic: upstream.url } }, { window: 8_000 })
    await post(`${applying.proxy.url}/anthropic/v1/messages`, long, { 'x-plimsoll-policy': 'observe' })
    expect(upstream.received[2]!.body.toString()).toBe(long)
  })

  it('reports a used-up budget while it observes, and obeys it only when it applies', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const spent = { name: 'nothing left', scope: 'session', unit: 'tokens', hard: 1, finalShare: 0 } as const
    const { proxy, events } = await testProxy({ upstreams: { anthropic: upstream.url } }, { budgets: [spent] })
    const url = `${proxy.url}/anthropic/v1/messages`
    const observed = await post(url, long, { 'x-plimsoll-policy': 'observe' })
    expect(observed.headers.get('x-plimsoll-would')).toContain('halt')
    expect(await observed.text()).toBe(MESSAGE)
    expect(upstream.received.map(({ body }) => body.toString())).toEqual([long])
    expect(events.filter(({ type }) => type === 'warning')).toEqual([])
    expect((await post(url, long)).headers.get('x-plimsoll-verdict')).toBe('halt')
    expect(upstream.received).toHaveLength(1)
  })

  it('takes policies by the name that the configuration gave them, and forgets them with it', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const never = { ...policyNamed('plimsoll'), name: 'never', cascade: [] }
    const started = await testProxy({ upstreams: { anthropic: upstream.url } }, { policies: { never } })
    const url = `${started.proxy.url}/anthropic/v1/messages`
    expect((await post(url, long, { 'x-plimsoll-policy': 'never' })).status).toBe(200)
    started.plimsoll.reconfigure({})
    const response = await post(url, long, { 'x-plimsoll-policy': 'never' })
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'bad-config' } }])
  })

  it('says which policies there are when asked for another', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, long, { 'x-plimsoll-policy': 'nonsense' })
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'bad-config' } }])
    expect(upstream.received).toEqual([])
  })
})
