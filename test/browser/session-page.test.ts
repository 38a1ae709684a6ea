import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { SessionList } from '../../src/dashboard/page-types.ts'
import { BINARY, cleanEnvironment, plimsoll, ROOT, temporaryHome } from '../cli/support/binary.ts'
import { openBrowser } from './browser.ts'

/* A session's page answers where the tokens went, what a compaction removed, what it cost and what to change. */

const FILE = join(ROOT, 'bench/sessions/entire-bb-781d6f3a8e-0.jsonl.gz')
const NAME = 'entire-bb-781d6f3a8e-0.jsonl.gz'
const WINDOW = '32000'

let browser: Awaited<ReturnType<typeof openBrowser>>
let home: Awaited<ReturnType<typeof temporaryHome>>
let child: ReturnType<typeof spawn>
let listening: string
beforeAll(async () => {
  browser = await openBrowser()
  home = await temporaryHome()
  child = spawn(process.execPath, [BINARY, 'dashboard', FILE, '--window', WINDOW, '--port', '0', '--json'], {
    env: cleanEnvironment(home.path),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  listening = (JSON.parse(line.toString()) as { listening: string }).listening
  const isDone = async (): Promise<boolean> => {
    const { rows } = (await (await fetch(`${listening}plimsoll/ui/sessions`)).json()) as SessionList
    const replay = rows[0]?.figures?.replay
    return replay !== undefined && replay.done === replay.total
  }
  await vi.waitUntil(isDone, { timeout: 120_000, interval: 200 })
}, 180_000)
afterAll(async () => {
  child.kill()
  await browser.close()
  await home.remove()
})

const at = (tab: string): string =>
  `${listening}#/session?${new URLSearchParams({ tenant: 'local', session: NAME, tab }).toString()}`

/** Everything that axe finds, minor findings too. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
    }
    return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 160)}`)
  })
}

const PICTURES = process.env['PLIMSOLL_SCREENSHOTS']
const keep = async (page: Page, name: string): Promise<void> => {
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true })
}

const PLACES = ['load', 'request', 'search', 'compactions', 'calls', 'hidden', 'audit'].map((tab) => [tab, at] as const)

it.each([
  { width: 1440, scheme: 'light' as const },
  { width: 1440, scheme: 'dark' as const },
  { width: 390, scheme: 'light' as const },
  { width: 390, scheme: 'dark' as const },
])(
  'answers the four questions, and axe finds nothing, at $width px, $scheme',
  async ({ width, scheme }) => {
    const page = await browser.context.newPage()
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: scheme })
    await page.goto(at('load'))
    // Where the tokens went, what it cost, and of how many compactions: in view without a click.
    const answer = page.locator('.answer')
    await expect
      .poll(() => answer.textContent())
      .toMatch(
        /^72 calls · ≈ \$\d+\.\d\d instead of ≈ \$\d+\.\d\d \([−+]\d+ %\) · \d+ % went to .+ · [1-9]\d* compactions?/,
      )
    expect(await answer.evaluate((element) => element.getBoundingClientRect().bottom < innerHeight)).toBe(true)
    expect(await page.locator('.grid i').count()).toBe(200)
    expect(await page.locator('.grid .at-limit').count()).toBe(1)
    await page.locator('.kinds dt').first().waitFor()
    await page.getByRole('heading', { name: 'What to change' }).waitFor()
    expect(await page.locator('.changes li').count()).toBeLessThanOrEqual(3)
    expect(await page.locator('.changes li').locator('button, a.button').count()).toBe(
      await page.locator('.changes li').count(),
    )
    // What a compaction removed: one click.
    await page.getByRole('link', { name: 'Compactions' }).click()
    await page.getByText('Before and after, by kind').waitFor()
    await page.getByRole('region', { name: 'What left' }).locator('tbody tr').first().waitFor()
    await page.getByText(/once, saves ≈ \$[\d.]+ a call/).waitFor()
    for (const [name, address] of [
      ...PLACES,
      ...['sessions', 'spending', 'meter', 'policy', 'compare', 'artifacts'].map(
        (place) => [place, () => `${listening}#/${place}`] as const,
      ),
    ]) {
      await page.goto(address(name))
      await page.locator('.card, .rows, .figures').first().waitFor()
      expect(await findings(page), name).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), `${name} is too wide`).toBe(
        false,
      )
      await keep(page, `${scheme}-${width}-${name}`)
    }
    await page.close()
  },
  120_000,
)

it('steps through the calls by keyboard: grid, scrubber, compactions and charts', async () => {
  const page = await browser.context.newPage()
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.goto(at('load'))
  const place = page.locator('.scrubber output')
  await expect.poll(() => place.textContent()).toContain('call 72')
  await page.locator('.grid').focus()
  await page.keyboard.press('ArrowLeft')
  await expect.poll(() => place.textContent()).toContain('call 71')
  await page.keyboard.press('[')
  await expect.poll(() => place.textContent()).toMatch(/call \d+, the next one is compacted/)
  expect(await page.locator('.grid .leaving').count()).toBeGreaterThan(0)
  await page.keyboard.press('ArrowRight')
  // What was hatched is gone.
  expect(await page.locator('.grid .leaving').count()).toBe(0)
  const chart = page.locator('.chart').first()
  await chart.scrollIntoViewIfNeeded()
  await chart.locator('canvas').waitFor()
  await chart.focus()
  const readOut = page.locator('.legend-line .at').first()
  const before = await readOut.textContent()
  await page.keyboard.press('ArrowRight')
  await expect.poll(() => readOut.textContent()).not.toBe(before)
  const sent = page.getByRole('button', { name: /^sent/ })
  expect(await sent.getAttribute('aria-pressed')).toBe('true')
  await sent.click()
  expect(await sent.getAttribute('aria-pressed')).toBe('false')
  // A row leads to its item.
  await page.getByRole('region', { name: 'Largest items' }).getByRole('link').first().click()
  await page.locator('.pair.wanted').waitFor()
  await page.close()
}, 60_000)

it('draws the same picture in the browser and in the terminal, and says nothing of what was said', async () => {
  const page = await browser.context.newPage()
  await page.emulateMedia({ colorScheme: 'light' })
  await page.goto(at('load'))
  const link = page.getByRole('link', { name: 'SVG' })
  await link.waitFor()
  const inBrowser = await link.evaluate((element: HTMLAnchorElement) =>
    decodeURIComponent(element.href.split(',').slice(1).join(',')),
  )
  const file = join(home.path, 'card.svg')
  const ran = await plimsoll(home.path, ['inspect', FILE, '--window', WINDOW, '--png', file])
  expect(ran.code).toBe(0)
  expect(inBrowser).toBe(readFileSync(file, 'utf8'))
  expect(inBrowser).toContain('npx plimsoll inspect')
  const words = [...inBrowser.matchAll(/<text[^>]*>([^<]*)/g)].map(([, text]) => text).join(' ')
  expect(words).not.toMatch(/[/\\]|\.ts|\.jsonl/)
  await page.close()
}, 60_000)

it('axe finds nothing in the reports, light and dark', async () => {
  const html = join(home.path, 'replay.html')
  const inspected = join(home.path, 'inspect.html')
  await plimsoll(home.path, ['replay', FILE, '--window', WINDOW, '--html', html])
  await plimsoll(home.path, ['inspect', FILE, '--html', inspected])
  for (const file of [html, inspected])
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.context.newPage()
      await page.emulateMedia({ colorScheme })
      await page.goto(pathToFileURL(file).href)
      await page.locator('.report').first().waitFor()
      expect(await findings(page), `${file} ${colorScheme}`).toEqual([])
      await page.close()
    }
}, 120_000)
