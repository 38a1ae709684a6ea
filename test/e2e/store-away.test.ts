import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/drivers/open-store.ts'
import { createPlimsoll } from '../../src/index.ts'
import { createReferee, say } from '../../src/testing/referee/index.ts'
import { readAll } from '../../src/testing/session-store/records.ts'
import { flakyLine } from '../stores/support/flaky-line.ts'
import { startPostgres, type PostgresServer } from '../stores/support/postgres-server.ts'
import { PLAIN_WIRES, type Turn } from '../gateway/plain-wires.ts'

const { request } = PLAIN_WIRES['openai-chat']
const big = (step: number): string =>
  Array.from({ length: 400 }, (_, i) => `line ${i} of step ${step}: worker ${(i * 7) % 13} took ${i} ms`).join('\n')

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

describe('a store that is away', () => {
  it.each([400, Infinity])(
    'Postgres, %s ms late: agents go on, managed, and the store gets what it missed',
    async (ms) => {
      const line = await flakyLine(server.socket)
      const url = line.url.replace('/postgres', `/postgres?schema=late_${ms === Infinity ? 'never' : ms}`)
      const referee = createReferee({ wire: 'openai-chat', script: () => say('Go on.'), window: 16_000 })
      const plimsoll = createPlimsoll({ store: url, window: 16_000, fetch: referee.fetch })
      const turns: Turn[] = [{ user: 'Find the slow worker.' }]
      const step = async (): Promise<string | null> => {
        const answer = await plimsoll.fetch('http://referee.test/v1/chat/completions', {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'x-plimsoll-session': 'one' },
          body: JSON.stringify(request(turns)),
        })
        expect(answer.status, await answer.text()).toBe(200)
        turns.push({ id: `call_${turns.length}`, result: big(turns.length) })
        return answer.headers.get('x-plimsoll-verdict')
      }
      for (let i = 0; i < 3; i++) expect(await step()).toBe('proceed')
      line.delay(ms)
      for (let i = 0; i < 10; i++) expect(await step()).toBe('proceed')
      expect(referee.summary()).toMatchObject({ answered: 13, overflows: 0, invalid: 0 })
      line.delay(0)
      while (!(await plimsoll.isReady().catch(() => false))) await new Promise((resolve) => setTimeout(resolve, 20))
      await step()
      await plimsoll.close()
      const store = openStore(url)
      const types: string[] = []
      for (const tenant of await store.tenants())
        for (const { session } of await store.list(tenant))
          for (const { record } of await readAll(store, tenant, session)) types.push(record.type)
      expect(types.filter((type) => type === 'usage')).toHaveLength(14)
      await store.close()
      referee.close()
      await line.close()
    },
  )

  it('in a program: an unusable store is said once as a process warning, and each verdict says that nothing is managed', () => {
    const program = `
      import { createPlimsoll } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)}
      const answer = () => Response.json({ choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }] })
      const plimsoll = createPlimsoll({ store: 'sqlite:/proc/x/y.db', fetch: async () => answer() })
      for (let i = 0; i < 3; i++) {
        const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] })
        const { headers } = await plimsoll.fetch('http://model.test/v1/chat/completions', { method: 'POST', body })
        console.log(headers.get('x-plimsoll-verdict'))
      }
      await plimsoll.close().catch(() => undefined)`
    const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    })
    expect(stdout.trim().split('\n')).toEqual(['bypassed', 'bypassed', 'bypassed'])
    expect(stderr.match(/STORE_UNUSABLE/g)).toHaveLength(1)
    expect(stderr).toContain('/proc/x/y.db')
  })
})
