import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { declaredCount } from '../../src/core/epochs.ts'
import { handlesIn } from '../../src/core/handles.ts'
import type { Epoch } from '../../src/core/records.ts'
import { openStore } from '../../src/drivers/open-store.ts'
import { createPlimsoll } from '../../src/index.ts'
import { tenantOf } from '../../src/gateway/identity.ts'
import { startReferee, type RunningReferee } from '../../src/testing/referee/index.ts'
import { exitOf, lineMatching, node } from './skeleton/processes.ts'
import { BIG_STEP, script, STEPS, toolOutput, TOOLS } from './skeleton/scenario.ts'

/**
 * The walking skeleton: the real SDK, streaming, forty steps in an 8k window, one result larger than the window, an embedded
 * store, SIGKILL between calls; in process and through the proxy. Everything thin, nothing faked but the provider.
 */
const WINDOW = 8_000
const PLIMSOLL_SECRET = 'walking skeleton'
const secret = createHash('sha256').update(PLIMSOLL_SECRET).digest()
const tenant = tenantOf(secret, (name) => (name === 'x-api-key' ? 'sk-skeleton' : undefined))

interface Run {
  readonly referee: RunningReferee
  readonly store: string
  readonly bodies: readonly string[]
}

describe('walking skeleton', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-skeleton-'))
  const open: RunningReferee[] = []
  let straight: Run
  let killed: Run
  let proxied: Run

  beforeAll(async () => {
    ;[straight, killed, proxied] = [
      await inProcess('straight', []),
      await inProcess('killed', [9, 23, 31]),
      await throughProxy(),
    ]
  }, 180_000)

  afterAll(async () => {
    await Promise.all(open.map((referee) => referee.close()))
    rmSync(folder, { recursive: true, force: true })
  })

  it('finishes forty steps without an overflow or an invalid request, each way', () => {
    for (const run of [straight, killed, proxied]) {
      expect(run.referee.summary()).toMatchObject({ answered: STEPS, overflows: 0, invalid: 0, faults: 0 })
    }
  })

  it('sends the same bytes in process, after three kills, and through the proxy', () => {
    expect(killed.bodies).toEqual(straight.bodies)
    expect(proxied.bodies).toEqual(straight.bodies)
  })

  it('breaks the prompt cache exactly once per epoch, and needs at least two', async () => {
    for (const run of [straight, killed, proxied]) {
      const epochs = await epochsOf(run)
      expect(epochs.length).toBeGreaterThanOrEqual(2)
      const broken = run.referee.log.flatMap(({ prefix }, i) => (prefix?.broke === true ? [i] : []))
      expect(broken).toEqual(epochs.map(requestOf))
    }
    // The tool that opens the cut result comes with the first of them.
    const [first] = (await epochsOf(straight)).map(requestOf)
    expect(first).toBeGreaterThan(BIG_STEP)
    const before = TOOLS.map(({ name }) => name)
    for (const [i, body] of straight.bodies.entries())
      expect(toolsOf(body)).toEqual(i < first! ? before : [...before, 'recall'])
  })

  it('shortens the one large result at its first send and gives its exact bytes back', async () => {
    const original = toolOutput({ step: BIG_STEP })
    expect(straight.bodies.some((body) => body.includes(JSON.stringify(original)))).toBe(false)
    const firstSend = straight.bodies[BIG_STEP]!
    const [handle] = handlesIn(firstSend)
    for (const run of [straight, killed, proxied]) {
      const plimsoll = createPlimsoll({ store: run.store, secret })
      const bytes = await plimsoll.artifacts.read(handle!, { tenant })
      expect(Buffer.from(bytes!).toString()).toBe(original)
      await plimsoll.close()
    }
  })

  it('keeps the task and the newest result in every request', () => {
    for (const [i, body] of straight.bodies.entries()) {
      expect(body).toContain('Ticket INC-4711')
      if (i > 0 && i !== BIG_STEP) expect(body).toContain(JSON.stringify(toolOutput({ step: i })).slice(1, -1))
    }
  })

  async function inProcess(name: string, pauses: readonly number[]): Promise<Run> {
    const referee = await freshReferee()
    const store = `sqlite:${join(folder, `${name}.db`)}`
    await runAgent(name, { VIA: 'fetch', BASE_URL: referee.url, STORE: store }, pauses)
    return finished(referee, store)
  }

  async function throughProxy(): Promise<Run> {
    const referee = await freshReferee()
    const store = `sqlite:${join(folder, 'proxied.db')}`
    const proxy = node(
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
        store,
        '--json',
      ],
      { PLIMSOLL_SECRET },
    )
    const { listening } = JSON.parse(await lineMatching(proxy, (line) => line.startsWith('{"listening"'))) as {
      listening: string
    }
    await runAgent('proxied', { VIA: 'proxy', BASE_URL: `${listening}/anthropic` }, [17])
    proxy.kill('SIGTERM')
    await exitOf(proxy)
    return finished(referee, store)
  }

  async function freshReferee(): Promise<RunningReferee> {
    const referee = await startReferee({
      wire: 'anthropic-messages',
      port: 0,
      window: WINDOW,
      script,
      seed: 7,
      cache: { minimumTokens: 1 },
    })
    open.push(referee)
    return referee
  }

  function finished(referee: RunningReferee, store: string): Run {
    return { referee, store, bodies: referee.log.map((exchange) => Buffer.from(exchange.raw).toString()) }
  }

  /** Starts the agent, kills it with SIGKILL at each pause, starts it again, and waits for its end. */
  async function runAgent(name: string, env: Record<string, string>, pauses: readonly number[]): Promise<void> {
    for (const pause of [...pauses, 0]) {
      const agent = node(['test/e2e/skeleton/agent.ts'], {
        ...env,
        STATE: join(folder, `${name}.json`),
        PLIMSOLL_SECRET,
        WINDOW: String(WINDOW),
        PAUSE_AFTER: String(pause),
      })
      await lineMatching(agent, (line) => line === (pause > 0 ? 'paused' : 'finished'))
      if (pause > 0) agent.kill('SIGKILL')
      await exitOf(agent)
    }
  }
})

const toolsOf = (body: string): string[] =>
  (JSON.parse(body) as { tools: { name: string }[] }).tools.map(({ name }) => name)

/** The request that declared an epoch: behind the task each step adds words, a call and its result. */
const requestOf = (epoch: Epoch): number => (declaredCount(epoch) - 1) / 3

async function epochsOf(run: Run): Promise<Epoch[]> {
  const store = openStore(run.store)
  const epochs: Epoch[] = []
  for (const { session } of await store.list(tenant)) {
    for await (const { record } of store.read(tenant, session)) if (record.type === 'epoch') epochs.push(record)
  }
  await store.close()
  return epochs
}
