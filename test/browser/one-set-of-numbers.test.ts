import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openProxy } from '../../src/cli/open-proxy.ts'
import type { SessionList, SessionPage } from '../../src/dashboard/page-types.ts'
import { openArtifacts } from '../../src/drivers/open-artifacts.ts'
import { openStore } from '../../src/drivers/open-store.ts'
import type { SessionReport } from '../../src/engine/store-admin/session-report.ts'
import { REPLAY_SECRET, replaySession } from '../../src/lab/replay/replay.ts'
import { loadFile } from '../../src/lab/transcripts/load.ts'
import type { SessionFigures } from '../../src/meter/session/figures.ts'
import { figureList } from '../../src/meter/session/words.ts'
import { startReferee } from '../../src/testing/referee/index.ts'
import { BINARY, cleanEnvironment, FIXTURES, plimsoll, ROOT, temporaryHome } from '../cli/support/binary.ts'
import { closeLater } from '../gateway/upstream.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { openBrowser } from './browser.ts'

/*
 * One session under one policy and window has one limit, one number of compactions and one price, wherever it is looked at.
 */

const WINDOW = 32_000
const FILES = [
  join(ROOT, 'bench/sessions/entire-bb-781d6f3a8e-0.jsonl.gz'),
  ...[
    'claude-code.jsonl',
    'cline.json',
    'codex-rollout.jsonl',
    'copilot-cli.jsonl',
    'gemini-cli.json',
    'gemini-cli.jsonl',
    'openai-chat.json',
    'opencode.json',
    'openhands.json',
    'pi.jsonl',
    'swe-agent.traj',
  ].map((name) => join(FIXTURES, name)),
]

/** The shared figures, whatever else an answer holds: values and what they rest on. */
const shared = (from: SessionFigures): unknown => {
  const { calls, load, peak, sent, withoutPlimsoll, limit, window, compactions, leftOut, shortened } = from
  const { overflowsAvoided, usage, withoutUsage, cost, unpriced, saved, failed, recovered } = from
  const counts = {
    calls,
    limit,
    window,
    compactions,
    leftOut,
    shortened,
    overflowsAvoided,
    withoutUsage,
    unpriced,
    failed,
    recovered,
  }
  return JSON.parse(JSON.stringify({ ...counts, usage, load, peak, sent, withoutPlimsoll, cost, saved }))
}

/** A replay in a store of live sessions does not know that it is one: the same values, called measured. */
const values = (figures: unknown): unknown =>
  JSON.parse(JSON.stringify(figures, (key, value: unknown) => (key === 'basis' ? undefined : value)))
const plain = (rows: readonly (readonly [string, string])[]): readonly string[] =>
  rows.map(([name, text]) => `${name}: ${text.replaceAll('≈ ', '')}`)

let browser: Awaited<ReturnType<typeof openBrowser>>
let home: Awaited<ReturnType<typeof temporaryHome>>
beforeAll(async () => {
  browser = await openBrowser()
  home = await temporaryHome()
})
afterAll(async () => {
  await browser.close()
  await home.remove()
})

const figuresOn = (page: Page): Promise<string[]> =>
  page
    .locator('dl.figures')
    .first()
    .locator('.figure-box')
    .evaluateAll((boxes) =>
      boxes.map((box) => `${box.querySelector('dt')!.textContent}: ${box.querySelector('dd')!.textContent}`),
    )

it('twelve recordings: page, API, `sessions show`, `replay --json` and HTML show the same figures', async () => {
  const child = spawn(
    process.execPath,
    [BINARY, 'dashboard', ...FILES, '--window', String(WINDOW), '--port', '0', '--json'],
    { env: cleanEnvironment(home.path), stdio: ['ignore', 'pipe', 'inherit'] },
  )
  closeLater(async () => void child.kill())
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const { listening } = JSON.parse(line.toString()) as { listening: string }

  const html = join(home.path, 'replay.html')
  const args = ['replay', ...FILES, '--window', String(WINDOW)]
  const ran = await plimsoll(home.path, [...args, '--json', '--html', html])
  expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: '' })
  const replays = ran.out
    .trim()
    .split('\n')
    .map(
      (text) => JSON.parse(text) as { file: string; figures: SessionFigures; costUsd: number | null; epochs: number },
    )
  expect(replays.length).toBeGreaterThanOrEqual(12)
  expect(replays.some(({ figures }) => figures.compactions > 0 && figures.saved!.value !== 0)).toBe(true)

  const list = async (): Promise<SessionList> =>
    (await fetch(`${listening}plimsoll/ui/sessions`)).json() as Promise<SessionList>
  await expect
    .poll(
      async () => (await list()).rows.filter(({ figures }) => figures?.replay?.done === figures?.replay?.total).length,
      {
        timeout: 120_000,
      },
    )
    .toBe(replays.length)

  // Kept in a store, as a proxy would have.
  const folder = join(home.path, 'kept')
  const store = `sqlite:${folder}.db`
  const secret = REPLAY_SECRET
  const sessions = openStore(store)
  const artifacts = openArtifacts(`file:${folder}`, { secret })
  for (const file of FILES)
    for (const recording of (await loadFile(file, { resend: 'everything' })).recordings) {
      const session = basename(file)
      const options = { window: WINDOW, policy: 'plimsoll', clock: true } as const
      if (recording.calls.length > 0)
        await replaySession(recording, { ...options, into: { sessions, artifacts, session } })
    }
  await sessions.close()

  const page = await browser.context.newPage()
  const report = await browser.context.newPage()
  await report.goto(pathToFileURL(html).href)
  for (const [place, { file, figures, costUsd, epochs }] of replays.entries()) {
    const session = basename(file)
    const expected = shared(figures)
    expect([costUsd, epochs]).toEqual([figures.cost?.value ?? null, figures.compactions])

    const query = `tenant=local&session=${encodeURIComponent(session)}`
    const api = (await (await fetch(`${listening}plimsoll/ui/session?${query}`)).json()) as SessionPage
    expect(shared(api), session).toEqual(expected)
    expect(api.compactionList.length).toBe(figures.compactions)

    await page.goto(`${listening}#/session?${query}`)
    await page.locator('.title h2', { hasText: session }).waitFor()
    const rows = figureList(figures)
    await expect
      .poll(async () => (await figuresOn(page)).slice(0, rows.length))
      .toEqual(rows.map((row) => row.join(': ')))
    await page.getByText('replay under plimsoll, 32k').waitFor()

    const section = report.locator('section.report').nth(replays.length > 1 ? place + 1 : place)
    expect(await section.locator('h2').first().textContent()).toContain(session)
    const onPaper = await section
      .locator('dl.figures')
      .first()
      .locator('.figure-box')
      .evaluateAll((boxes) =>
        boxes.map((box) => `${box.querySelector('dt')!.textContent}: ${box.querySelector('dd')!.textContent}`),
      )
    expect(onPaper).toEqual(rows.map((row) => row.join(': ')))

    const shown = await plimsoll(home.path, ['sessions', 'show', session, '--store', store, '--json'])
    const kept = JSON.parse(shown.out) as SessionReport
    expect(values(shared(kept)), session).toEqual(values(expected))
    expect(kept.epochs.map(({ before, after, leftOut }) => [before.value, after.value, leftOut])).toEqual(
      api.compactionList.map(({ before, after, leftOut }) => [before.value, after.value, leftOut]),
    )
    const text = (await plimsoll(home.path, ['sessions', 'show', session, '--store', store])).out.replaceAll('≈ ', '')
    for (const row of plain(rows)) {
      const [name = '', value = ''] = row.split(': ')
      expect(text, session).toMatch(new RegExp(`^ *${name} +${value.replace(/[$.+()]/g, '\\$&')}$`, 'm'))
    }
  }
}, 300_000)

it('a live session: page, API, `sessions show` and the ledger show the same figures', async () => {
  const store = `sqlite:${join(home.path, 'live.db')}`
  const referee = await startReferee({ wire: 'anthropic-messages', window: 16_000, cache: { minimumTokens: 1 } })
  const running = await openProxy(
    { port: 0, drainMs: 500, store, window: 16_000, upstreams: { anthropic: referee.url } },
    () => undefined,
  )
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
    const body = JSON.stringify(toolLoop({ steps, resultLength: 1_500 }))
    const answer = await fetch(`${running.proxy.url}/anthropic/v1/messages`, { method: 'POST', headers, body })
    expect(answer.status, await answer.text()).toBe(200)
  }
  await expect.poll(() => running.plimsoll.ledger.totals().calls).toBe(40)
  const ledger = running.plimsoll.ledger.sessions()[0]!
  const { tenant } = ledger
  const query = `tenant=${encodeURIComponent(tenant)}&session=run-1`
  const ask = async (): Promise<SessionPage> =>
    (await (await fetch(`${running.pageUrl}plimsoll/ui/session?${query}`)).json()) as SessionPage
  await expect.poll(async () => (await ask()).calls).toBe(40)
  const api = await ask()
  expect(api.compactions).toBeGreaterThan(0)
  expect(api.peak.basis).toBe('measured')
  expect({ usage: api.usage, costUsd: api.cost!.value, epochs: api.compactions }).toEqual({
    usage: ledger.usage,
    costUsd: expect.closeTo(ledger.costUsd!, 9) as unknown,
    epochs: ledger.epochs,
  })
  const shown = await plimsoll(home.path, ['sessions', 'show', 'run-1', '--store', store, '--json'])
  expect(shared(JSON.parse(shown.out) as SessionReport)).toEqual(shared(api))
  const page = await browser.context.newPage()
  await page.goto(`${running.pageUrl}#/session?${query}`)
  await page.locator('.title h2', { hasText: 'run-1' }).waitFor()
  expect((await figuresOn(page)).slice(0, figureList(api).length)).toEqual(figureList(api).map((row) => row.join(': ')))
}, 120_000)
