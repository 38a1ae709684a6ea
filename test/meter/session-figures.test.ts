import { expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { plimsoll as run, temporaryHome } from '../cli/support/binary.ts'

const MODEL = 'claude-sonnet-4-5'
const USAGE = { cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }

it('counts no compaction for a request that was refused, and one for the request that was answered', async () => {
  const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:' })
  const session = plimsoll.session({ id: 'run' })
  const prepare = (steps: number) =>
    session.prepare({
      format: 'anthropic-messages',
      body: { ...toolLoop({ steps, resultLength: 4_000 }), model: MODEL },
      targets: [{ model: MODEL, window: 16_000 }],
    })
  const first = await prepare(2)
  const began = Math.round(first.load.count.tokens)
  await session.record({ turn: first.id, usage: { ...USAGE, input: began } })
  const refused = await prepare(30)
  expect(refused.report.newEpoch).toBeDefined()
  await session.record({ turn: refused.id, refused: true, status: 429 })
  const report = () => plimsoll.archive.report('run')
  expect(await report()).toMatchObject({ compactions: 0, epochs: [], leftOut: 0, failed: 1 })
  expect((await report()).troubles).toMatchObject([{ what: 'call-failed', reason: 'the provider answered 429' }])
  const turn = await prepare(30)
  const input = Math.round(turn.load.count.tokens)
  await session.record({ turn: turn.id, usage: { ...USAGE, input } })
  const { compactions, epochs, leftOut, removals, withoutPlimsoll, peak } = await report()
  expect({ compactions, epochs: epochs.length }).toEqual({ compactions: 1, epochs: 1 })
  // One number for what a compaction left out, wherever it is said.
  expect(leftOut).toBeGreaterThan(0)
  expect(epochs[0]!.leftOut).toBe(leftOut)
  expect(removals.filter(({ action }) => action === 'left out').length).toBe(leftOut)
  expect(peak).toEqual({ value: input, basis: 'measured' })
  expect(withoutPlimsoll).toMatchObject({ basis: 'estimate' })
  expect(withoutPlimsoll.value).toBeGreaterThan(input)
  expect(epochs[0]!.after).toEqual({ value: input, basis: 'measured' })
  expect(epochs[0]!.before).toEqual({ value: began, basis: 'measured' })
  await plimsoll.close()
})

it('without Plimsoll counts what was shortened before its first send, in the demo line by line and in its result', async () => {
  const home = await temporaryHome()
  const { out, code } = await run(home.path, ['demo', '--fast', '--json'])
  await home.remove()
  expect(code).toBe(0)
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, number>)
  const histories = lines.flatMap(({ turn, transcript }) => (turn === undefined ? [] : [transcript!]))
  const result = lines.at(-1)! as unknown as { transcript: number; figures: { withoutPlimsoll: { value: number } } }
  expect(Math.max(...histories)).toBe(result.transcript)
  expect(result.figures.withoutPlimsoll.value).toBe(result.transcript)
  // Two outputs of 342 kB each were shown in 4 kB from their first send on.
  expect(result.transcript).toBeGreaterThan(200_000)
}, 60_000)
