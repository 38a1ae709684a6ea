import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import type { Session } from '../../src/engine/session/session.ts'
import { resultText, toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const cyber = policyNamed('cyber-autoagent', {})
const output = (n: number): string => resultText(n, 12_000)
const show = async (agent: Session, from: number, to: number): Promise<string[]> => {
  const handles: string[] = []
  for (let n = from; n < to; n++)
    handles.push((await agent.toolResult({ tool: 'nmap', output: output(n), window: 200_000 })).artifact!)
  return handles
}

describe('artifacts under the five-layer preset', () => {
  it('has the numbers of the document', () => {
    expect(cyber.retention).toEqual({ keep: 100, cleanAt: 150 })
  })

  it('keeps all that a live session references, however many, and the newest 100 when the others are gone', async () => {
    const { deps, session } = testEngine({ policy: cyber })
    const old = await show(session('old'), 0, 160)
    expect(new Set(old).size).toBe(160)
    expect(await deps.artifacts.list('local')).toHaveLength(160)
    const live = session('live')
    const [cited] = await show(live, 5, 6)
    expect(cited).toBe(old[5])
    await deps.artifacts.release('local', 'old')
    // The next clean-up comes when so many were written that the line may have been passed again.
    const own = await show(live, 1_000, 1_050)
    const left = new Set((await deps.artifacts.list('local', { limit: 1_000 })).map(({ handle }) => handle))
    for (const handle of [...own, cited!]) expect(left.has(handle)).toBe(true)
    expect(left.size).toBeLessThan(150)
    expect(left.has(old[0]!)).toBe(false)
    expect(left.has(old[159]!)).toBe(true)
  })

  it('also counts what requests bring and epochs take out', async () => {
    const { deps, session } = testEngine({ policy: cyber })
    const gone: number[] = []
    const prune = deps.artifacts.prune.bind(deps.artifacts)
    Object.assign(deps.artifacts, {
      prune: async (...args: Parameters<typeof prune>) => {
        gone.push(1)
        return prune(...args)
      },
    })
    await session().prepare({
      format: 'anthropic-messages',
      body: toolLoop({ steps: 3, resultLength: 12_000 }),
      targets: [{ model: 'claude-sonnet-4-5', window: 200_000 }],
    })
    expect(gone).toHaveLength(1)
  })

  it('keeps what a session shows although another one stored it', async () => {
    const { deps, session } = testEngine({ policy: cyber })
    const request = {
      format: 'anthropic-messages',
      body: toolLoop({ steps: 2, resultLength: 12_000 }),
      targets: [{ model: 'claude-sonnet-4-5', window: 200_000 }],
    }
    const first = await session('first').prepare(request)
    const second = await session('second').prepare(request)
    expect(second.text).toBe(first.text)
    await deps.artifacts.release('local', 'first')
    await deps.artifacts.prune('local', { keep: 0 })
    for (const { handle } of first.report.shortened) expect(await deps.artifacts.stat('local', handle)).toBeDefined()
    expect(first.report.shortened).toHaveLength(2)
  })

  it('costs no result when the store cannot clean up', async () => {
    const engine = testEngine({ policy: cyber, sessions: memoryStore() })
    Object.assign(engine.deps.artifacts, { prune: () => Promise.reject(new Error('busy')) })
    expect(await show(engine.session(), 0, 1)).toHaveLength(1)
    expect(engine.events).toContainEqual(expect.objectContaining({ type: 'warning', topic: 'artifacts' }))
  })
})
