/**
 * How long the dashboard takes over a large store, in the system's Chromium: until the list can be used, until a session's chart is drawn, and
 * until all spending is added up. Run: `npm run bench:dashboard [-- sessions calls]`.
 */
import { openBrowser } from '../test/browser/browser.ts'
import { largeStore } from '../test/support/large-store.ts'
import { servedDashboard } from '../test/support/served-dashboard.ts'

const [sessions = 1_000, calls = 200] = process.argv.slice(2).map(Number)
const served = await servedDashboard(await largeStore({ sessions, calls }))
const browser = await openBrowser()
try {
  const page = await browser.context.newPage()
  const timed = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const begin = performance.now()
    await work()
    console.log(`${what.padEnd(60)} ${(performance.now() - begin).toFixed(0).padStart(6)} ms`)
  }
  console.log(`${sessions} sessions of ${calls} calls`)
  const row = page.locator('.session-row').first()
  const figures = row.locator('[data-name="calls"]', { hasText: calls.toLocaleString('en-US') })
  await timed('list, from the address to the figures of its first row', async () => {
    await page.goto(served.url)
    await figures.waitFor()
  })
  await timed('list again', async () => {
    await page.reload()
    await figures.waitFor()
  })
  await timed('search, from the last key to the row', async () => {
    await page.getByLabel('Search sessions').fill('00042')
    await page.locator('.session-row', { hasText: 'session-00042' }).waitFor()
  })
  await timed('session, from the click to its chart', async () => {
    await row.click()
    await page.locator('.uplot canvas').first().waitFor()
  })
  await timed('session again, from the address to its chart', async () => {
    await page.reload()
    await page.locator('.uplot canvas').first().waitFor()
  })
  await timed('spending of all sessions', async () => {
    await page.goto(`${served.url}/#/spending`)
    await page.getByText('By model').waitFor()
  })
} finally {
  await browser.close()
  await served.close()
}
