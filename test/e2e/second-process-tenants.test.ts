import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openProxy } from '../../src/cli/open-proxy.ts'
import { createPlimsoll, type Plimsoll } from '../../src/index.ts'
import { startReferee, type RunningReferee } from '../../src/testing/referee/index.ts'
import { startPostgres, type PostgresServer } from '../stores/support/postgres-server.ts'

/*
 * A second process brings a second tenant to the store of a running proxy. A visitor without a key, or with the first tenant's, must not
 * read it, whether it came long ago or this moment. `PLIMSOLL_TRIES=200` for the long run.
 */
const TRIES = Number(process.env['PLIMSOLL_TRIES'] ?? 4)
const SECRET = 'basalt-orchard-38'

let folder: string
let referee: RunningReferee
let postgres: PostgresServer

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-second-'))
  referee = await startReferee({ wire: 'anthropic-messages', window: 100_000 })
  postgres = await startPostgres()
})
afterAll(async () => {
  await referee.close()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Ask = (url: string, init: RequestInit) => Promise<Response>

async function say(ask: Ask, url: string, key: string, session: string, content: string): Promise<void> {
  const response = await ask(`${url}/v1/messages`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'x-api-key': key,
      'x-plimsoll-session': session,
    },
    body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 50, messages: [{ role: 'user', content }] }),
  })
  expect(response.status, await response.text()).toBe(200)
}

const stores = [
  ['SQLite', (n: number) => `sqlite:${join(folder, `store-${n}.db`)}`],
  ['Postgres', (n: number) => `${postgres.url}&schema=tries_${n}`],
] as const

const visitors: readonly (readonly [string, Record<string, string>])[] = [
  ['without a key', {}],
  ['with the key of the first tenant', { 'x-api-key': 'sk-a' }],
]

let stored = 0

describe.each(stores)('a second process on a shared %s store', (_name, storeOf) => {
  it.each(visitors)(
    `shows nothing of its tenant to a visitor %s (${TRIES} tries)`,
    { timeout: 600_000 },
    async (_, headers) => {
      for (let n = 0; n < TRIES; n++) {
        const store = storeOf(stored++)
        const artifacts = `file:${join(folder, `artifacts-${stored}`)}`
        const settings = { port: 0, drainMs: 500, store, artifacts, upstreams: { anthropic: referee.url } }
        const { proxy, close } = await openProxy(settings, () => undefined)
        let second: Plimsoll | undefined
        try {
          await say(fetch, `${proxy.url}/anthropic`, 'sk-a', 'own', 'hello')
          const look = async (): Promise<void> => {
            const list = await fetch(`${proxy.url}/plimsoll/ui/sessions`, { headers })
            const { rows = [] } = (await list.json()) as { rows?: { tenant: string; session: string }[] }
            expect(rows.map(({ session }) => session)).not.toContain('secret')
            for (const path of ['/plimsoll/api/sessions', '/plimsoll/api/events?since=0', '/plimsoll/ui/spending'])
              expect(await (await fetch(proxy.url + path, { headers })).text()).not.toMatch(/"secret"|basalt/)
          }
          await look()
          second = createPlimsoll({ store, artifacts, tenants: 'credential' })
          const tenant = await second.gateway.tenantOf((name) => (name === 'x-api-key' ? 'sk-b' : undefined), '/')
          const conversation = `${proxy.url}/plimsoll/ui/conversation?session=secret&tenant=${encodeURIComponent(tenant)}`
          const said = say((url, init) => second!.fetch(url, init), referee.url, 'sk-b', 'secret', SECRET)
          let isOver = false
          const over = said.finally(() => (isOver = true))
          // While it comes, and when it is there.
          do {
            await look()
            expect(await (await fetch(conversation, { headers })).text()).not.toContain(SECRET)
          } while (!isOver)
          await over
          await second.close()
          await look()
          expect(await (await fetch(conversation, { headers })).text()).not.toContain(SECRET)
          // Its own key opens it: there was something to see.
          const own = await fetch(conversation, { headers: { 'x-api-key': 'sk-b' } })
          expect(await own.text()).toContain(SECRET)
        } finally {
          await second?.close()
          await close()
        }
      }
    },
  )
})
