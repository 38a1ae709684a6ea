import { describe, expect, it } from 'vitest'
import { isPlimsollError } from '../../src/core/errors.ts'
import { call, createReferee, say, think, type Script } from '../../src/testing/referee/index.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { policies, policyNamed } from '../../src/engine/presets/index.ts'
import { testEngine } from '../support/engine.ts'
import { SEED } from '../support/property.ts'

const MODEL = 'claude-fable-5-1'
const WINDOW = 6_000
/** Epochs, each a plan of edits; `npm run test:long` makes ten times as many. */
const PLANS = 60 * Number(process.env['PLIMSOLL_LONG'] ?? 1)

/** A small generator, so that each session has sizes of its own and the same ones in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const script: Script = (turn) =>
  turn.number % 23 === 0
    ? think(`thought ${turn.number}`, say('Done for now.'))
    : think(`thought ${turn.number}`, call('read', { path: `f${turn.number}` }))

interface Message {
  role: 'user' | 'assistant'
  content: unknown
}

/** Runs an agent whose provider binds every thinking block to what it had been sent before it. */
async function runSession(
  seed: number,
  steps: number,
): Promise<{ epochs: number; refusals: readonly string[]; dropped: number }> {
  const random = numbers(seed)
  // Only the binding is judged here, so the provider's own window is out of the way.
  const referee = createReferee({ wire: 'anthropic-messages', window: 10 * WINDOW, script, seed })
  const names = [...policies.keys()]
  // Half of the sessions under the default; the others show that no preset's steps break a binding either.
  const name = random(2) === 0 ? 'plimsoll' : names[random(names.length)]!
  const engine = testEngine({ policy: policyNamed(name) })
  const deps = { ...engine.deps, catalogue: bundledCatalogue() }
  const { createSession } = await import('../../src/engine/session/session.ts')
  const session = createSession(async () => deps, { id: 'bound' })
  const messages: Message[] = [{ role: 'user', content: 'Read everything.' }]
  const refusals: string[] = []
  for (let step = 0; step < steps; step++) {
    const body = {
      model: MODEL,
      max_tokens: 256,
      thinking: { type: 'adaptive' },
      tools: [{ name: 'read', input_schema: { type: 'object' } }],
      messages,
    }
    const turn = await session
      .prepare({ format: 'anthropic-messages', body, targets: [{ model: MODEL, window: WINDOW }] })
      .catch((error: unknown) => {
        // A preset that folds nothing ends in its typed error when its window is full.
        if (isPlimsollError(error, 'fixed-overhead')) return undefined
        throw error
      })
    if (turn === undefined || turn.verdict.kind === 'halt') break
    const response = await referee.handle({
      method: 'POST',
      path: '/v1/messages',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'k',
        'anthropic-version': '2023-06-01',
        ...turn.headers,
      },
      body: Buffer.from(turn.text),
    })
    const chunks: Uint8Array[] = []
    for await (const chunk of response.body) chunks.push(chunk)
    const answer = JSON.parse(Buffer.concat(chunks).toString()) as { content?: { type: string; id?: string }[] }
    if (answer.content === undefined) {
      refusals.push(JSON.stringify(answer))
      break
    }
    messages.push({ role: 'assistant', content: answer.content })
    const used = answer.content.filter((block) => block.type === 'tool_use')
    const content =
      used.length === 0
        ? `And now part ${step}.`
        : used.map((block) => ({
            type: 'tool_result',
            tool_use_id: block.id,
            content: resultText(step, 200 + random(3_000)),
          }))
    messages.push({ role: 'user', content })
  }
  const epochs = engine.events.filter((event) => event.type === 'epoch-declared').length
  return { epochs, refusals, dropped: referee.log.reduce((sum, exchange) => sum + exchange.droppedBlocks.length, 0) }
}

describe('thinking that is bound to its prefix', () => {
  it(`is never refused, whatever is folded (seed ${SEED})`, async () => {
    let epochs = 0
    for (let seed = 0; epochs < PLANS; seed++) {
      const run = await runSession(SEED + seed, 60)
      expect(run.refusals).toEqual([])
      epochs += run.epochs
    }
    console.info(`${epochs} plans, none refused`)
  }, 3_600_000)
})
