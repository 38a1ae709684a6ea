import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Item } from '../../src/core/item.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { createSseParser } from '../../src/formats/framing.ts'
import { calls, say, startReferee, type RunningReferee, type Script } from '../../src/testing/referee/index.ts'
import { startPostgres, type PostgresServer } from '../stores/support/postgres-server.ts'
import { exitOf, lineMatching, node } from './skeleton/processes.ts'
import { STEPS, SYSTEM, TASK, TOOLS, toolOutput } from './skeleton/scenario.ts'

/** Two proxies, two processes, one Postgres: a client that is sent from one to the other must not notice. */
const WINDOW = 8_000
const PLIMSOLL_SECRET = 'two proxies'
const SEED = 20_261_118

interface Answer {
  readonly items: readonly Item[]
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

  /** `pace` is asked before each event of an answer that is streamed. */
  async function freshReferee(pace?: () => Promise<void> | void): Promise<RunningReferee> {
    const referee = await startReferee({
      wire: 'anthropic-messages',
      port: 0,
      window: WINDOW,
      script: byHistory,
      seed: 7,
      ...(pace !== undefined && { pace }),
    })
    referees.push(referee)
    return referee
  }

  async function startProxy(referee: RunningReferee, database: string): Promise<(typeof proxies)[number]> {
    const child = node(
      [
        'src/cli/main.ts',
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
      body: JSON.stringify({
        model: 'claude-sonnet-4-5',
        max_tokens: 512,
        stream: true,
        system: SYSTEM,
        tools: TOOLS,
        messages,
      }),
    })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    const reducer = codecOf('anthropic-messages').stream()
    const parser = createSseParser()
    for await (const chunk of response.body!) for (const event of parser.push(chunk)) reducer.push(event)
    if (!reducer.done) throw new Error('The answer was cut off.')
    return { items: reducer.response().items }
  }

  /** Drives the loop and counts the calls that had to be made again. */
  async function drive(urlOf: (step: number, attempt: number) => string, task: string = TASK): Promise<number> {
    const messages: unknown[] = [{ role: 'user', content: task }]
    let retries = 0
    for (let step = 1; step <= STEPS; step++) {
      const answer = await ask(urlOf(step, 1), messages).catch(() => {
        retries++
        return ask(urlOf(step, 2), messages)
      })
      messages.push({ role: 'assistant', content: answer.items.map(blockOf) })
      const calls = answer.items.filter((item) => item.kind === 'call')
      if (calls.length === 0) break
      const results = calls.map(({ callId, text }) => ({
        type: 'tool_result',
        tool_use_id: callId,
        content: toolOutput(JSON.parse(text) as { step: number }),
      }))
      messages.push({ role: 'user', content: results })
    }
    return retries
  }

  /** What each conversation sent, in its order. */
  const byTask = (referee: RunningReferee, tasks: readonly string[]): string[][] =>
    tasks.map((task) => referee.log.map(({ raw }) => Buffer.from(raw).toString()).filter((raw) => raw.includes(task)))

  const bodiesAt = (referee: RunningReferee): string[] =>
    referee.log
      .filter((exchange) => exchange.usage !== undefined)
      .map((exchange) => createHash('sha256').update(exchange.raw).digest('hex'))

  it('serve one session alternately, and when one is killed in the middle of an answer the other goes on with the same bytes', async () => {
    const alone = await freshReferee()
    const single = await startProxy(alone, schema('alone'))
    await drive(() => single.url)

    let holding = false
    let reached = (): void => undefined
    const midway = new Promise<void>((resolve) => (reached = resolve))
    const referee = await freshReferee(() => {
      if (!holding) return undefined
      reached()
      // Held open: this answer ends with the proxy that carries it.
      return new Promise<void>(() => undefined)
    })
    const database = schema('pair')
    const pair = [await startProxy(referee, database), await startProxy(referee, database)]
    const killed = midway.then(async () => {
      holding = false
      pair[0]!.child.kill('SIGKILL')
      await exitOf(pair[0]!.child)
    })
    const retries = await drive((step, attempt) => {
      if (step === 24 && attempt === 1) holding = true
      return (step > 24 || attempt > 1 ? pair[1]! : pair[step % 2]!).url
    })
    await killed
    expect(retries).toBe(1)
    expect(referee.summary()).toMatchObject({ overflows: 0, invalid: 0 })
    // The call that was cut off and its repetition are the same request.
    const sent = bodiesAt(referee)
    expect(sent[23]).toBe(sent[24])
    expect(sent.toSpliced(23, 1)).toEqual(bodiesAt(alone))
  }, 180_000)

  it(`send what one would send, when several conversations are spread over them at random (seed ${SEED})`, async () => {
    const tasks = ['checkout', 'search'].map((name) => `Find out why ${name} is slow.`)
    const alone = await freshReferee()
    const single = await startProxy(alone, schema('one'))
    await Promise.all(tasks.map((task) => drive(() => single.url, task)))

    const referee = await freshReferee()
    const database = schema('spread')
    const pair = [await startProxy(referee, database), await startProxy(referee, database)]
    let state = SEED
    const random = (): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) >>> 16
    await Promise.all(tasks.map((task) => drive(() => pair[random() % 2]!.url, task)))
    const sent = byTask(referee, tasks)
    expect(sent).toEqual(byTask(alone, tasks))
    // Long enough that what stood in place of old steps had to be found by the other process.
    expect(sent.every((bodies) => bodies.length === STEPS && bodies.at(-1)!.length < 4 * WINDOW)).toBe(true)
    expect(referee.summary()).toMatchObject({ overflows: 0, invalid: 0 })
    const epochs = await Promise.all(pair.map(epochsDeclared))
    expect(epochs.every((declared) => declared > 0)).toBe(true)
  }, 180_000)
})

/** From its metrics, which are one process's own. */
async function epochsDeclared({ url }: { readonly url: string }): Promise<number> {
  const text = await (await fetch(new URL('/metrics', url), { headers: { connection: 'close' } })).text()
  return Number(/^plimsoll_epochs_total\S* (\d+)$/m.exec(text)?.[1] ?? 0)
}

/** Answers by what the history shows, not by how many requests came: a repeated request gets the same answer. */
const byHistory: Script = ({ body }) => {
  const said = JSON.stringify(body['messages'])
  const last = [...said.matchAll(/"input":\{"step":(\d+)/g)].at(-1)
  const step = last === undefined ? 1 : Number(last[1]) + 1
  if (step >= STEPS) return say('The cause is the connection pool of checkout-3: it was halved at 14:01.')
  return calls(
    [{ name: 'read_log', input: { step, service: `checkout-${step % 5}` }, id: `toolu_step${step}` }],
    `Step ${step}.`,
  )
}

function blockOf(item: Item): unknown {
  if (item.kind === 'call')
    return { type: 'tool_use', id: item.callId, name: item.toolName, input: JSON.parse(item.text) as unknown }
  return { type: 'text', text: item.text }
}
