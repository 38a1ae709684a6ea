import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Usage } from '../../src/core/usage.ts'
import { openStore } from '../../src/drivers/open-store.ts'
import { createTokenizers } from '../../src/drivers/tokenizers/tokenizers.ts'
import { openProxy } from '../../src/cli/open-proxy.ts'
import { reportOf } from '../../src/engine/store-admin/session-report.ts'
import type { CallRows, SessionPage, SpendingPage } from '../../src/dashboard/page-types.ts'
import { startReferee } from '../../src/testing/referee/index.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { closeLater } from './upstream.ts'

const WINDOW = 16_000

interface Numbers {
  readonly calls: number
  readonly usage: Pick<Usage, 'input' | 'cacheRead' | 'cacheWrite' | 'output'>
  /** In whole cents of a cent, so that sums in another order are equal. */
  readonly cost: number
}

const numbers = (calls: number, { input, cacheRead, cacheWrite, output }: Usage, usd: number): Numbers => ({
  calls,
  usage: { input, cacheRead, cacheWrite, output },
  cost: Math.round(usd * 1e6),
})

/** The sum over `name{labels} value` lines of the metrics. */
function metric(text: string, name: string): number {
  const lines = text.split('\n').filter((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`))
  if (lines.length === 0) throw new Error(`There is no ${name}.`)
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

it('page, metrics, JSON and ledger agree on a session, to the token and the cent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-numbers-'))
  closeLater(async () => rmSync(folder, { recursive: true, force: true }))
  const store = `sqlite:${join(folder, 'store.db')}`
  // A real vocabulary, since what a line counts must not depend on the text that it stands in.
  const tokenizers = createTokenizers()
  expect(await tokenizers.load('o200k')).toBe(true)
  const vocabulary = tokenizers.get('o200k')!
  const referee = await startReferee({
    wire: 'anthropic-messages',
    window: WINDOW,
    cache: { minimumTokens: 1 },
    tokenizer: (text) => Math.ceil(vocabulary.count(text).tokens * 1.12),
  })
  const settings = { port: 0, drainMs: 500, store, window: WINDOW, upstreams: { anthropic: referee.url } }
  const running = await openProxy(settings, () => undefined)
  closeLater(async () => {
    await running.close()
    await referee.close()
  })
  const headers = {
    'content-type': 'application/json',
    'x-api-key': 'k',
    'anthropic-version': '2023-06-01',
    'x-plimsoll-session': 'run-1',
  }
  for (let steps = 1; steps <= 40; steps++) {
    const loop = toolLoop({ steps, resultLength: 1_500 })
    const [result] = loop.messages.at(-1)!.content as { cache_control?: object }[]
    result!.cache_control = { type: 'ephemeral' }
    const answer = await fetch(`${running.proxy.url}/anthropic/v1/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify(loop),
    })
    expect(answer.status, await answer.text()).toBe(200)
  }
  await expect.poll(() => running.plimsoll.ledger.sessions()[0]?.requests).toBe(40)
  const { tenant, session } = running.plimsoll.ledger.sessions()[0]!

  const ledger = running.plimsoll.ledger.totals({ tenant, session })
  const expected = numbers(ledger.calls, ledger.usage, ledger.costUsd)
  expect(expected).toMatchObject({ calls: 40 })
  expect(expected.usage.cacheRead).toBeGreaterThan(0)
  expect(expected.cost).toBeGreaterThan(0)

  const get = async (path: string): Promise<string> => (await fetch(`${running.proxy.url}${path}`)).text()
  const query = `tenant=${encodeURIComponent(tenant)}&session=${session}`
  const page = JSON.parse(await get(`/plimsoll/ui/session?${query}`)) as SessionPage
  const { rows } = JSON.parse(await get(`/plimsoll/ui/calls?${query}`)) as CallRows
  const calls = rows.toReversed()
  expect(numbers(page.calls, page.usage, page.cost!.value)).toEqual(expected)
  const byCall = calls.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0)
  expect(Math.round(byCall * 1e6)).toBe(expected.cost)
  expect(page.compactionList.length).toBeGreaterThan(0)
  // The history only grew, so that without compactions each prompt would have been larger than the one before.
  const originals = calls.map(({ whole }) => whole)
  expect(originals).toEqual(originals.toSorted((one, other) => one - other))
  // What the provider counted for the first request under a compaction is within the bound that decided about it.
  expect(page.compactionList.map(({ after }) => after.basis)).toEqual(page.compactionList.map(() => 'measured'))
  expect(
    calls.every(({ thresholds, limit = 0 }) => thresholds!.low < thresholds!.high && thresholds!.high <= limit),
  ).toBe(true)

  const { total } = JSON.parse(await get('/plimsoll/ui/spending')) as SpendingPage
  expect(numbers(total.calls, total.usage, total.costUsd)).toEqual(expected)

  const text = await get('/metrics')
  const kinds = (['input', 'cacheRead', 'cacheWrite', 'output'] as const).map((kind) => [
    kind,
    metric(text, `plimsoll_tokens_total{kind="${kind}"}`),
  ])
  expect(Object.fromEntries(kinds)).toEqual(expected.usage)
  expect(Math.round(metric(text, 'plimsoll_cost_usd_total') * 1e6)).toBe(expected.cost)
  expect(metric(text, 'plimsoll_epochs_total')).toBe(page.compactionList.length)

  // What `plimsoll sessions show --json` prints, from the store alone.
  const sessions = openStore(store)
  closeLater(() => sessions.close())
  const report = await reportOf(sessions, tenant, session)
  expect(numbers(report.calls, report.usage, report.cost!.value)).toEqual(expected)
  expect(report.epochs.map(({ id }) => id)).toEqual(page.compactionList.map(({ id }) => id))
  expect(report.removals.length).toBe(page.removals)
})
