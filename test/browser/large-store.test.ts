import { afterAll, beforeAll, expect, it } from 'vitest'
import { RECORD_VERSION } from '../../src/core/records.ts'
import { largeStore } from '../support/large-store.ts'
import { servedDashboard } from '../support/served-dashboard.ts'
import { openBrowser } from './browser.ts'

/*
 * What a page holds and fetches must not grow with the store or with time. How long it takes is a matter of the machine:
 * `npm run bench:dashboard` prints that.
 */

const SESSIONS = 1_000
const CALLS = 200

let browser: Awaited<ReturnType<typeof openBrowser>>
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

it(`shows ${SESSIONS} sessions of ${CALLS} calls by what is in view, and an hour of events in bounded memory`, async () => {
  const sessions = await largeStore({ sessions: SESSIONS, calls: CALLS })
  const served = await servedDashboard(sessions)
  const page = await browser.context.newPage()
  try {
    let fetched = 0
    page.on('response', (response) => {
      if (!response.url().includes('/ui/')) return
      void response.body().then(
        (body) => (fetched += body.length),
        () => undefined,
      )
    })
    await page.goto(served.url)
    const rows = page.locator('.session-row')
    await rows
      .first()
      .locator('[data-name="calls"]', { hasText: String(CALLS) })
      .waitFor()
    await page.getByText(`${SESSIONS.toLocaleString('en-US')} sessions`).waitFor()
    expect(await rows.count()).toBeLessThan(80)
    // The list, by name and age, and the figures of what is in view: not the logs, which are hundreds of times as much.
    expect(fetched).toBeLessThan(500_000)

    await rows.first().click()
    await page.locator('.uplot canvas').first().waitFor()
    expect(fetched).toBeLessThan(1_000_000)

    await page.goto(`${served.url}/#/sessions`)
    await rows.first().waitFor()
    const client = await page.context().newCDPSession(page)
    await client.send('Performance.enable')
    const held = async (): Promise<{ nodes: number; heap: number }> => {
      await client.send('HeapProfiler.collectGarbage')
      const { metrics } = await client.send('Performance.getMetrics')
      const of = (name: string): number => metrics.find((metric) => metric.name === name)!.value
      return { nodes: of('Nodes'), heap: of('JSHeapUsedSize') }
    }
    const before = await held()
    // An hour of ten events a second, one of ten of which ends a call.
    for (let event = 1; event <= 36_000; event++) {
      const session = `session-${String(event % SESSIONS).padStart(5, '0')}`
      const at = Date.now()
      served.hub.take({ type: 'warning', topic: 'test', message: `event ${event}`, at, tenant: 'local', session })
      if (event % 2_000 === 0) {
        await sessions.append('local', session, [
          { v: RECORD_VERSION, at, type: 'pin', identity: `p${event}`, pinned: true },
        ])
        await page.evaluate(() => new Promise(requestAnimationFrame))
      }
    }
    // The last change is on the page, so all before it was taken in.
    await expect
      .poll(() => rows.first().textContent())
      .toContain(`session-${String(36_000 % SESSIONS).padStart(5, '0')}`)
    const after = await held()
    expect(after.nodes).toBeLessThan(2 * before.nodes + 1_000)
    expect(after.heap).toBeLessThan(before.heap + 16 * 2 ** 20)
  } finally {
    await page.close()
    await served.close()
  }
}, 240_000)
