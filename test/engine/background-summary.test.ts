import { afterEach, describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import type { Policy } from '../../src/core/policy.ts'
import { openSummarizer } from '../../src/drivers/open-summarizer.ts'
import { backgroundWork } from '../../src/engine/session/background-work.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { byName } from '../../src/formats/registry.ts'
import { createPlimsoll } from '../../src/index.ts'
import {
  startReferee,
  summarizerBrain,
  type RunningReferee,
  type StartRefereeOptions,
} from '../../src/testing/referee/index.ts'
import { ANTHROPIC, targets } from '../pains/support/loop.ts'
import { SUMMARISING } from '../pains/support/summarizer.ts'
import { resultText, toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const SUMMARY = 'State: the parser reads half of the files. Next: read the rest. Nothing was decided.'
const BACKGROUND: Policy = { ...SUMMARISING, name: 'background', summaries: { calls: 2, backgroundFrom: 0.6 } }

const running: RunningReferee[] = []
const rejections: unknown[] = []
const note = (reason: unknown): void => void rejections.push(reason)
process.on('unhandledRejection', note)
afterEach(async () => {
  for (const referee of running.splice(0)) await referee.close()
  await new Promise((resolve) => setImmediate(resolve))
  expect(rejections.splice(0)).toEqual([])
})

/** A door that the test opens: the summarizer's request waits in front of it. */
function door(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

async function settingsFor(options: Partial<StartRefereeOptions> = {}, wait: Promise<void> = Promise.resolve()) {
  const referee = await startReferee({
    wire: 'anthropic-messages',
    script: summarizerBrain('natural', SUMMARY),
    ...options,
  })
  running.push(referee)
  const sent = door()
  const settings = {
    format: 'anthropic-messages',
    model: 'claude-haiku-4-5',
    baseUrl: referee.url,
    apiKey: 'sk-summary',
    window: 60_000,
    fetch: async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
      await Promise.race([wait, aborted(init?.signal)])
      sent.open()
      return fetch(input, init)
    },
  }
  return { referee, settings, sent: sent.opened }
}

const aborted = (signal: AbortSignal | null | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }))

async function agentWith(options: Partial<StartRefereeOptions> = {}, wait?: Promise<void>, policy = BACKGROUND) {
  const { referee, settings } = await settingsFor(options, wait)
  const engine = testEngine({ policy })
  const work = backgroundWork()
  const works: Promise<void>[] = []
  const deps = {
    ...engine.deps,
    summarizer: openSummarizer(settings, { wires: byName, windowOf: () => 60_000 })!,
    background: {
      ...work,
      run(task: (signal: AbortSignal) => Promise<void>) {
        const started = work.run(task)
        if (started !== undefined) works.push(started.over)
        return started
      },
    },
  }
  const agent = createSession(async () => deps, { id: 'test' })
  const prepare = (steps: number, edit: (body: ReturnType<typeof toolLoop>) => void = () => undefined) => {
    const body = toolLoop({ steps })
    edit(body)
    return agent.prepare({ format: ANTHROPIC, body: JSON.stringify(body), targets: targets() })
  }
  return { ...engine, deps, agent, referee, prepare, works, settled: () => Promise.all(works) }
}

const declared = (events: readonly PlimsollEvent[]) => events.filter((event) => event.type === 'epoch-declared')

/** At 8,000 tokens of window: the level of the background is passed at these many steps, the limit at those. */
const WARNED = 38
const HIGH = 60

describe('a summary in the background', () => {
  it('holds no request up, is applied when it is ready, and leaves what came meanwhile behind it', async () => {
    const gate = door()
    const { prepare, events, settled, works, referee, agent, deps } = await agentWith({}, gate.opened)
    for (let steps = 1; steps <= WARNED; steps++) expect((await prepare(steps)).report.untouched).toBe(true)
    expect(works).toHaveLength(1)
    expect(referee.log).toEqual([])
    // Still being written: two more steps pass as they are.
    expect((await prepare(WARNED + 1)).report.untouched).toBe(true)
    expect((await prepare(WARNED + 2)).report.untouched).toBe(true)
    gate.open()
    await settled()
    const turn = await prepare(WARNED + 3)
    expect(turn.text).toContain(SUMMARY)
    expect(declared(events)).toMatchObject([{ forced: false }])
    for (let step = WARNED; step <= WARNED + 3; step++)
      expect(turn.text).toContain(JSON.stringify(resultText(step, 400)).slice(1, -1))
    expect(turn.load.count.high).toBeLessThan(0.6 * turn.limit.tokens)
    expect(referee.log).toHaveLength(1)
    const [epoch] = await agent.audit()
    expect(epoch).toMatchObject({ type: 'epoch', policy: 'background' })
    const purposes: string[] = []
    for await (const { record } of deps.sessions.read('local', 'test'))
      if (record.type === 'usage') purposes.push(record.purpose)
    expect(purposes).toEqual(['summary'])
  })

  it('stands in the log as one epoch: another process prepares the same bytes', async () => {
    const { prepare, settled, deps } = await agentWith()
    for (let steps = 1; steps <= WARNED; steps++) await prepare(steps)
    await settled()
    const here = await prepare(WARNED + 1)
    const next = await prepare(WARNED + 2)
    const { summarizer: _, background: __, ...plain } = deps
    const elsewhere = createSession(async () => plain, { id: 'test' })
    const again = async (steps: number) =>
      (
        await elsewhere.prepare({
          format: ANTHROPIC,
          body: JSON.stringify(toolLoop({ steps })),
          targets: targets(),
        })
      ).text
    expect(await again(WARNED + 1)).toBe(here.text)
    expect(await again(WARNED + 2)).toBe(next.text)
    expect(next.text.startsWith(here.text.slice(0, here.text.lastIndexOf(']}') - 2))).toBe(true)
  })

  it('is forgotten by a process that ends before it is applied', async () => {
    const { prepare, settled, deps, referee } = await agentWith()
    for (let steps = 1; steps <= WARNED; steps++) await prepare(steps)
    await settled()
    expect(referee.log).toHaveLength(1)
    const { summarizer: _, background: __, ...plain } = deps
    const elsewhere = createSession(async () => plain, { id: 'test' })
    const turn = await elsewhere.prepare({
      format: ANTHROPIC,
      body: JSON.stringify(toolLoop({ steps: WARNED + 1 })),
      targets: targets(),
    })
    expect(turn.report.untouched).toBe(true)
  })

  it('is not applied to a history that has changed below it', async () => {
    const { prepare, settled, events } = await agentWith()
    for (let steps = 1; steps <= WARNED; steps++) await prepare(steps)
    await settled()
    const turn = await prepare(WARNED + 1, (body) => {
      body.messages[0] = { role: 'user', content: 'Find another bug.' }
    })
    expect(turn.report.untouched).toBe(true)
    expect(turn.text).not.toContain(SUMMARY)
    expect(events.filter((event) => event.type === 'warning').map(({ message }) => message)).toEqual([
      'What a background summary stands for is no longer there.',
    ])
  })

  it('does not hold back a request that has to shrink: that goes by code, and what is late is dropped', async () => {
    const gate = door()
    const { prepare, settled, events, referee } = await agentWith({}, gate.opened)
    for (let steps = 1; steps <= WARNED; steps++) await prepare(steps)
    const forced = await prepare(HIGH)
    expect(declared(events)).toMatchObject([{ forced: true }])
    expect(forced.load.count.high).toBeLessThanOrEqual(forced.limit.tokens)
    expect(forced.text).not.toContain(SUMMARY)
    gate.open()
    await settled()
    const later = await prepare(HIGH + 1)
    expect(later.text).not.toContain(SUMMARY)
    expect(later.epoch).toBe(forced.epoch)
    expect(referee.log).toEqual([])
  })

  it('serves a request that has to shrink when it is ready by then', async () => {
    const { prepare, settled, events } = await agentWith()
    for (let steps = 1; steps <= WARNED; steps++) await prepare(steps)
    await settled()
    const forced = await prepare(HIGH)
    expect(declared(events)).toMatchObject([{ forced: true }])
    expect(forced.text).toContain(SUMMARY)
    expect(forced.load.count.high).toBeLessThanOrEqual(forced.limit.tokens)
  })

  it('lets an epoch that nothing forces wait while it is being written', async () => {
    const gate = door()
    const high: Policy = { ...BACKGROUND, water: { ...BACKGROUND.water, high: 0.7 } }
    const { prepare, settled, events } = await agentWith({}, gate.opened, high)
    for (let steps = 1; steps <= 48; steps++) expect((await prepare(steps)).report.untouched).toBe(true)
    expect(events.filter((event) => event.type === 'compaction-needed')).toHaveLength(1)
    gate.open()
    await settled()
    expect((await prepare(49)).text).toContain(SUMMARY)
  })

  it.each([
    ['refuses', { script: summarizerBrain('refusal') }],
    ['is cut off', { script: summarizerBrain('length', SUMMARY) }],
    ['is empty', { script: summarizerBrain('empty') }],
    ['calls a tool', { script: summarizerBrain('tool-call') }],
    ['hangs', { faults: [{ on: 'every' as const, fault: { kind: 'hang' as const } }] }],
    ['breaks off', { faults: [{ on: 'every' as const, fault: { kind: 'cut-stream' as const } }] }],
    ['is overloaded', { faults: [{ on: 'every' as const, fault: { kind: 'overloaded' as const } }] }],
  ])(
    'that %s comes to nothing; code serves when the time comes, and nobody asks at every request',
    async (_, options) => {
      const policy = { ...BACKGROUND, timeMs: 100 }
      const { prepare, settled, events, referee, works } = await agentWith(options, undefined, policy)
      for (let steps = 1; steps <= WARNED + 1; steps++) {
        expect((await prepare(steps)).report.untouched).toBe(true)
        await settled()
      }
      expect(works).toHaveLength(1)
      expect(referee.log.length).toBeLessThanOrEqual(2)
      expect(events.filter((event) => event.type === 'summary-rejected').length).toBeGreaterThan(0)
      const forced = await prepare(HIGH)
      expect(forced.epoch).toBeDefined()
      expect(forced.load.count.high).toBeLessThanOrEqual(forced.limit.tokens)
    },
  )

  it('is asked about before it starts: a hook can put it off or keep items', async () => {
    const { deps, events } = await agentWith()
    const causes: string[] = []
    const agent = createSession(
      async () => ({
        ...deps,
        hooks: { beforeEpoch: ({ cause }) => (causes.push(cause), { defer: true }) },
      }),
      { id: 'hooked' },
    )
    for (let steps = 1; steps <= WARNED; steps++)
      await agent.prepare({ format: ANTHROPIC, body: JSON.stringify(toolLoop({ steps })), targets: targets() })
    expect(causes.length).toBeGreaterThan(0)
    expect(new Set(causes)).toEqual(new Set(['background']))
    expect(declared(events)).toEqual([])
  })
})

describe('closing while a summary is being written', () => {
  it('ends it, waits for it and records no epoch', async () => {
    const { settings, sent } = await settingsFor({ faults: [{ on: 'every', fault: { kind: 'hang' } }] })
    const { sessions } = testEngine().deps
    const plimsoll = createPlimsoll({
      policy: { ...BACKGROUND, timeMs: 60_000 },
      store: sessions,
      artifacts: 'memory:',
      summarizer: settings,
      secret: Buffer.alloc(32, 1),
    })
    const session = plimsoll.session({ id: 'test' })
    for (let steps = 1; steps <= 43; steps += 3)
      await session.prepare({ format: ANTHROPIC, body: JSON.stringify(toolLoop({ steps })), targets: targets(12_000) })
    await sent
    await plimsoll.close()
    const epochs: string[] = []
    for await (const { record } of sessions.read('local', 'test')) if (record.type === 'epoch') epochs.push(record.id)
    expect(epochs).toEqual([])
    // Nothing starts any more; a call that comes too late is the store's to answer.
    await plimsoll.close()
  })
})
