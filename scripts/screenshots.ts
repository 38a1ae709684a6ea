/**
 * Takes the pictures of the dashboard that README and docs show: the demo session through a real proxy, in the system's Chromium.
 * Run: `npm run screenshots [-- folder]`.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inDark } from '../src/meter/session/card.ts'
import { runDemoSession } from '../src/cli/demo.ts'
import { openProxy } from '../src/cli/open-proxy.ts'
import { openBrowser } from '../test/browser/browser.ts'

interface Picture {
  readonly file: string
  readonly place: string
  /** On the page when there is something to see. */
  readonly when: string
  readonly width: number
  readonly height: number
  readonly dark?: true
}

const folder = process.argv[2] ?? 'docs/images'
mkdirSync(folder, { recursive: true })
// README's first picture: the demo as the command line draws it.
const light = join(folder, 'card-light.svg')
execFileSync(process.execPath, ['dist/cli/main.js', 'demo', '--fast', '--png', light])
writeFileSync(join(folder, 'card-dark.svg'), inDark(readFileSync(light, 'utf8')))
const running = await openProxy({ port: 0, store: 'memory:', upstreams: {} }, () => undefined)
const browser = await openBrowser()
try {
  await runDemoSession(running.plimsoll.gateway)
  const { tenant, session } = running.plimsoll.ledger.sessions()[0]!
  const at = (tab: string): string =>
    `session?tenant=${encodeURIComponent(tenant)}&session=${encodeURIComponent(session)}&tab=${tab}`
  const pictures: readonly Picture[] = [
    { file: 'dashboard.png', place: at('load'), when: '.uplot', width: 1120, height: 700 },
  ]
  for (const { file, place, when, width, height, dark } of pictures) {
    const page = await browser.context.newPage()
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme: dark === true ? 'dark' : 'light' })
    await page.goto(`${running.pageUrl}#/${place}`)
    await page.locator(when).first().waitFor()
    await page.screenshot({ path: join(folder, file) })
    await page.close()
  }
} finally {
  await browser.close()
  await running.close()
}
