import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { anotherCall, largeStore } from '../support/large-store.ts'
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

it(`shows ${SESSIONS} sessions of ${CALLS} calls by what is in view`, async () => {
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
  } finally {
    await page.close()
    await served.close()
  }
}, 240_000)

/** Bytes over the wire of all answers so far, compressed as they came. */
async function wireOf(page: Page): Promise<() => number> {
  const client = await page.context().newCDPSession(page)
  await client.send('Network.enable')
  let bytes = 0
  client.on('Network.dataReceived', ({ encodedDataLength }) => (bytes += encodedDataLength))
  return () => bytes
}

it('a session of 5,000 calls comes in less than 500 kB, and one more call in less than 50 kB', async () => {
  const sessions = await largeStore({ sessions: 1, calls: 5_000 })
  const served = await servedDashboard(sessions)
  const page = await browser.context.newPage()
  try {
    const wire = await wireOf(page)
    await page.goto(`${served.url}/#/session?tenant=local&session=session-00000`)
    await page.locator('.uplot canvas').first().waitFor()
    await page.locator('.legend-line .at', { hasText: 'call 5,000' }).first().waitFor()
    const first = wire()
    expect(first).toBeLessThan(500_000)
    await sessions.append('local', 'session-00000', anotherCall(0, 5_000), undefined, { at: Date.now() + 1_000 })
    const about = { at: Date.now(), tenant: 'local', session: 'session-00000' }
    served.hub.take({ type: 'warning', topic: 'test', message: 'a call', ...about })
    await page.locator('.legend-line .at', { hasText: 'call 5,001' }).first().waitFor()
    console.log(`5,000 calls: ${first} bytes over the wire; one more: ${wire() - first}`)
    expect(wire() - first).toBeLessThan(50_000)
  } finally {
    await page.close()
    await served.close()
  }
}, 120_000)

/** After garbage collection. */
async function heapOf(page: Page): Promise<{ nodes: number; bytes: number }> {
  const client = await page.context().newCDPSession(page)
  await client.send('Performance.enable')
  await client.send('HeapProfiler.collectGarbage')
  const { metrics } = await client.send('Performance.getMetrics')
  const of = (name: string): number => metrics.find((metric) => metric.name === name)!.value
  await client.detach()
  return { nodes: of('Nodes'), bytes: of('JSHeapUsedSize') }
}

const MINUTES = 60
const EVENTS_A_MINUTE = 600

it.each([
  { name: 'the list', path: () => '#/sessions' },
  { name: 'a session', path: (session: string) => `#/session?tenant=local&session=${session}` },
])(
  'holds no more after an hour of ten events a second than after its first quarter: $name',
  async ({ name, path }) => {
    const busy = 'session-00007'
    const sessions = await largeStore({ sessions: 100, calls: CALLS })
    const served = await servedDashboard(sessions)
    const page = await browser.context.newPage()
    try {
      // Newest, so that the list begins with it.
      await sessions.append('local', busy, anotherCall(7, CALLS), undefined, { at: Date.now() + 1_000 })
      // The page's own clock, so that its pauses take no time here: an hour of them passes.
      await page.clock.install()
      await page.goto(`${served.url}/${path(busy)}`)
      const shown =
        name === 'the list'
          ? page.locator('.session-row').first().locator('[data-name="calls"]')
          : page.locator('.figure-box', { hasText: /^calls/ }).locator('dd')
      const showsCalls = async (calls: number): Promise<void> => {
        await expect
          .poll(async () => (await page.clock.runFor(1_000), shown.textContent()), { timeout: 20_000, interval: 5 })
          .toBe(String(calls))
      }
      await showsCalls(CALLS + 1)
      const held: { nodes: number; bytes: number }[] = []
      for (let minute = 1; minute <= MINUTES; minute++) {
        const at = Date.now()
        for (let event = 1; event <= EVENTS_A_MINUTE; event++) {
          const session = `session-${String(event % 100).padStart(5, '0')}`
          served.hub.take({ type: 'warning', topic: 'test', message: `event ${event}`, at, tenant: 'local', session })
        }
        await sessions.append('local', busy, anotherCall(7, CALLS + minute), undefined, { at: Date.now() + 1_000 })
        served.hub.take({ type: 'warning', topic: 'test', message: 'the last', at, tenant: 'local', session: busy })
        // Shown, so everything before it was taken in.
        await showsCalls(CALLS + 1 + minute)
        if (minute % (MINUTES / 4) === 0) held.push(await heapOf(page))
      }
      const mebibytes = held.map(({ bytes }) => (bytes / 2 ** 20).toFixed(1)).join(', ')
      console.log(
        `${name}: heap at each quarter of an hour ${mebibytes} MiB; nodes ${held.map(({ nodes }) => nodes).join(', ')}`,
      )
      const [quarter, end] = [held[0]!, held.at(-1)!]
      expect(end.bytes).toBeLessThan(quarter.bytes + 4 * 2 ** 20)
      expect(end.nodes).toBeLessThan(quarter.nodes + 1_000)
    } finally {
      await page.close()
      await served.close()
    }
  },
  240_000,
)
