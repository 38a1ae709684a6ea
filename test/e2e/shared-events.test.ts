import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { createSseParser } from '../../src/formats/framing.ts'
import { json, MESSAGE, plainUpstream } from '../gateway/upstream.ts'
import { startPostgres, type PostgresServer } from '../stores/support/postgres-server.ts'
import { temporaryFolder } from '../stores/support/temporary.ts'
import { exitOf, lineMatching, node } from './skeleton/processes.ts'

type Shown = PlimsollEvent & { readonly number: number }

let postgres: PostgresServer
let place: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  postgres = await startPostgres()
  place = await temporaryFolder()
})
afterAll(async () => {
  await postgres.stop()
  await place.remove()
})

async function startProxy(upstream: string, store: string) {
  const child = node(
    ['src/cli/main.ts', 'proxy', '--port', '0', '--anthropic', upstream, '--store', store, '--json'],
    {},
  )
  const line = await lineMatching(child, (said) => said.startsWith('{"listening"'))
  return { url: (JSON.parse(line) as { listening: string }).listening, child }
}

async function ask(proxy: string, session: string): Promise<void> {
  const response = await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'sk-live', 'x-plimsoll-session': session },
    body: JSON.stringify({
      model: 'claude-sonnet-4-5',
      max_tokens: 64,
      messages: [{ role: 'user', content: `Hi from ${session}` }],
    }),
  })
  expect(response.status).toBe(200)
  await response.text()
}

/** Reads a proxy's stream of events until it has heard what `done` waits for. */
async function follow(proxy: string, done: (events: readonly Shown[]) => boolean): Promise<readonly Shown[]> {
  const events: Shown[] = []
  const parser = createSseParser()
  const stream = await fetch(`${proxy}/plimsoll/events?since=0`)
  for await (const chunk of stream.body!) {
    for (const { data } of parser.push(chunk)) events.push(JSON.parse(data) as Shown)
    if (done(events)) break
  }
  return events
}

/** Requests of a session that were heard from their beginning to their end, in order. */
function wholeRequests(events: readonly Shown[], session: string): number {
  const types = events.filter((event) => event.session === session).map(({ type }) => type)
  return types.join(' ').match(/request-prepared usage-recorded request-forwarded/g)?.length ?? 0
}

const stores = [
  { name: 'Postgres', url: () => `${postgres.url}&schema=live` },
  { name: 'SQLite', url: () => `sqlite:${join(place.folder, 'store.db')}` },
]

describe.each(stores)('two proxies on one $name', ({ url }) => {
  it('each shows the events of both as they happen, and counts only its own requests', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const proxies = [await startProxy(upstream.url, url()), await startProxy(upstream.url, url())]
    try {
      const hearing = proxies.map((proxy, i) => follow(proxy.url, (events) => wholeRequests(events, `at-${1 - i}`) > 0))
      // A bus reaches whoever is connected: the first requests may come before the other proxy is.
      let heard = 0
      for (const one of hearing) void one.then(() => heard++)
      let asked = 0
      for (; heard < 2; asked++) for (const [i, proxy] of proxies.entries()) await ask(proxy.url, `at-${i}`)
      for (const [i, events] of (await Promise.all(hearing)).entries()) {
        expect(wholeRequests(events, `at-${1 - i}`)).toBeGreaterThan(0)
        // In the order of this proxy's own stream, so that a listener can come back to its place.
        expect(events.map(({ number }) => number)).toEqual(events.map((_, place) => place + 1))
        const sessions = (await (await fetch(`${proxies[i]!.url}/plimsoll/api/sessions`)).json()) as {
          sessions: { session: string }[]
        }
        expect(sessions.sessions.map(({ session }) => session).sort()).toEqual(['at-0', 'at-1'])
        const metrics = await (await fetch(`${proxies[i]!.url}/metrics`)).text()
        expect(metrics).toContain(`plimsoll_requests_prepared_total{verdict="proceed"} ${asked}\n`)
      }
    } finally {
      for (const { child } of proxies) child.kill('SIGTERM')
      await Promise.all(proxies.map(({ child }) => exitOf(child)))
    }
  }, 60_000)
})
