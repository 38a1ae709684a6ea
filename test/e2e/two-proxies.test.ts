import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startReferee, type RunningReferee } from '../../src/testing/referee/index.ts'
import { startPostgres, type PostgresServer } from '../stores/support/postgres-server.ts'
import { exitOf, lineMatching, node } from './skeleton/processes.ts'
import { script, STEPS, SYSTEM, TASK, TOOLS, toolOutput } from './skeleton/scenario.ts'

/** Two proxies, two processes, one Postgres: a client that is sent from one to the other must not notice. */
const WINDOW = 8_000
const PLIMSOLL_SECRET = 'two proxies'

interface Answer {
  readonly content: { type: string; id?: string; input?: { step: number } }[]
}

describe('two proxies on one Postgres', () => {
  let postgres: PostgresServer
  const referees: RunningReferee[] = []
  const proxies: { url: string; child: ReturnType<typeof node> }[] = []

  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(async () => {
    for (const { child } of proxies) child.kill('SIGKILL')
    await Promise.all(referees.map((referee) => referee.close()))
    await postgres.stop()
  })

  const schema = (name: string): string => `${postgres.url}${postgres.url.includes('?') ? '&' : '?'}schema=${name}`

  async function freshReferee(): Promise<RunningReferee> {
    const referee = await startReferee({ wire: 'anthropic-messages', port: 0, window: WINDOW, script, seed: 7 })
    referees.push(referee)
    return referee
  }

  async function startProxy(referee: RunningReferee, database: string): Promise<(typeof proxies)[number]> {
    const child = node(
      [
        'src/surfaces/cli/main.ts',
        'proxy',
        '--port',
        '0',
        '--anthropic',
        referee.url,
        '--window',
        String(WINDOW),
        '--store',
        database,
        '--json',
      ],
      { PLIMSOLL_SECRET },
    )
    const { listening } = JSON.parse(await lineMatching(child, (line) => line.startsWith('{"listening"'))) as {
      listening: string
    }
    const proxy = { url: `${listening}/anthropic/v1/messages`, child }
    proxies.push(proxy)
    return proxy
  }

  async function ask(url: string, messages: readonly unknown[]): Promise<Answer> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'sk-two', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 512, system: SYSTEM, tools: TOOLS, messages }),
    })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    return (await response.json()) as Answer
  }

  /** Drives the loop; `urlOf` says where each call goes, `retries` counts calls that had to be made again. */
  async function drive(urlOf: (step: number) => string, beforeStep: (step: number) => Promise<void>): Promise<number> {
    const messages: unknown[] = [{ role: 'user', content: TASK }]
    let retries = 0
    for (let step = 1; step <= STEPS; step++) {
      await beforeStep(step)
      const answer = await ask(urlOf(step), messages).catch(() => {
        retries++
        return ask(urlOf(step + 1), messages)
      })
      messages.push({ role: 'assistant', content: answer.content })
      const calls = answer.content.filter((block) => block.type === 'tool_use')
      if (calls.length === 0) break
      messages.push({
        role: 'user',
        content: calls.map((block) => ({
          type: 'tool_result',
          tool_use_id: block.id,
          content: toolOutput(block.input!),
        })),
      })
    }
    return retries
  }

  const bodiesAt = (referee: RunningReferee): string[] =>
    referee.log
      .filter((exchange) => exchange.usage !== undefined)
      .map((exchange) => createHash('sha256').update(exchange.raw).digest('hex'))

  it('serve one session alternately, and after one is killed the other goes on with the same bytes', async () => {
    const alone = await freshReferee()
    const single = await startProxy(alone, schema('alone'))
    await drive(
      () => single.url,
      async () => undefined,
    )

    const referee = await freshReferee()
    const database = schema('pair')
    const pair = [await startProxy(referee, database), await startProxy(referee, database)]
    let killed = false
    const urlOf = (step: number): string => (killed ? pair[1]! : pair[step % 2]!).url
    const retries = await drive(urlOf, async (step) => {
      if (step !== 24 || killed) return
      // Dead before the call that would have gone to it: the client sees one refused connection.
      pair[0]!.child.kill('SIGKILL')
      await exitOf(pair[0]!.child)
      queueMicrotask(() => (killed = true))
    })
    expect(retries).toBeLessThanOrEqual(1)
    expect(referee.summary()).toMatchObject({ answered: STEPS, overflows: 0, invalid: 0 })
    expect(bodiesAt(referee)).toEqual(bodiesAt(alone))
  }, 120_000)
})
