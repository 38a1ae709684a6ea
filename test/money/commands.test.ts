import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openProxy } from '../../src/cli/open-proxy.ts'
import type { SpendingPage } from '../../src/dashboard/page-types.ts'
import { plimsoll } from '../cli/support/binary.ts'

const RESETS_AT = Date.UTC(2035, 0, 5)

/** An Anthropic with a subscription, of whose cache nobody reads anything. */
async function upstream(): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      response.writeHead(200, {
        'content-type': 'application/json',
        'anthropic-ratelimit-unified-5h-utilization': '0.42',
        'anthropic-ratelimit-unified-5h-reset': String(RESETS_AT / 1_000),
      })
      const usage = {
        input_tokens: 3,
        cache_creation_input_tokens: 9_000,
        cache_read_input_tokens: 0,
        output_tokens: 2,
      }
      const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', usage }
      const content = [{ type: 'text', text: 'Done.' }]
      response.end(JSON.stringify({ ...message, content, stop_reason: 'end_turn', stop_sequence: null }))
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

it('misses and quotas are told by page and commands', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-money-'))
  const store = `sqlite:${join(folder, 'store.db')}`
  const provider = await upstream()
  const running = await openProxy(
    { port: 0, drainMs: 500, store, tenants: 'one', upstreams: { anthropic: provider.url } },
    () => undefined,
  )
  const text = 'A long task, of which every word counts. '.repeat(900)
  for (const first of [text, `Another: ${text}`]) {
    const mark = { cache_control: { type: 'ephemeral' } }
    const answer = await fetch(`${running.proxy.url}/anthropic/v1/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'sk-secret',
        'anthropic-version': '2023-06-01',
        'x-plimsoll-session': 'run-1',
      },
      body: JSON.stringify({
        model: 'claude-sonnet-4-5',
        max_tokens: 100,
        messages: [{ role: 'user', content: [{ type: 'text', text: first, ...mark }] }],
      }),
    })
    expect(answer.status, await answer.text()).toBe(200)
  }
  await expect.poll(() => running.plimsoll.ledger.sessions()[0]?.requests).toBe(2)
  const page = await fetch(`${running.proxy.url}/plimsoll/ui/spending`)
  const { quotas } = (await page.json()) as SpendingPage
  expect(quotas).toMatchObject([{ windows: [{ window: '5h', used: 0.42, resetsAt: RESETS_AT }] }])
  await running.close()
  provider.close()

  const misses = await plimsoll(folder, ['sessions', 'show', 'run-1', '--misses', '--store', store])
  expect(misses.out).toMatch(/client\s+9,000\s+\$0\.03\S*\s+\d+ s\s+messages\[0\]\S*: "A long task.*→ "Another: A/)
  expect(misses.out).toContain('Not read from the cache: client 9')
  const usage = await plimsoll(folder, ['usage', '--store', store])
  expect(usage.out).toMatch(/5h\s+42 %\s+2035-01-05/)
  expect(misses.out + usage.out).not.toContain('sk-secret')
  rmSync(folder, { recursive: true, force: true })
})
