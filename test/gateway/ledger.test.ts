import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, describe, expect, it } from 'vitest'
import { addProxyOptions, settingsOf, type ProxyFlags } from '../../src/cli/proxy-options.ts'
import { budgetsOf } from '../../src/settings/index.ts'
import { json, MESSAGE, ODD_BODY, plainUpstream, post, testProxy } from './upstream.ts'

const folder = mkdtempSync(join(tmpdir(), 'plimsoll-ledger-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('GET /plimsoll/api/ledger', () => {
  it('tells what was spent, by agent, session, key and tenant, from the same book as sessions and metrics', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy, events } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const ask = (session: string, agent: string): Promise<Response> =>
      post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY, {
        'x-plimsoll-session': session,
        'x-plimsoll-agent': agent,
      })
    for (const [session, agent] of [
      ['a', 'main'],
      ['a', 'child'],
      ['b', 'main'],
    ] as const)
      await (await ask(session, agent)).text()
    await expect.poll(() => events.filter(({ type }) => type === 'usage-recorded').length).toBe(3)
    const get = async (path: string): Promise<Record<string, unknown>> =>
      (await (await fetch(proxy.url + path)).json()) as Record<string, unknown>
    const perCall = (12 * 3 + 3 * 15) / 1_000_000
    expect(await get('/plimsoll/api/ledger?session=a&by=agent&calls')).toMatchObject({
      totals: { calls: 2, usage: { input: 24, output: 6 }, costUsd: expect.closeTo(2 * perCall, 12) },
      by: 'agent',
      rows: [
        { name: 'main', calls: 1 },
        { name: 'child', calls: 1 },
      ],
      calls: [
        { model: 'claude-sonnet-4-5', purpose: 'turn', spender: { agent: 'child' } },
        { spender: { agent: 'main' } },
      ],
    })
    const { rows } = await get('/plimsoll/api/ledger?by=key')
    expect(rows).toMatchObject([{ calls: 3, costUsd: expect.closeTo(3 * perCall, 12) }])
    expect((await fetch(`${proxy.url}/plimsoll/api/ledger?by=colour`)).status).toBe(400)
    const { sessions } = (await get('/plimsoll/api/sessions/a')) as { sessions: { costUsd: number }[] }
    expect(sessions[0]!.costUsd).toBeCloseTo(2 * perCall, 12)
    const metrics = await (await fetch(`${proxy.url}/metrics`)).text()
    expect(Number(/^plimsoll_cost_usd_total (\S+)/m.exec(metrics)?.[1])).toBeCloseTo(3 * perCall, 12)
  })
})

describe('budgets of a proxy', () => {
  const parse = (...args: string[]): ProxyFlags =>
    addProxyOptions(new Command('proxy').exitOverride().configureOutput({ writeErr: () => {} }))
      .parse(args, { from: 'user' })
      .opts<ProxyFlags>()

  it('come from flags, per day unless they say otherwise', () => {
    const { budgets = [] } = settingsOf(
      parse('--budget-usd', '20', '--budget-usd', '0.5/session', '--budget-tokens', '2M/key'),
    )
    expect(budgetsOf(budgets)).toEqual([
      { name: 'usd per day', scope: 'day', unit: 'usd', hard: 20 },
      { name: 'usd per session', scope: 'session', unit: 'usd', hard: 0.5 },
      { name: 'tokens per key', scope: 'key', unit: 'tokens', hard: 2_000_000 },
    ])
    expect(() => parse('--budget-usd', '20/galaxy')).toThrow(/call, session, agent, key, tenant or day/)
    expect(() => parse('--budget-usd', 'much')).toThrow(/dollars/)
  })

  it('come from the file, with models of its own beside them; flags win', () => {
    const config = join(folder, 'plimsoll.yaml')
    writeFileSync(
      config,
      'budgets:\n  - { scope: session, usd: 0.50, warn: 80%, closing: 20% }\nmodels:\n  our-model:\n    window: 64k\n    price: { input: 1, output: 2 }\n',
    )
    const { budgets = [], models } = settingsOf(parse('--config', config))
    expect(budgetsOf(budgets)).toEqual([
      { name: 'usd per session', scope: 'session', unit: 'usd', hard: 0.5, soft: 0.4, finalShare: 0.2 },
    ])
    expect(models).toEqual({ 'our-model': { window: 64_000, price: { input: 1, output: 2 } } })
    expect(settingsOf(parse('--config', config, '--budget-usd', '3')).budgets).toEqual([{ scope: 'day', usd: 3 }])
    expect(() => budgetsOf([{ name: 'both', usd: 1, tokens: 1 }])).toThrow(/usd or in tokens/)
    expect(() => budgetsOf([{ scope: 'day' }])).toThrow(/needs an amount/)
  })
})
