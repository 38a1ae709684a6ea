import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import type { Codec } from '../../src/core/codec.ts'
import { isPlimsollError } from '../../src/core/errors.ts'
import { COMPACT_READER, readerTools } from '../../src/engine/readers/reader-tools.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { codecs } from '../../src/formats/registry.ts'
import { plainBody, type PlainTurn } from '../pains/support/plain-bodies.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { WIRES } from '../support/generators/index.ts'
import { growingSession, type GrowingSession } from '../support/sessions.ts'

const SEED = 20261115
const RUNS = 60
console.log(`seed ${SEED}`)

interface Life {
  readonly session: GrowingSession
  /** Spaces between the values of the client's JSON. */
  readonly indent: number
  /** Which requests are offered tools of ours, in turn: what is declared comes and goes. */
  readonly offers: readonly boolean[]
}

const life = (wire: (typeof WIRES)[number]): fc.Arbitrary<Life> =>
  fc.record({
    session: growingSession(wire),
    indent: fc.constantFrom(0, 0, 2),
    offers: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
  })

const OFFER = { tools: readerTools([COMPACT_READER.name]), isClosed: false }

/** Some clients write their tools before their messages. */
function toolsFirst(body: object): object {
  const { tools, ...rest } = body as { readonly tools?: unknown }
  return tools === undefined ? body : { tools, ...rest }
}

describe('a request that begins as the one before', () => {
  it.each(WIRES)('has the bytes that a process would write that has never seen it: %s', async (wire) => {
    let continued = 0
    await fc.assert(
      fc.asyncProperty(life(wire), async ({ session: { bodies, window }, indent, offers }) => {
        const sessions = memoryStore()
        const artifacts = memoryArtifacts({ secret: Buffer.alloc(32, 7) })
        const old = testEngine({ sessions, artifacts }).session()
        for (const [i, body] of bodies.entries()) {
          const request = {
            format: wire,
            body: JSON.stringify(indent === 0 ? toolsFirst(body) : body, undefined, indent),
            targets: [{ model: 'm', window }],
            ...(offers[i % offers.length] === true && { tools: OFFER }),
          }
          try {
            const turn = await old.prepare(request)
            const again = await testEngine({ sessions, artifacts }).session().prepare(request)
            expect(turn.text).toBe(again.text)
            expect(turn.load.bytes).toBe(Buffer.byteLength(turn.text))
            if (turn.epoch !== undefined && turn.report.newEpoch === undefined) continued++
          } catch (error) {
            if (!isPlimsollError(error, 'fixed-overhead')) throw error
          }
        }
      }),
      { seed: SEED, numRuns: RUNS },
    )
    expect(continued).toBeGreaterThan(RUNS / 4)
  })
})

describe('a request behind a record', () => {
  it.each(WIRES)('is not written anew where steps were taken out behind a message that stayed: %s', async (wire) => {
    let written = 0
    const codec = codecs.get(wire)!
    const counting: Codec = { ...codec, encode: (conversation) => (written++, codec.encode(conversation)) }
    const { deps } = testEngine()
    const session = createSession(async () => ({ ...deps, codecs: new Map([[wire, counting]]) }), { id: 's' })
    const stepOf = (n: number): PlainTurn['steps'][number] => ({
      text: `Step ${n}.`,
      calls: [{ args: { path: `src/file-${n}.ts` }, result: resultText(n, 1_500) }],
    })
    // The newest message of a person stays where it is, and steps behind it go: the newest ones follow on both.
    const bodyOf = (steps: number): string =>
      JSON.stringify(
        plainBody(wire, [
          { user: 'Find the bug in the parser.', steps: [stepOf(1)] },
          { user: 'Go on.', steps: Array.from({ length: steps }, (_, n) => stepOf(n + 2)) },
        ]),
      )
    for (let steps = 1, since = -1; since < 3; steps++) {
      const before = written
      const turn = await session.prepare({
        format: wire,
        body: bodyOf(steps),
        targets: [{ model: 'm', window: 16_000 }],
      })
      if (turn.report.newEpoch !== undefined) since = 0
      else if (since >= 0) since++
      if (since === 3) {
        expect(turn.text).toContain('Go on.')
        expect(written - before).toBe(0)
      }
    }
  })
})
