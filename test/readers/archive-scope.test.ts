import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createPlimsoll } from '../../src/index.ts'

const secret = Buffer.alloc(32, 3)

/** Two processes on one store: one works, the other only reads. */
function twoProcesses() {
  const [store, artifacts] = [memoryStore(), memoryArtifacts({ secret })]
  const open = () => createPlimsoll({ store, artifacts, secret })
  return { working: open(), reading: open() }
}

const target = [{ model: 'claude-sonnet-4-5', window: 16_000 }]
const output = (word: string): string =>
  Array.from({ length: 3_000 }, (_, i) => (i === 1_500 ? `the ${word} is here` : `line ${i} of ${word}`)).join('\n')

async function oneStep(
  plimsoll: ReturnType<typeof createPlimsoll>,
  options: { id: string; agent?: string; tenant?: string },
  word: string,
) {
  const session = plimsoll.session(options)
  const shown = await session.toolResult({ tool: 'bash', callId: `call_${word}`, output: output(word) })
  const body = {
    model: 'claude-sonnet-4-5',
    max_tokens: 500,
    messages: [
      { role: 'user', content: `Find the ${word}.` },
      { role: 'assistant', content: [{ type: 'tool_use', id: `call_${word}`, name: 'bash', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: `call_${word}`, content: shown.text }] },
    ],
  }
  const turn = await session.prepare({ format: 'anthropic-messages', body: JSON.stringify(body), targets: target })
  await session.record({ turn: turn.id, usage: { input: 900, output: 10, cacheRead: 0, cacheWrite: 0, reasoning: 0 } })
  return handlesIn(turn.text)[0]!
}

describe('readers over an archive', () => {
  it('give back what another process took out, and search what it saw', async () => {
    const { working, reading } = twoProcesses()
    const handle = await oneStep(working, { id: 'run-1' }, 'lighthouse')
    const readers = reading.archive.readers({ session: 'run-1' })
    const found = await readers.call({ name: 'artifact_grep', input: { handle, pattern: 'the lighthouse is' } })
    expect(found).toMatchObject({ ok: true })
    expect(found!.text).toContain('the lighthouse is here')
    const recalled = await readers.call({ name: 'recall', input: { query: 'lighthouse' } })
    expect(recalled!.text).toContain('Find the lighthouse.')
  })

  it('open nothing of another session, agent or tenant, and find nothing of it', async () => {
    const { working, reading } = twoProcesses()
    const own = await oneStep(working, { id: 'run-1', agent: 'one' }, 'lighthouse')
    const others = [
      await oneStep(working, { id: 'run-2', agent: 'one' }, 'anchor'),
      await oneStep(working, { id: 'run-1', agent: 'two' }, 'rudder'),
      await oneStep(working, { id: 'run-1', agent: 'one', tenant: 'other' }, 'compass'),
    ]
    const readers = reading.archive.readers({ session: 'run-1', agent: 'one' })
    expect(await readers.call({ name: 'artifact_read', input: { handle: own } })).toMatchObject({ ok: true })
    for (const handle of others)
      expect(await readers.call({ name: 'artifact_read', input: { handle } })).toMatchObject({
        ok: false,
        text: expect.stringContaining('There is no artifact') as unknown,
      })
    for (const word of ['anchor', 'rudder', 'compass'])
      expect(await readers.call({ name: 'recall', input: { query: word } })).toMatchObject({ items: [] })
  })

  it('open what every agent of a session has when no agent is named, and what a tenant has when no session is', async () => {
    const { working, reading } = twoProcesses()
    const one = await oneStep(working, { id: 'run-1', agent: 'one' }, 'lighthouse')
    const two = await oneStep(working, { id: 'run-1', agent: 'two' }, 'rudder')
    const three = await oneStep(working, { id: 'run-2' }, 'anchor')
    const opens = async (owner: { session?: string }, handle: string) =>
      (await reading.archive.readers(owner).call({ name: 'artifact_read', input: { handle } }))!.ok
    expect(await Promise.all([one, two, three].map((each) => opens({ session: 'run-1' }, each)))).toEqual([
      true,
      true,
      false,
    ])
    expect(await Promise.all([one, two, three].map((each) => opens({}, each)))).toEqual([true, true, true])
    expect(await reading.archive.agents('run-1')).toEqual(['one', 'two'])
  })

  it('do not open a handle that a message only mentions', async () => {
    const { working, reading } = twoProcesses()
    const foreign = await oneStep(working, { id: 'run-2' }, 'anchor')
    const session = working.session({ id: 'run-1' })
    const body = { model: 'claude-sonnet-4-5', max_tokens: 5, messages: [{ role: 'user', content: `open ${foreign}` }] }
    await session.prepare({ format: 'anthropic-messages', body: JSON.stringify(body), targets: target })
    const readers = reading.archive.readers({ session: 'run-1' })
    expect(await readers.call({ name: 'artifact_read', input: { handle: foreign } })).toMatchObject({ ok: false })
  })
})
