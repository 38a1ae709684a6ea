import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { inspectReport } from '../../src/cli/inspect/report.ts'
import { renderReplayHtml } from '../../src/cli/replay/html.ts'
import { liveAgain } from '../../src/cli/replay/replay-session.ts'
import { byCharacter, SAMPLE } from '../inspect/sample.ts'
import { loadFixture } from '../transcripts/fixtures.ts'
import { openBrowser } from './browser.ts'

let browser: Awaited<ReturnType<typeof openBrowser>>
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

const inspected = (): string =>
  inspectReport([SAMPLE, ...loadFixture('codex-rollout.jsonl').recordings], {
    as: 'html',
    countText: byCharacter,
    window: 3_000,
    price: () => ({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }),
  })

const replayed = async (): Promise<string> => {
  const [recording] = loadFixture('claude-code.jsonl').recordings
  const lived = await Promise.all(
    [8_000, 16_000].map((window) => liveAgain(recording!, { window, policy: 'plimsoll' })),
  )
  return renderReplayHtml(lived)
}

/** Texts of a page that stand in a column of single letters. */
const inColumns = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('td, dd, dt, p, h2, h3, summary')]
      .filter((element) => {
        const text = element.textContent.trim()
        const { width } = element.getBoundingClientRect()
        return text.length > 8 && element.checkVisibility() && width < 80
      })
      .map((element) => element.textContent),
  )

it.each([
  { name: 'inspect', html: async () => inspected() },
  { name: 'replay', html: replayed },
])('the page of $name can be read on a phone', async ({ html }) => {
  const text = await html()
  for (const width of [375, 420, 1_200]) {
    const page = await browser.context.newPage()
    try {
      await page.setViewportSize({ width, height: 800 })
      await page.setContent(text)
      const root = await page.evaluate(() => ({
        scroll: document.documentElement.scrollWidth,
        client: document.documentElement.clientWidth,
      }))
      expect(root.scroll, `at ${width} px`).toBeLessThanOrEqual(root.client)
      expect(await inColumns(page), `at ${width} px`).toEqual([])
      const plot = await page.locator('.plot').first().boundingBox()
      expect(plot!.height).toBeGreaterThan(150)
      // Letters are not drawn with the chart, so they keep their size.
      const size = await page
        .locator('.tick')
        .first()
        .evaluate((tick) => getComputedStyle(tick).fontSize)
      expect(Number.parseFloat(size)).toBeGreaterThanOrEqual(12)
      expect(await page.getByText(/\$\d/).count()).toBeGreaterThan(0)
      const composition = page.getByRole('img', { name: /^Parts of the prompts.*results: / }).first()
      expect(await composition.locator('path').count()).toBeGreaterThan(2)
    } finally {
      await page.close()
    }
  }
})
