import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { inspectAll, inspectReport } from '../../src/cli/reports/inspect.ts'
import { replayReport } from '../../src/cli/reports/replay.ts'
import type { Report } from '../../src/dashboard/page-types.ts'
import { singlePage } from '../../src/dashboard/static-files.ts'
import { kindText } from '../../src/meter/session/grid.ts'
import { replaySession } from '../../src/lab/replay/replay.ts'
import { byCharacter, SAMPLE } from '../inspect/sample.ts'
import { loadFixture } from '../transcripts/fixtures.ts'
import { openBrowser } from './browser.ts'

const folder = mkdtempSync(join(tmpdir(), 'plimsoll-reports-'))
let browser: Awaited<ReturnType<typeof openBrowser>>
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  rmSync(folder, { recursive: true })
})

/** Text of a transcript that would run, if a page took it for markup. */
const HOSTILE = {
  ...SAMPLE,
  file: '</script><script>document.title = "run"</script><img src=x onerror="document.title = 1">.jsonl',
}

const inspected = (): Report =>
  inspectReport(
    inspectAll([SAMPLE, HOSTILE, ...loadFixture('codex-rollout.jsonl').recordings], {
      countText: byCharacter,
      window: 3_000,
      price: () => ({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }),
    }),
  )

const replayed = async (): Promise<Report> => {
  const [recording] = loadFixture('claude-code.jsonl').recordings
  return replayReport(
    await Promise.all([8_000, 16_000].map((window) => replaySession(recording!, { window, policy: 'plimsoll' }))),
  )
}

/** A report as it is opened from a disk, with everything that it asked for or complained about. */
async function open(report: Report, width: number): Promise<{ page: Page; trouble: string[] }> {
  const file = join(folder, 'report.html')
  writeFileSync(file, await singlePage(report))
  const page = await browser.context.newPage()
  const trouble: string[] = []
  page.on('request', (request) => trouble.push(request.url()))
  page.on('console', (message) => trouble.push(message.text()))
  page.on('pageerror', (error) => trouble.push(error.message))
  await page.setViewportSize({ width, height: 800 })
  await page.goto(pathToFileURL(file).href)
  await page.locator('.report').last().waitFor()
  trouble.shift()
  return { page, trouble }
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
  { name: 'inspect', report: async () => inspected() },
  { name: 'replay', report: replayed },
])('the page of $name shows everything, asks for nothing, and can be read on a phone', async ({ report: make }) => {
  const report = await make()
  for (const width of [375, 420, 1_200]) {
    const { page, trouble } = await open(report, width)
    try {
      // Charts are drawn when they come into view.
      for (const chart of await page.locator('.chart').all()) {
        await chart.scrollIntoViewIfNeeded()
        await chart.locator('canvas').waitFor()
      }
      const root = await page.evaluate(() => ({
        scroll: document.documentElement.scrollWidth,
        client: document.documentElement.clientWidth,
        text: document.body.textContent,
        title: document.title,
      }))
      expect(root.scroll, `at ${width} px`).toBeLessThanOrEqual(root.client)
      expect(await inColumns(page), `at ${width} px`).toEqual([])
      expect(root.title).toBe(report.title)
      for (const fact of factsOf(report)) expect(root.text, `at ${width} px`).toContain(fact)
      const plot = await page.locator('.chart canvas').first().boundingBox()
      expect(plot!.height).toBeGreaterThan(150)
      const composition = page.getByRole('img', { name: /^Parts of the prompts.*results: / }).first()
      expect(await composition.locator('canvas').count()).toBe(1)
      expect(trouble).toEqual([])
    } finally {
      await page.close()
    }
  }
})

/** Every text and figure of a report outside its charts, as people read it. */
function factsOf({ heading, sections }: Report): string[] {
  const read = (value: string | number): string => (typeof value === 'number' ? value.toLocaleString('en') : value)
  const facts = sections.flatMap(({ title, about, figures = [], said = '', parts }) => [
    title,
    about,
    said,
    ...figures.flat(),
    ...parts.flatMap((part): string[] => {
      if (part.kind === 'table') return [...part.heads, ...part.rows.flat().map(read)]
      if (part.kind === 'bars') return part.rows.flatMap(({ name, label }) => [name, label])
      if (part.kind === 'texts') return part.texts.flatMap(({ title: head, about: why, text }) => [head, why, text])
      if (part.kind === 'figures') return part.figures.flat()
      if (part.kind === 'lines') return part.lines.map(({ text }) => text)
      if (part.kind === 'composition') return part.parts.map(({ name }) => kindText(name))
      return part.line === undefined ? [] : [`${part.line.name} ${read(part.line.value)}`]
    }),
  ])
  expect(facts.length).toBeGreaterThan(40)
  return [heading, ...facts]
}

it('the page of many sessions draws its charts when they come into view', async () => {
  const all = Array.from({ length: 20 }, () => SAMPLE)
  const { page } = await open(inspectReport(inspectAll(all, { countText: byCharacter, window: 3_000 })), 1_200)
  try {
    const drawn = () => page.locator('.chart canvas').count()
    await page.locator('.chart').first().scrollIntoViewIfNeeded()
    await page.locator('.chart canvas').first().waitFor()
    expect(await drawn()).toBeLessThan(20)
    await page.locator('.report').last().locator('.chart').first().scrollIntoViewIfNeeded()
    await page.locator('.report').last().locator('.chart canvas').first().waitFor()
  } finally {
    await page.close()
  }
})
