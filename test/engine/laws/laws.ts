import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../../src/core/conversation.ts'
import { isPlimsollError } from '../../../src/core/errors.ts'
import { identityOf } from '../../../src/core/identity.ts'
import type { Item } from '../../../src/core/item.ts'
import { newestUserIndex } from '../../../src/core/turns.ts'
import { policies, policyNamed } from '../../../src/engine/presets/index.ts'
import type { PreparedTurn } from '../../../src/engine/prepare/prepare.ts'
import { codecOf } from '../../../src/formats/registry.ts'
import { hash, testEngine, type TestEngine } from '../../support/engine.ts'
import type { WireName } from '../../support/generators/index.ts'
import { asyncProperty, SEED } from '../../support/property.ts'
import { growingSession, type GrowingSession } from '../../support/sessions.ts'
import { HABITS, scriptedSummarizer, type Habit } from './scripted-summarizer.ts'

/** Per wire, so 1,500 in CI; `npm run test:long` multiplies them. */
const RUNS = 300 * Number(process.env['PLIMSOLL_LONG'] ?? 1)

/** Far more than an idle machine needs. */
const TIME_MS = 3_600_000

interface Life {
  readonly session: GrowingSession
  readonly policy: string
  readonly habit: Habit | 'nobody'
  /** Which item of the first request is pinned, if any. */
  readonly pin: number | undefined
}

const life = (wire: WireName): fc.Arbitrary<Life> =>
  fc.record({
    session: growingSession(wire),
    // The default is what most people run, so it gets half of the lives.
    policy: fc.oneof(fc.constant('plimsoll'), fc.constantFrom(...policies.keys())),
    habit: fc.constantFrom('nobody' as const, ...HABITS),
    pin: fc.option(fc.nat(), { nil: undefined, freq: 4 }),
  })

interface Lived {
  readonly body: Record<string, unknown>
  readonly turn?: PreparedTurn
  readonly error?: unknown
  /** How often a model was asked for a summary. */
  readonly asked: number
}

interface Outcome {
  readonly lived: readonly Lived[]
  readonly engine: TestEngine
  readonly pinned: string | undefined
}

/** Sends every request of a session through one engine, with a memory of earlier work or without. */
async function live({ session: { wire, window, bodies }, policy, habit, pin }: Life, memo: boolean): Promise<Outcome> {
  const summarizer = habit === 'nobody' ? undefined : scriptedSummarizer(habit)
  const engine = testEngine({ policy: policyNamed(policy), memo, ...(summarizer !== undefined && { summarizer }) })
  const session = engine.session()
  const lived: Lived[] = []
  let pinned: string | undefined
  for (const body of bodies) {
    const before = summarizer?.calls() ?? 0
    const request = { format: wire, body, targets: [{ model: 'm', window }] }
    const outcome = await session.prepare(request).then(
      (turn) => ({ turn }),
      (error: unknown) => ({ error }),
    )
    lived.push({ body, ...outcome, asked: (summarizer?.calls() ?? 0) - before })
    if (pin === undefined || pinned !== undefined || !('turn' in outcome)) continue
    const items = await session.items()
    const choice = items[pin % items.length]
    // A pin of half the window is a way to ask for the impossible, and the law about errors covers it.
    if (choice === undefined || choice.kind === 'call') continue
    await session.pin(choice.identity)
    pinned = choice.identity
  }
  return { lived, engine, pinned }
}

const startsWith = (list: readonly string[], beginning: readonly string[]): boolean =>
  beginning.every((entry, i) => list[i] === entry)

/** The item is shown as it is, or as a preview whose handle gives the whole back, or quoted by what we inserted. */
function isShown(item: Item, view: Conversation, turn: PreparedTurn): boolean {
  if (view.items.some((one) => one.text === item.text && one.kind === item.kind)) return true
  if (turn.edits.some((edit) => edit.op === 'replace' && edit.id === item.id && edit.handle !== undefined)) return true
  const beginning = item.text.trim().slice(0, 40)
  return turn.edits.some((edit) => edit.op === 'insert' && edit.text.includes(beginning))
}

/** Calls whose results the model has not seen yet: the step that it is in the middle of. */
function openCalls({ items }: Conversation): string[] {
  // What people and clients say behind the results answers none of them.
  const end = items.findLastIndex(({ role }) => role !== 'user' && role !== 'system') + 1
  const from = items.slice(0, end).findLastIndex((item) => item.kind !== 'result')
  return items.slice(from + 1, end).flatMap((item) => (item.callId === undefined ? [] : [item.callId]))
}

/** Each item of the client's is in view or was taken out by exactly one edit. */
function expectCovered(original: Conversation, turn: PreparedTurn): void {
  const ids = new Set(original.items.map((item) => item.id))
  const dropped = turn.edits.flatMap((edit) => (edit.op === 'drop' ? [edit.id] : []))
  const replaced = turn.edits.flatMap((edit) => (edit.op === 'replace' ? [edit.id] : []))
  const touched = [...dropped, ...replaced]
  expect(new Set(touched).size).toBe(touched.length)
  expect(touched.filter((id) => !ids.has(id))).toEqual([])
}

async function expectNothingLost({ lived, engine }: Outcome, wire: WireName): Promise<void> {
  const codec = codecOf(wire)
  const last = lived.findLast(({ turn }) => turn !== undefined)
  if (last?.turn === undefined) return
  const archived = new Set<string>()
  for await (const { record } of engine.deps.sessions.read('local', 'test')) {
    if (record.type === 'item-seen') archived.add(record.kind === 'reasoning' ? record.fragment : record.identity)
  }
  const whole = codec.decode(JSON.stringify(last.body))
  const missing = whole.items.filter(
    (item) => !archived.has(item.kind === 'reasoning' ? codec.fragment(whole, item) : identityOf(item, hash)!),
  )
  expect(missing.map((item) => item.id)).toEqual([])
  for (const edit of last.turn.edits) {
    if (edit.op === 'replace' && edit.handle !== undefined)
      expect(await engine.deps.artifacts.read('local', edit.handle)).toBeDefined()
  }
}

/** A process that has only the store builds the same bytes and decides nothing new. */
async function expectRepeatable(
  { session: { wire, window }, policy }: Life,
  { lived, engine }: Outcome,
): Promise<void> {
  const last = lived.findLast(({ turn }) => turn !== undefined)
  if (last?.turn === undefined || last !== lived.at(-1)) return
  const { sessions, artifacts } = engine.deps
  const again = testEngine({ policy: policyNamed(policy), sessions, artifacts }).session()
  const repeated = await again.prepare({ format: wire, body: last.body, targets: [{ model: 'm', window }] })
  expect(repeated.text === last.turn.text).toBe(true)
  expect(repeated.report.newEpoch).toBeUndefined()
}

/** What left, or why nothing did. */
const bytesOf = ({ lived }: Outcome): readonly unknown[] =>
  lived.map(({ turn, error }) => turn?.text ?? (isPlimsollError(error) ? error.code : error))

function expectLaws(lifeLived: Life, { lived, pinned }: Outcome): void {
  const { wire } = lifeLived.session
  const codec = codecOf(wire)
  const policy = policyNamed(lifeLived.policy)
  let previous: { epoch: string | undefined; fragments: string[]; sent: string[] } | undefined
  for (const { body, turn, error, asked } of lived) {
    expect(asked).toBeLessThanOrEqual(policy.passes ?? 3)
    if (policy.name === 'plimsoll') expect(asked).toBeLessThanOrEqual(2)
    if (turn === undefined) {
      // There is always an end: a typed error with numbers, never a loop or another exception.
      expect(isPlimsollError(error) && error.code).toBe('fixed-overhead')
      continue
    }
    if (turn.verdict.kind === 'halt') continue
    const original = codec.decode(JSON.stringify(body))
    const view = codec.decode(turn.text)
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    expect(turn.load.bytes).toBe(Buffer.byteLength(turn.text))
    // Valid: no rule is broken that the client had not broken.
    const before = new Set(codec.check(body).map((violation) => violation.rule))
    expect(codec.check(JSON.parse(turn.text)).filter((violation) => !before.has(violation.rule))).toEqual([])
    expectCovered(original, turn)
    // Instructions as they came; a closing turn adds a line of its own.
    const said = view.head.map((item) => item.text).join('\n')
    for (const { text } of original.head) expect(said.includes(text)).toBe(true)
    const newest = original.items[newestUserIndex(original.items)]!
    const task = original.items.find((item) => item.kind === 'user')!
    expect(isShown(newest, view, turn)).toBe(true)
    expect(isShown(task, view, turn)).toBe(true)
    const kept = original.items.find((item) => pinned !== undefined && identityOf(item, hash) === pinned)
    if (kept !== undefined && previous !== undefined) expect(isShown(kept, view, turn)).toBe(true)
    const callIds = new Set(view.items.flatMap((item) => (item.callId === undefined ? [] : [item.callId])))
    for (const id of openCalls(original)) expect(callIds.has(id)).toBe(true)
    // Between epochs the view only grows.
    const fragments = view.items.map((item) => codec.fragment(view, item))
    const sent = original.items.map((item) => codec.fragment(original, item))
    if (previous !== undefined && turn.epoch === previous.epoch && startsWith(sent, previous.sent))
      expect(fragments.slice(0, previous.fragments.length)).toEqual(previous.fragments)
    previous = turn.verdict.kind === 'final' ? undefined : { epoch: turn.epoch, fragments, sent }
  }
}

export function describeLaws(wire: WireName): void {
  describe(`laws on ${wire}`, () => {
    it(
      `hold for random sessions, policies, windows, pins and summarizers (seed ${SEED}, ${RUNS} runs)`,
      async () => {
        await asyncProperty(
          life(wire),
          async (one) => {
            const outcome = await live(one, true)
            expect(bytesOf(await live(one, false))).toEqual(bytesOf(outcome))
            expectLaws(one, outcome)
            await expectNothingLost(outcome, wire)
            await expectRepeatable(one, outcome)
          },
          RUNS,
        )
      },
      TIME_MS,
    )
  })
}
