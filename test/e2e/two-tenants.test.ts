import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { openProxy, type OpenProxy } from '../../src/cli/open-proxy.ts'
import { startReferee, type RunningReferee } from '../../src/testing/referee/index.ts'
import { plimsoll as run } from '../cli/support/binary.ts'
import { toolLoop } from '../support/anthropic-loop.ts'

/*
 * Two tenants on one store, by every way in that `test/gateway/two-tenants.test.ts` does not take. The rows are those of the table in
 * SECURITY.md.
 */

const SECRETS = { a: 'amber-lighthouse-71', b: 'basalt-orchard-38' } as const
type Who = keyof typeof SECRETS
const OTHER = { a: 'b', b: 'a' } as const
const BOTH: readonly Who[] = ['a', 'b']

let folder: string
let store: string
let referee: RunningReferee
let running: OpenProxy
const tenants = {} as Record<Who, string>
const handles = {} as Record<Who, string>

const key = (who: Who): Record<string, string> => ({ 'x-api-key': `sk-${who}` })

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-tenants-'))
  store = `sqlite:${join(folder, 'store.db')}`
  referee = await startReferee({ wire: 'anthropic-messages', window: 16_000 })
  const settings = { port: 0, drainMs: 500, store, window: 16_000, upstreams: { anthropic: referee.url } }
  running = await openProxy(settings, () => undefined)
  for (const who of BOTH) {
    const loop = toolLoop({ steps: 1, resultLength: 60_000, task: `Go on with ${SECRETS[who]}.` })
    const [result] = (loop.messages[2] as { content: { content: string }[] }).content
    result!.content = `${SECRETS[who]}\n${result!.content}`
    const answer = await fetch(`${running.proxy.url}/anthropic/v1/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        // Both call it the same, on purpose.
        'x-plimsoll-session': 'run-1',
        ...key(who),
      },
      body: JSON.stringify(loop),
    })
    expect(answer.status, await answer.text()).toBe(200)
    handles[who] = handlesIn(Buffer.from(referee.log.at(-1)!.raw).toString())[0]!
  }
  await vi.waitFor(() => expect(running.plimsoll.ledger.sessions().length).toBe(2))
  for (const who of BOTH)
    tenants[who] = await running.plimsoll.gateway.tenantOf((name) => key(who)[name], '/anthropic/v1/messages')
  expect(new Set(Object.values(tenants)).size).toBe(2)
})
afterAll(async () => {
  await running.close()
  await referee.close()
  rmSync(folder, { recursive: true, force: true })
})

const holds = (text: string): readonly Who[] => BOTH.filter((who) => text.includes(SECRETS[who]))

describe('two tenants on the dashboard', () => {
  const ask = async (who: Who, path: string, body?: object): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${running.proxy.url}${path}`, {
      headers: { ...key(who), 'content-type': 'application/json', 'x-plimsoll-page': '1' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }
  const query = (of: Who, more = ''): string => `tenant=${encodeURIComponent(tenants[of])}&session=run-1${more}`

  it.each(BOTH)('%s sees what is its own', async (who) => {
    const list = await ask(who, '/plimsoll/ui/sessions')
    const { rows } = JSON.parse(list.text) as { rows: { tenant: string }[] }
    expect(rows.map(({ tenant }) => tenant)).toEqual([tenants[who]])
    const shown = await ask(who, `/plimsoll/ui/conversation?${query(who)}`)
    expect([shown.status, holds(shown.text)]).toEqual([200, [who]])
    const stored = await ask(who, `/plimsoll/ui/artifact?${query(who)}&handle=${handles[who]}`)
    expect([stored.status, holds(stored.text)]).toEqual([200, [who]])
    for (const where of ['', `&${query(who)}`]) {
      const found = await ask(who, `/plimsoll/ui/search?q=lighthouse%20orchard${where}`)
      expect([found.status, holds(found.text)]).toEqual([200, [who]])
    }
    for (const path of ['spending', 'meter', 'info'])
      expect(holds((await ask(who, `/plimsoll/ui/${path}`)).text)).toEqual([])
    const { total } = JSON.parse((await ask(who, '/plimsoll/ui/spending')).text) as { total: { calls: number } }
    expect(total.calls).toBe(1)
  })

  it.each(BOTH)('%s gets nothing of the other, by its name, its handle or a change', async (who) => {
    const other = OTHER[who]
    const tried = [
      await ask(who, `/plimsoll/ui/session?${query(other)}`),
      await ask(who, `/plimsoll/ui/conversation?${query(other)}`),
      await ask(who, `/plimsoll/ui/hidden?${query(other)}`),
      await ask(who, `/plimsoll/ui/search?q=orchard&${query(other)}`),
      await ask(who, `/plimsoll/ui/artifacts?${query(other)}`),
      await ask(who, `/plimsoll/ui/artifact?${query(other)}&handle=${handles[other]}`),
      await ask(who, `/plimsoll/download/${handles[other]}?${query(other)}`),
      ...(await Promise.all(
        ['session/undo', 'session/compact', 'session/fork', 'session/pin'].map((name) =>
          ask(who, `/plimsoll/ui/${name}`, { tenant: tenants[other], session: 'run-1', to: 'stolen', identity: 'x' }),
        ),
      )),
    ]
    expect(tried.map(({ status }) => status)).toEqual(tried.map(() => 403))
    expect(holds(tried.map(({ text }) => text).join())).toEqual([])
    // The other's handle under one's own name opens nothing either.
    const renamed = await ask(who, `/plimsoll/ui/artifact?${query(who)}&handle=${handles[other]}`)
    expect([renamed.status, holds(renamed.text)]).toEqual([404, []])
  })
})

describe('two tenants of one library', () => {
  it.each(BOTH)('%s reads what is its own', async (who) => {
    const read = async (of: Who): Promise<string | undefined> => {
      const bytes = await running.plimsoll.artifacts.read(handles[of], { tenant: tenants[who] })
      return bytes === undefined ? undefined : Buffer.from(bytes).toString()
    }
    expect(holds((await read(who))!)).toEqual([who])
    expect(await read(OTHER[who])).toBeUndefined()
    const lines: string[] = []
    for await (const line of running.plimsoll.session({ id: 'run-1', tenant: tenants[who] }).export()) lines.push(line)
    expect(holds(lines.join())).toEqual([who])
  })
})

describe('two tenants on the command line', () => {
  const cli = (...args: readonly string[]) => run(folder, [...args, '--store', store])

  it.each(BOTH)('--tenant shows what is of %s alone', async (who) => {
    const listed = await cli('sessions', 'ls', '--tenant', tenants[who], '--json')
    expect(listed.out).toContain(tenants[who])
    expect(listed.out).not.toContain(tenants[OTHER[who]])
    const shown = await cli('sessions', 'show', 'run-1', '--tenant', tenants[who], '--json')
    expect(shown.code, shown.err).toBe(0)
    expect(shown.out).not.toContain(SECRETS[OTHER[who]])
    const own = await cli('artifacts', 'show', handles[who], '--tenant', tenants[who])
    expect(holds(own.out)).toEqual([who])
    const other = await cli('artifacts', 'show', handles[OTHER[who]], '--tenant', tenants[who])
    expect([other.code === 0, holds(other.out + other.err)]).toEqual([false, []])
  })

  it('a name that two tenants use is not taken for either', async () => {
    const { code, out, err } = await cli('sessions', 'show', 'run-1', '--json')
    expect(code).not.toBe(0)
    expect(holds(out)).toEqual([])
    expect(err).toContain('--tenant')
  })
})
