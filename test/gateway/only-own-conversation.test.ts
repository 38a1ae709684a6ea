import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { createPlimsoll } from '../../src/index.ts'
import type { Wire } from '../../src/testing/referee/index.ts'
import { asyncProperty } from '../support/property.ts'
import { PLAIN_WIRES, type PlainCall, type Turn } from './plain-wires.ts'

/** Sets of conversations on each wire. */
const RUNS = 15

/** One conversation of a set in which names, keys, openings and prefixes coincide. */
interface Talk {
  readonly key: string
  readonly session: string | undefined
  readonly agent: string | undefined
  readonly opening: string
  readonly answer: string
  /** Steps that every conversation of this length has word for word. */
  readonly shared: number
  readonly turns: number
}

/** What the model asks for, in one turn of some conversation. */
interface Asked {
  readonly tool: number
  /** Which conversation the question is about. */
  readonly about: number
  readonly handle: number
}

const talk: fc.Arbitrary<Talk> = fc.record({
  key: fc.constantFrom('key-1', 'key-1', 'key-2'),
  session: fc.constantFrom(undefined, undefined, 'same'),
  agent: fc.constantFrom(undefined, undefined, 'one', 'two'),
  opening: fc.constantFrom('Hi!', 'Hi!', 'Fix the login bug.'),
  answer: fc.constantFrom('Hello! How can I help?', 'Hello! How can I help?', 'Yes?'),
  shared: fc.nat(2),
  turns: fc.integer({ min: 1, max: 3 }),
})
const plan = fc.record({
  talks: fc.array(talk, { minLength: 2, maxLength: 4 }),
  asked: fc.array(fc.record({ tool: fc.nat(4), about: fc.nat(3), handle: fc.nat(30) }), {
    minLength: 12,
    maxLength: 12,
  }),
  order: fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
})

const secretOf = (index: number): string => `SECRET-${index}-${'abcd'[index]!.repeat(6)}`
/** Large enough to be shown as a preview: the middle is only behind its handle. */
const logOf = (index: number, turn: number): string =>
  Array.from({ length: 2_000 }, (_, line) =>
    line === 1_000
      ? `vault ${secretOf(index)} in turn ${turn}`
      : `line ${line} of ${index} in turn ${turn}, nothing here`,
  ).join('\n')

function historyOf({ opening, answer, shared }: Talk, index: number, turns: number): Turn[] {
  const history: Turn[] = [{ user: opening }]
  if (shared > 0) history.push({ assistant: answer }, { user: 'Go on.' })
  for (let i = 0; i < shared; i++) history.push({ id: `call_${i}`, result: `the same for everybody ${i}` })
  for (let turn = 1; turn <= turns; turn++) {
    // Ids repeat from conversation to conversation, as some servers give them.
    history.push({ id: `call_${shared + turn}`, result: logOf(index, turn) })
    history.push({ assistant: 'Noted.' }, { user: `My password is ${secretOf(index)}, turn ${turn}.` })
  }
  return history
}

function questionOf({ tool, about, handle }: Asked, handles: readonly string[]): PlainCall {
  const secret = secretOf(about)
  const known = handles[handle % Math.max(1, handles.length)] ?? `art_${'0'.repeat(26)}`
  const other = handles[(handle + 1) % Math.max(1, handles.length)] ?? known
  return [
    { name: 'recall', input: { query: `password vault ${secret}` } },
    { name: 'artifact_read', input: { handle: known, start: 1_000, count: 3 } },
    { name: 'artifact_grep', input: { handle: known, pattern: 'SECRET' } },
    {
      name: 'artifact_query',
      input: { handle: known, also: [other], sql: "SELECT * FROM t WHERE line LIKE '%SECRET%'" },
    },
    {
      name: 'artifact_run',
      input: { handle: known, also: [other], code: 'artifacts.map((a) => a.text).join().match(/SECRET.{20}/g)' },
    },
  ][tool]!
}

const WIRES = Object.keys(PLAIN_WIRES) as Wire[]

describe.each(WIRES)('what a model can look up (%s)', (name) => {
  const wire = PLAIN_WIRES[name]

  it('is of its own conversation, whatever it asks for and whoever began alike', async () => {
    let looked = 0
    let found = 0
    await asyncProperty(
      plan,
      async ({ talks, asked, order }) => {
        const handles: string[] = []
        let question: PlainCall | undefined
        let isAnswered = false
        let told = ''
        const answer = (said: string | PlainCall): Response =>
          new Response(JSON.stringify(wire.answer(said)), { headers: { 'content-type': 'application/json' } })
        const plimsoll = createPlimsoll({
          store: 'memory:',
          artifacts: 'memory:',
          secret: Buffer.alloc(32, 7),
          window: 64_000,
          fetch: async (_, init) => {
            const body = Buffer.from(init?.body as Uint8Array).toString()
            for (const handle of handlesIn(body)) if (!handles.includes(handle)) handles.push(handle)
            if (question !== undefined) {
              const asks = question
              question = undefined
              isAnswered = true
              return answer(asks)
            }
            told = isAnswered ? JSON.stringify(wire.last(JSON.parse(body) as Record<string, unknown>)) : ''
            return answer('Ok.')
          },
        })
        try {
          const turns = talks.map(() => 0)
          for (const [i, at] of order.entries()) {
            const index = at % talks.length
            const each = talks[index]!
            turns[index] = Math.min(each.turns, turns[index]! + 1)
            question = questionOf(asked[i]!, handles)
            isAnswered = false
            told = ''
            const response = await plimsoll.fetch(wire.url, {
              method: 'POST',
              headers: {
                'content-type': 'application/json',
                ...wire.key(each.key),
                ...(each.session !== undefined && { 'x-plimsoll-session': each.session }),
                ...(each.agent !== undefined && { 'x-plimsoll-agent': each.agent }),
              },
              body: JSON.stringify(wire.request(historyOf(each, index, turns[index]!))),
            })
            await response.text()
            expect(response.status).toBe(200)
            if (told !== '') looked += 1
            if (told.includes(secretOf(index))) found += 1
            // What was asked for is not what came back: only the answer counts.
            for (const other of talks.keys()) {
              if (other !== index) expect(told.replace(/mentions .*/, '')).not.toContain(secretOf(other))
            }
          }
        } finally {
          await plimsoll.close()
        }
      },
      RUNS,
    )
    // Otherwise nothing was shown at all.
    expect(looked).toBeGreaterThan(4 * RUNS)
    expect(found).toBeGreaterThan(RUNS / 2)
  }, 120_000)
})
