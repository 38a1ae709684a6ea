import { describe, expect, it } from 'vitest'
import { isPlimsollError } from '../../src/core/errors.ts'
import { identityOf } from '../../src/core/identity.ts'
import { newestUserIndex } from '../../src/core/turns.ts'
import type { PreparedTurn } from '../../src/engine/prepare.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { hash, testEngine } from '../support/engine.ts'
import { WIRES } from '../support/generators/index.ts'
import { asyncProperty, SEED } from '../support/property.ts'
import { growingSession, type GrowingSession } from '../support/sessions.ts'

/** `npm run test:long` multiplies the runs. */
const RUNS = 100 * Number(process.env['PLIMSOLL_LONG'] ?? 1)

interface Lived {
  readonly body: Record<string, unknown>
  readonly turn?: PreparedTurn
  readonly error?: unknown
}

/** Sends every request of a session through one engine. */
async function live({
  wire,
  window,
  bodies,
}: GrowingSession): Promise<{ lived: Lived[]; engine: ReturnType<typeof testEngine> }> {
  const engine = testEngine()
  const session = engine.session()
  const lived: Lived[] = []
  for (const body of bodies) {
    try {
      lived.push({ body, turn: await session.prepare({ format: wire, body, targets: [{ model: 'm', window }] }) })
    } catch (error) {
      lived.push({ body, error })
    }
  }
  return { lived, engine }
}

const startsWith = (list: readonly string[], beginning: readonly string[]): boolean =>
  beginning.every((entry, i) => list[i] === entry)

describe.each(WIRES)('laws on %s', (wire) => {
  const codec = codecOf(wire)

  it(`hold for random sessions (seed ${SEED})`, async () => {
    await asyncProperty(
      growingSession(wire),
      async (session) => {
        const { lived, engine } = await live(session)
        let previous: { epoch: string | undefined; fragments: string[]; sent: string[] } | undefined
        for (const { body, turn, error } of lived) {
          const original = codec.decode(JSON.stringify(body))
          if (turn === undefined) {
            // There is always an end: a typed error with numbers, never a loop or another exception.
            expect(isPlimsollError(error) && error.code).toBe('fixed-overhead')
            continue
          }
          // Fits.
          expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
          // Valid: no rule is broken that the client had not broken.
          const before = new Set(codec.check(body).map((violation) => violation.rule))
          expect(codec.check(JSON.parse(turn.text)).filter((violation) => !before.has(violation.rule))).toEqual([])
          // Instructions as they came.
          const view = codec.decode(turn.text)
          expect(view.head.map((item) => item.text)).toEqual(original.head.map((item) => item.text))
          // The newest user message is there, whole or as a preview with its handle.
          const newest = original.items[newestUserIndex(original.items)]!
          const shown = view.items.some((item) => item.kind === 'user' && item.text === newest.text)
          const squeezed = turn.edits.some(
            (edit) => edit.op === 'replace' && edit.id === newest.id && edit.handle !== undefined,
          )
          expect(shown || squeezed).toBe(true)
          // Between epochs the view only grows.
          const fragments = view.items.map((item) => codec.fragment(view, item))
          const sent = original.items.map((item) => codec.fragment(original, item))
          if (previous !== undefined && turn.epoch === previous.epoch && startsWith(sent, previous.sent)) {
            expect(fragments.slice(0, previous.fragments.length)).toEqual(previous.fragments)
          }
          previous = { epoch: turn.epoch, fragments, sent }
        }
        // Nothing is lost: each original item is in the archive, and every handle opens.
        const last = lived.findLast(({ turn }) => turn !== undefined)
        if (last === undefined) return
        const archived = new Set<string>()
        for await (const { record } of engine.deps.sessions.read('local', 'test')) {
          if (record.type === 'item-seen') archived.add(record.kind === 'reasoning' ? record.fragment : record.identity)
        }
        const whole = codec.decode(JSON.stringify(last.body))
        expect(
          whole.items.filter(
            (item) => !archived.has(item.kind === 'reasoning' ? codec.fragment(whole, item) : identityOf(item, hash)!),
          ),
        ).toEqual([])
        for (const edit of last.turn!.edits) {
          if (edit.op === 'replace' && edit.handle !== undefined)
            expect(await engine.deps.artifacts.read('local', edit.handle)).toBeDefined()
        }
        // Idempotent, and the same in a process that has only the store.
        const again = testEngine({ sessions: engine.deps.sessions }).session()
        const repeated = await again.prepare({
          format: wire,
          body: last.body,
          targets: [{ model: 'm', window: session.window }],
        })
        expect(repeated.text === last.turn!.text).toBe(true)
        expect(repeated.report.newEpoch).toBeUndefined()
      },
      RUNS,
    )
  })
})
