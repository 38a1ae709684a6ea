import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type BrowserContext } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** The system's own Chromium. `PLIMSOLL_CHROMIUM` names another. Without one these tests fail: a guard nobody ran is none. */
function chromiumPath(): string {
  const found = [process.env['PLIMSOLL_CHROMIUM'], ...PLACES].find((path) => path !== undefined && existsSync(path))
  if (found === undefined) throw new Error('No Chromium is installed: apt-get install -y chromium')
  return found
}

/** A browser for which `attacker.example` is this machine, as it is after its owner has pointed the name here. */
export async function openBrowser(): Promise<{ context: BrowserContext; close: () => Promise<void> }> {
  const profile = mkdtempSync(join(tmpdir(), 'plimsoll-browser-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath(),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Newer versions ask the user before a page may reach the local network; older ones and other browsers do not.
      '--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,PrivateNetworkAccessSendPreflights,BlockInsecurePrivateNetworkRequests',
      '--host-resolver-rules=MAP attacker.example 127.0.0.1',
    ],
  })
  return {
    context,
    async close() {
      await context.close()
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
