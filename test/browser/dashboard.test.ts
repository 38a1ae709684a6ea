import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { ConsoleMessage, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openProxy, type OpenProxy, type ProxySettings } from '../../src/cli/open-proxy.ts'
import { call, type FaultPlan, say, startReferee, type Script } from '../../src/testing/referee/index.ts'
import type { Series } from '../../src/dashboard/page-types.ts'
import { BINARY, cleanEnvironment, FIXTURES, plimsoll, temporaryHome } from '../cli/support/binary.ts'
import { closeLater } from '../gateway/upstream.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { openBrowser } from './browser.ts'

/*
 * The page in a real browser, in front of a real proxy with a referee behind it. `npm run build` makes the page.
 */

const WINDOW = 16_000
const XSS = [
  '<img src=x onerror="window.stolen=1">',
  '<script>window.stolen=1</script>',
  '"><svg onload=window.stolen=1>',
  'javascript:window.stolen=1',
  '${window.stolen=1}{{constructor.constructor("window.stolen=1")()}}',
]

let browser: Awaited<ReturnType<typeof openBrowser>>
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

interface Stage {
  readonly page: Page
  readonly running: OpenProxy
  readonly referee: Awaited<ReturnType<typeof startReferee>>
  /** What the browser complained about. */
  readonly complaints: string[]
  send(body: object, session?: string): Promise<Response>
}

interface StageSettings {
  readonly width?: number
  readonly dark?: boolean
  readonly url?: (running: OpenProxy) => string
  readonly script?: Script
  readonly faults?: FaultPlan
  readonly usage?: 'off'
  /** Before the page is opened. */
  readonly prepare?: (page: Page) => Promise<unknown>
  /** In place of a window that the user has set. */
  readonly proxy?: Partial<ProxySettings>
}

async function stage(settings: StageSettings = {}): Promise<Stage> {
  const referee = await startReferee({
    wire: 'anthropic-messages',
    window: WINDOW,
    cache: { minimumTokens: 1 },
    faults: settings.faults,
    usage: settings.usage,
    ...(settings.script !== undefined && { script: settings.script }),
  })
  const running = await openProxy(
    {
      port: 0,
      drainMs: 500,
      store: 'memory:',
      upstreams: { anthropic: referee.url },
      ...(settings.proxy ?? { window: WINDOW }),
    },
    () => undefined,
    { connect: (url) => [{ name: 'ANTHROPIC_BASE_URL', value: `${url}/anthropic` }] },
  )
  const page = await browser.context.newPage()
  const complaints: string[] = []
  page.on('console', (message: ConsoleMessage) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.setViewportSize({ width: settings.width ?? 1280, height: 900 })
  await page.emulateMedia({ colorScheme: settings.dark === true ? 'dark' : 'light' })
  closeLater(async () => {
    await page.close()
    await running.close()
    await referee.close()
  })
  await settings.prepare?.(page)
  await page.goto(settings.url?.(running) ?? running.pageUrl)
  const send = async (body: object, session = 'run-1'): Promise<Response> => {
    const response = await fetch(`${running.proxy.url}/anthropic/v1/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'k',
        'anthropic-version': '2023-06-01',
        'x-plimsoll-session': session,
      },
      body: JSON.stringify(body),
    })
    expect(response.status, await response.clone().text()).toBe(200)
    await response.text()
    return response
  }
  return { page, running, referee, complaints, send }
}

/** Tool steps until the proxy has compacted at least once. */
async function untilCompacted({ send }: Stage): Promise<number> {
  for (let steps = 2; steps < 60; steps += 2) {
    const { headers } = await send(toolLoop({ steps, resultLength: 2_000 }))
    if (headers.get('x-plimsoll-epoch') !== null) return steps
  }
  throw new Error('No compaction in sixty steps.')
}

async function axe(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  const found = await page.evaluate(async () => {
    const { axe: tool } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> }
    }
    return (await tool.run()).violations
  })
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)
}

const TABS = ['load', 'request', 'compactions', 'calls', 'hidden', 'audit']

/** Kept where CI looks for what a run leaves behind. */
const PICTURES = process.env['PLIMSOLL_SCREENSHOTS']
const keep = async (page: Page, name: string): Promise<void> => {
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`) })
}

const isTooWide = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)

describe('the dashboard', () => {
  it('says how to connect an agent, then shows a session while it grows', async () => {
    const { page, send, complaints, running } = await stage()
    await page.getByText(`export ANTHROPIC_BASE_URL=${running.proxy.url}/anthropic`).waitFor()
    await send(toolLoop({ steps: 1 }))
    const row = page.getByRole('link', { name: /run-1/ })
    await row.waitFor()
    await row.getByText('1', { exact: true }).first().waitFor()
    await send(toolLoop({ steps: 2 }))
    await row.locator('[data-name="calls"]').filter({ hasText: '2' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('runs the demo session from the first visit', async () => {
    const { page, complaints } = await stage()
    await page.getByRole('button', { name: 'Run the demo session' }).click()
    await page
      .locator('[data-name="calls"]')
      .filter({ hasText: /^([5-9]|\d\d)$/ })
      .waitFor()
    expect(complaints).toEqual([])
  })

  it('shows a compaction with the record that the model reads, and undoes it', async () => {
    const all = await stage()
    const { page, send, referee, complaints } = all
    const steps = await untilCompacted(all)
    const compacted = JSON.parse(Buffer.from(referee.log.at(-1)!.raw).toString()) as { messages: unknown[] }
    await page.getByRole('link', { name: /run-1/ }).click()
    for (const line of ['limit', 'compaction starts', 'compaction aims at'])
      await page.locator('.legend-line .entry', { hasText: line }).first().waitFor()
    await page.getByRole('link', { name: 'Compactions' }).click()
    await page.getByText('What the model reads instead').waitFor()
    await page.getByText('in force').waitFor()
    await page.getByRole('region', { name: 'Receipt' }).waitFor()
    await page.getByText('Price of the prompt').waitFor()
    const record = await page.locator('.text pre').first().textContent()
    expect(JSON.stringify(compacted.messages)).toContain(JSON.stringify(record!.trim().split('\n')[0]).slice(1, -1))
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.locator('.badge', { hasText: 'undone' }).waitFor()
    // Two steps are short enough to fit without any compaction.
    const short = toolLoop({ steps: 2, resultLength: 2_000 })
    await send(short)
    const sent = JSON.parse(Buffer.from(referee.log.at(-1)!.raw).toString()) as { messages: unknown[] }
    expect(sent.messages.slice(0, steps)).toEqual(short.messages)
    expect(complaints).toEqual([])
  })

  it('replays a recorded session under two policies, and says which one nobody knows', async () => {
    const home = await temporaryHome()
    const recorded = join(FIXTURES, 'claude-code.jsonl')
    const child = spawn(process.execPath, [BINARY, 'dashboard', recorded, '--port', '0', '--json'], {
      env: cleanEnvironment(home.path),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const page = await browser.context.newPage()
    closeLater(async () => {
      await page.close()
      child.kill()
      await home.remove()
    })
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const { listening } = JSON.parse(line.toString()) as { listening: string }
    await page.goto(`${listening}#/compare`)
    await page.getByLabel('Policy of the second').selectOption('autosre')
    await page.getByLabel('Window of the second, in tokens').fill('16000')
    await page.getByRole('button', { name: 'Compare' }).click()
    const rows = page.getByRole('region', { name: 'By policy and window' }).locator('tbody tr')
    await expect
      .poll(() => rows.allInnerTexts())
      .toEqual([expect.stringMatching(/^plimsoll\s+64,000/), expect.stringMatching(/^autosre\s+16,000/)])
    expect(await axe(page)).toEqual([])
    await page
      .getByLabel('Policy of the first')
      .evaluate((select) => select.append(new Option('nonsense', 'nonsense', true, true)))
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByText('There is no policy "nonsense"').waitFor()
  })

  it('shows an artifact, and the commands that search and query it', async () => {
    const { page, running, complaints, send } = await stage()
    await send(toolLoop({ steps: 1 }))
    const { tenant } = running.plimsoll.ledger.sessions()[0]!
    const session = running.plimsoll.session({ id: 'run-1', tenant })
    const orders = Array.from({ length: 2_000 }, (_, id) => ({ id, state: id % 7 === 0 ? 'failed' : 'paid' }))
    const { artifact } = await session.toolResult({ tool: 'orders', callId: 'c1', output: JSON.stringify(orders) })
    await page.goto(`${running.pageUrl}#/artifacts?tenant=${encodeURIComponent(tenant)}&handle=${artifact}`)
    await page.getByText('"state":"failed"').waitFor()
    await page.getByText(`plimsoll artifacts query ${artifact}`).waitFor()
    expect(complaints).toEqual([])
  })

  it('misses nothing that happened before it could listen, nor what was written late', async () => {
    let listen = (): void => undefined
    const listens = new Promise<void>((resolve) => {
      listen = resolve
    })
    const { page, send } = await stage({
      prepare: (page) =>
        page.route('**/plimsoll/events*', async (route) => {
          await listens
          await route.continue()
        }),
    })
    await page.getByText('export ANTHROPIC_BASE_URL').waitFor()
    await send(toolLoop({ steps: 1 }))
    listen()
    const calls = page.getByRole('link', { name: /run-1/ }).locator('[data-name="calls"]')
    await calls.filter({ hasText: '1' }).waitFor()
    // The first look after the next call finds the list as it was.
    const before = await page.evaluate(async () => (await fetch('plimsoll/ui/sessions?q=')).text())
    let looks = 0
    await page.route('**/plimsoll/ui/sessions?*', (route) =>
      looks++ === 0 ? route.fulfill({ contentType: 'application/json', body: before }) : route.continue(),
    )
    await send(toolLoop({ steps: 2 }))
    await calls.filter({ hasText: '2' }).waitFor()
  })

  it('goes where the address says, also when it changes while the page is drawn for the first time', async () => {
    const { page } = await stage({
      prepare: (page) =>
        page.addInitScript(() => {
          const drawn = new MutationObserver(() => {
            if (document.querySelector('header.top') === null) return
            drawn.disconnect()
            location.hash = '#/policy'
          })
          drawn.observe(document, { childList: true, subtree: true })
        }),
    })
    await page.getByRole('link', { name: 'policy' }).and(page.locator('[aria-current="page"]')).waitFor()
  })

  it('asks again for a session that is not written yet', async () => {
    const { page, send, running } = await stage()
    await send(toolLoop({ steps: 1 }))
    const { tenant, session } = running.plimsoll.ledger.sessions()[0]!
    let asked = 0
    await page.route('**/plimsoll/ui/session?*', (route) =>
      asked++ === 0 ? route.fulfill({ status: 404, contentType: 'application/json', body: '{}' }) : route.continue(),
    )
    await page.goto(
      `${running.pageUrl}#/session?tenant=${encodeURIComponent(tenant)}&session=${encodeURIComponent(session)}`,
    )
    await page.locator('.figures').waitFor()
    expect(asked).toBeGreaterThan(1)
  })

  it('keeps what models and tools wrote as text', async () => {
    const { page, send, complaints, running } = await stage()
    const loop = toolLoop({ steps: 1, task: XSS.join('\n') })
    const results = loop.messages[2] as { content: { content: string }[] }
    results.content[0]!.content = XSS.join('\n')
    await send(loop, `run <b>1</b> ${XSS[0]!.slice(0, 20)}`)
    const { tenant, session } = running.plimsoll.ledger.sessions()[0]!
    const query = `tenant=${encodeURIComponent(tenant)}&session=${encodeURIComponent(session)}`
    for (const tab of TABS) {
      await page.goto(`${running.pageUrl}#/session?${query}&tab=${tab}`)
      await page.locator('.figures').waitFor()
    }
    await page.goto(`${running.pageUrl}#/session?${query}&tab=request`)
    await page.getByText(XSS[1]!).first().waitFor()
    expect(await page.evaluate(() => 'stolen' in window)).toBe(false)
    expect(await page.locator('main img, main script, main svg').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('gives other origins and other names nothing', async () => {
    const { page, running, send } = await stage()
    await send(toolLoop({ steps: 1 }))
    const { port } = new URL(running.proxy.url)
    const tryAt = (url: string): Promise<number> =>
      page.evaluate(async (target) => (await fetch(target).catch(() => ({ status: 0 }))).status, url)
    await page.route('http://attacker.example:*/page', (route) =>
      route.fulfill({ contentType: 'text/html', body: 'x' }),
    )
    await page.goto(`http://attacker.example:${port}/page`)
    expect(await tryAt('/plimsoll/ui/sessions')).toBe(403)
    expect(await tryAt(`${running.proxy.url}/plimsoll/ui/sessions`)).not.toBe(200)
    expect(await tryAt(`${running.pageUrl}plimsoll/ui/sessions`)).not.toBe(200)
  })

  it('asks for the token when there are several tenants', async () => {
    const { page, running, send } = await stage({ url: ({ proxy }) => `${proxy.url}/` })
    await send(toolLoop({ steps: 1 }))
    await page.getByRole('link', { name: /run-1/ }).waitFor()
    const other = await fetch(`${running.proxy.url}/anthropic/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'another', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(toolLoop({ steps: 1 })),
    })
    await other.text()
    await page.reload()
    await page.getByLabel(/Token/).waitFor()
    await page.getByLabel(/Token/).fill(running.pageUrl.split('/t/')[1]!.slice(0, -1))
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('link', { name: /run-1/ }).waitFor()
  })

  it.each([
    { name: 'light', width: 1280, dark: false },
    { name: 'dark, 375 px wide', width: 375, dark: true },
  ])('can be read and used by everybody: $name', async ({ width, dark }) => {
    const all = await stage({ width, dark })
    const { page, running, complaints } = all
    await untilCompacted(all)
    await page.getByRole('link', { name: /run-1/ }).waitFor()
    const { tenant, session } = running.plimsoll.ledger.sessions()[0]!
    const query = `tenant=${encodeURIComponent(tenant)}&session=${session}`
    const places = [
      'sessions',
      ...TABS.map((tab) => `session?${query}&tab=${tab}`),
      `artifacts?tenant=${encodeURIComponent(tenant)}`,
      'spending',
      'meter',
      'policy',
      'compare',
    ]
    for (const place of places) {
      await page.goto(`${running.pageUrl}#/${place}`)
      await page.locator('.card, .rows, .figures').first().waitFor()
      expect(await axe(page), place).toEqual([])
      expect(await isTooWide(page), `${place} is too wide`).toBe(false)
      await keep(page, `${width}-${place.replace(/\?.*tab=/, '-').replace(/\?.*/, '')}`)
    }
    expect(complaints).toEqual([])
  })

  it('shows budgets, and forgets a learned window', async () => {
    const budgets = [
      { scope: 'session' as const, usd: 5 },
      { scope: 'day' as const, tokens: 2_000_000 },
    ]
    // Without a window of the user's: the server's refusal tells it.
    const { page, running, complaints, send } = await stage({ proxy: { budgets } })
    await send(toolLoop({ steps: 24, resultLength: 6_000 }))
    const [learned] = await running.plimsoll.limits.list()
    expect(learned).toMatchObject({ window: WINDOW, from: 'refusal' })
    await page.getByText('1 overflow recovered').waitFor()
    await page.goto(`${running.pageUrl}#/spending`)
    await page.getByText(/usd per session \(run-1\): \$0\.\d+ of \$5\.00/).waitFor()
    await page.getByText(/tokens per day: [\d,]+ of 2,000,000 tokens/).waitFor()
    // Without a reload.
    const { calls } = running.plimsoll.ledger.totals()
    await send(toolLoop({ steps: 25, resultLength: 6_000 }))
    expect(running.plimsoll.ledger.totals().calls).toBeGreaterThan(calls)
    await page
      .locator('.figures div', { hasText: 'calls' })
      .getByText(String(running.plimsoll.ledger.totals().calls))
      .waitFor()
    await page.goto(`${running.pageUrl}#/meter`)
    await page.getByText(WINDOW.toLocaleString('en-US')).waitFor()
    await page.getByRole('button', { name: 'Forget' }).click()
    await page.getByText('No endpoint has refused a request for its size.').waitFor()
    expect(await running.plimsoll.limits.list()).toEqual([])
    expect(complaints).toEqual([])
  })

  it('shows what the model asked tools of ours, which its client never saw', async () => {
    const script: Script = ({ number }) => (number === 1 ? call('recall', { query: 'value_1_400' }) : say('Found it.'))
    const { page, running, complaints, send } = await stage({ script })
    const answer = await send(toolLoop({ steps: 1, resultLength: 60_000 }))
    expect(answer.status).toBe(200)
    const { tenant, session } = running.plimsoll.ledger.sessions()[0]!
    await page.goto(`${running.pageUrl}#/session?tenant=${encodeURIComponent(tenant)}&session=${session}&tab=hidden`)
    await page.getByText('1 call', { exact: true }).waitFor()
    await page.getByRole('heading', { name: /^recall/ }).waitFor()
    await page.locator('.hidden-steps pre', { hasText: 'const value_1_400' }).waitFor()
    expect(complaints).toEqual([])
  })

  const at = ({ running }: Stage, tab: string, name?: string): string => {
    const { tenant, session } = running.plimsoll.ledger.sessions()[0]!
    return `${running.pageUrl}#/session?${new URLSearchParams({ tenant, session: name ?? session, tab }).toString()}`
  }
  const post = ({ running }: Stage, body: object): Promise<Response> =>
    fetch(`${running.proxy.url}/anthropic/v1/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'k',
        'anthropic-version': '2023-06-01',
        'x-plimsoll-session': 'run-1',
      },
      body: JSON.stringify(body),
    })

  it('calls an unknown price unknown, and says that a budget in dollars cannot apply', async () => {
    const on = await stage({ proxy: { window: WINDOW, budgets: [{ scope: 'session', usd: 5 }] } })
    await on.send({ ...toolLoop({ steps: 1 }), model: 'nobody-knows-1' })
    await on.page.goto(at(on, 'load'))
    await on.page.locator('.figure-box', { hasText: /^cost\s*unknown$/ }).waitFor()
    await on.page.locator('.badge', { hasText: 'price unknown' }).waitFor()
    await on.page.goto(`${on.running.pageUrl}#/spending`)
    await on.page.getByText('A budget in dollars cannot apply to calls of nobody-knows-1').waitFor()
    expect(await on.page.locator('td', { hasText: '$0.00' }).count()).toBe(0)
  })

  it('shows failed calls, recovered overflows and what they taught, and why a session was halted', async () => {
    const faults: FaultPlan = [
      { on: 2, fault: { kind: 'throttle' } },
      { on: 3, fault: { kind: 'server-error', status: 500 } },
    ]
    const on = await stage({ faults, proxy: { budgets: [{ scope: 'session', tokens: 100_000 }] } })
    await on.send(toolLoop({ steps: 1 }))
    for (const status of [429, 500]) {
      const failed = await post(on, toolLoop({ steps: 2 }))
      expect(failed.status).toBe(status)
      await failed.text()
    }
    await on.send(toolLoop({ steps: 24, resultLength: 6_000 }))
    let text = ''
    for (let asked = 0; asked < 15 && !text.includes('Plimsoll stopped'); asked++)
      text = await (await post(on, toolLoop({ steps: 24, resultLength: 6_000 }))).text()
    // One full stop, and numbers that add up.
    const said = (JSON.parse(text) as { content: { text: string }[] }).content[0]!.text
    expect(said).toMatch(
      /allows 100,000 tokens: [\d,]+ tokens are spent or held, 10,000 tokens are kept for a closing answer/,
    )
    expect(said).not.toContain('..')
    const [allowed, used, kept, more] = [...said.matchAll(/([\d,]+) tokens/g)].map(([, number]) =>
      Number(number!.replaceAll(',', '')),
    )
    expect(used! + kept! + more!).toBeGreaterThan(allowed!)
    await on.page.goto(at(on, 'audit'))
    await on.page.locator('.problem', { hasText: 'Halted' }).getByText('are kept for a closing answer').waitFor()
    const troubles = on.page.getByRole('region', { name: 'Troubles' })
    for (const row of ['answered 429', 'answered 500', /window of 16,000 tokens/, 'are kept for a closing answer'])
      await troubles.getByText(row).first().waitFor()
    await on.page.goto(`${on.running.pageUrl}#/sessions?filter=halted`)
    await on.page.getByRole('link', { name: /run-1.*halted.*2 failed calls.*1 overflow recovered/ }).waitFor()
  })

  it('lists every removal, as many as the compactions say', async () => {
    const on = await stage()
    await untilCompacted(on)
    await on.page.goto(at(on, 'audit'))
    const count = on.page.locator('.figure-box', { hasText: /^left out/ }).locator('dd')
    await expect.poll(() => count.textContent()).toMatch(/^[1-9]\d* items$/)
    const leftOut = Number.parseInt((await count.textContent())!)
    const rows = on.page.getByRole('region', { name: 'Audit trail' }).locator('tbody tr')
    await expect.poll(() => rows.filter({ hasText: 'left out:' }).count()).toBe(leftOut)
    await on.page.goto(at(on, 'compactions'))
    await on.page.locator('.card .figure-box', { hasText: new RegExp(`^left out\\s*${leftOut} items`) }).waitFor()
  })

  it('never mixes counts with upper bounds where no usage is reported', async () => {
    const on = await stage({ usage: 'off' })
    await untilCompacted(on)
    const { tenant, session } = on.running.plimsoll.ledger.sessions()[0]!
    const query = new URLSearchParams({ tenant, session }).toString()
    const series = (await (await fetch(`${on.running.pageUrl}plimsoll/ui/series?${query}`)).json()) as Series
    expect(series.measured).not.toContain(true)
    const steps = series.whole.slice(1).map((whole, place) => whole - series.whole[place]!)
    // Two tool steps a call, and each is as long as the one before.
    expect(Math.max(...steps)).toBeLessThan(2 * Math.min(...steps))
  })

  it('shows no figures of one session under the title of another, nor of one that does not exist', async () => {
    const on = await stage()
    await on.send(toolLoop({ steps: 1 }))
    await on.page.goto(at(on, 'load'))
    await on.page.locator('.figures').waitFor()
    let answer = (): void => undefined
    const held = new Promise<void>((resolve) => (answer = resolve))
    await on.page.route('**/plimsoll/ui/session?*session=nobody*', async (route) => {
      await held
      await route.continue()
    })
    await on.page.goto(at(on, 'load', 'nobody'))
    await on.page.locator('.title h2', { hasText: 'nobody' }).waitFor()
    expect(await on.page.locator('.figures').count()).toBe(0)
    answer()
    await on.page.getByText('There is no session "nobody"').waitFor()
    expect(await on.page.locator('.figures').count()).toBe(0)
  })

  it('notices in ten seconds that a server does not answer', async () => {
    const home = await temporaryHome()
    const args = [
      BINARY,
      'dashboard',
      join(FIXTURES, 'claude-code.jsonl'),
      join(FIXTURES, 'README.md'),
      '--port',
      '0',
      '--json',
    ]
    const child = spawn(process.execPath, args, {
      env: cleanEnvironment(home.path),
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const page = await browser.context.newPage()
    closeLater(async () => {
      await page.close()
      child.kill('SIGKILL')
      await home.remove()
    })
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const { listening } = JSON.parse(line.toString()) as { listening: string }
    await page.clock.install()
    await page.goto(listening)
    await page.getByText('recorded files').waitFor()
    // What could not be read is said where the rest is shown.
    await page.getByText('1 file could not be read').waitFor()
    const { port } = new URL(listening)
    const second = await plimsoll(home.path, ['dashboard', join(FIXTURES, 'claude-code.jsonl'), '--port', port])
    expect(second).toMatchObject({
      code: 2,
      err: expect.stringMatching(/the port is in use.*choose another --port/) as unknown,
    })
    // A recording is no live session.
    await page.getByRole('link', { name: /claude-code.jsonl/ }).click()
    await page.getByText('replay under plimsoll, 200k').waitFor()
    await page.getByRole('link', { name: 'Compactions' }).click()
    await page.getByText('No compaction yet').waitFor()
    expect(await page.getByRole('button', { name: /Compact|Fork|Undo/ }).count()).toBe(0)
    await page.goto(`${listening}#/policy`)
    await page.getByRole('row', { name: /^window 200000 default/ }).waitFor()
    child.kill('SIGSTOP')
    await page.clock.runFor(10_500)
    await page.getByText('not answering').waitFor()
    expect(await page.getByText('recorded files').count()).toBe(0)
  })

  it('works without a mouse', async () => {
    const { page, send, running } = await stage()
    await send(toolLoop({ steps: 1 }))
    // Rows that are drawn anew while somebody walks through them would take the focus along: first let all be there.
    const row = page.getByRole('link', { name: /run-1/ })
    await row.locator('[data-name="calls"]').filter({ hasText: '1' }).waitFor()
    const focused = (): Promise<string> =>
      page.evaluate(() => (document.activeElement?.tagName === 'A' ? (document.activeElement.textContent ?? '') : ''))
    for (let presses = 0; presses < 60 && !(await focused()).includes('run-1'); presses++)
      await page.keyboard.press('Tab')
    expect(await focused()).toContain('run-1')
    // News must not move it.
    await send(toolLoop({ steps: 2 }))
    await row.locator('[data-name="calls"]').filter({ hasText: '2' }).waitFor()
    expect(await focused()).toContain('run-1')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Tokens per call' }).waitFor()
    expect(page.url()).toContain(running.proxy.url)
  })
})
