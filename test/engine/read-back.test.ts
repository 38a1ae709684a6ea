import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { artifactReaders } from '../../src/engine/readers/artifact-readers.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine, type TestEngine } from '../support/engine.ts'

const FORMAT = 'anthropic-messages'

const readersOf = ({ deps }: TestEngine, maxBytes?: number) =>
  artifactReaders({
    store: deps.artifacts,
    tenant: 'local',
    provenance: deps.provenance,
    ...(maxBytes !== undefined && { maxBytes }),
  })

/** A request whose results are these texts, by a tool of a name that says nothing. */
function request(texts: readonly string[], window: number, format = FORMAT) {
  const messages = texts.flatMap((text, n) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `t${n}`, name: 'ask_store', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${n}`, content: text }] },
  ])
  const tools = [{ name: 'ask_store', description: 'x', input_schema: { type: 'object' } }]
  const body = {
    model: 'claude-sonnet-4-5',
    max_tokens: 512,
    tools,
    messages: [{ role: 'user', content: 'Go.' }, ...messages],
  }
  return { format, body, targets: [{ model: 'claude-sonnet-4-5', window }] }
}

const shownIn = (text: string): string[] =>
  (JSON.parse(text) as { messages: { content: unknown }[] }).messages.flatMap(({ content }) =>
    Array.isArray(content)
      ? (content as { type: string; content?: string }[]).flatMap((block) =>
          block.type === 'tool_result' ? [block.content ?? ''] : [],
        )
      : [],
  )

async function stored(engine: TestEngine): Promise<string> {
  const { handle } = await engine.deps.artifacts.put('local', Buffer.from(resultText(1, 80_000)), { session: 'test' })
  return handle
}

const count = async ({ deps }: TestEngine): Promise<number> => (await deps.artifacts.list('local')).length

describe('what a reader brought back', () => {
  it('passes a guard that would store it, by its seal and whatever the tool is called', async () => {
    const engine = testEngine({ policy: policyNamed('cyber-autoagent', {}) })
    const handle = await stored(engine)
    const { text } = await readersOf(engine).read({ handle, start: 1, count: 400 })
    expect(text.length).toBeGreaterThan(10_000)
    const verb = await engine.session().toolResult({ tool: 'ask_store', output: text, window: 200_000 })
    expect(verb).toMatchObject({ text, truncated: false })
    const turn = await engine.session().prepare(request([text], 200_000))
    expect(turn.report.untouched).toBe(true)
    expect(await count(engine)).toBe(1)
  })

  it('is stored like any output when only the name of its tool speaks for it, or the seal is forged', async () => {
    const engine = testEngine({ policy: policyNamed('cyber-autoagent', {}) })
    const handle = await stored(engine)
    const { text } = await readersOf(engine).read({ handle, start: 1, count: 400 })
    const forged = [resultText(2, 12_000), text.replace('const value_1_9 ', 'const value_1_8 ')]
    for (const [i, output] of forged.entries()) {
      const shown = await engine.session().toolResult({ tool: 'artifact_read', output, window: 200_000 })
      expect(shown.truncated).toBe(true)
      expect(await count(engine)).toBe(2 + i)
    }
  })

  it.each([
    [
      'toolResult',
      async (engine: TestEngine, text: string) =>
        (await engine.session().toolResult({ tool: 'ask_store', output: text, window: 6_000 })).text,
    ],
    [
      'a first send',
      async (engine: TestEngine, text: string) =>
        shownIn((await engine.session().prepare(request([text], 6_000))).text)[0]!,
    ],
  ] as const)(
    'gets shorter in a small window through %s, keeps its address and its seal, and is not stored',
    async (_, show) => {
      const engine = testEngine()
      const handle = await stored(engine)
      const { text } = await readersOf(engine).read({ handle, start: 1, count: 400 })
      const shown = await show(engine, text)
      expect(shown.length).toBeLessThan(text.length)
      // A quarter of 6,000 - 120 - 512, four characters to a token.
      expect(shown.length / 4).toBeLessThanOrEqual((6_000 - 256 - 512) * 0.25)
      expect(shown).toContain(`[shortened to fit; ${handle} has the whole]`)
      expect(engine.deps.provenance.handlesOf('local', shown)).toEqual([handle])
      expect(handlesIn(shown)).toEqual([handle])
      expect(await count(engine)).toBe(1)
    },
  )

  it('is known behind a reminder that the client put below it', async () => {
    const engine = testEngine({ policy: policyNamed('cyber-autoagent', {}) })
    const handle = await stored(engine)
    const { text } = await readersOf(engine).read({ handle, start: 1, count: 400 })
    const reminded = `${text}\n<system-reminder>Remember the plan.</system-reminder>`
    const turn = await engine.session().prepare(request([reminded], 200_000))
    expect(turn.report.untouched).toBe(true)
  })

  it.each(['plimsoll', 'autosre', 'cyber-autoagent', 'adk-code', 'ai-agent'])(
    'never gets a handle of its own in an epoch of %s',
    async (name) => {
      const engine = testEngine({ policy: policyNamed(name, {}) })
      const handle = await stored(engine)
      const readers = readersOf(engine, 8_000)
      const texts: string[] = []
      for (let n = 0; n < 12; n++) texts.push((await readers.read({ handle, start: 1 + n * 100, count: 150 })).text)
      const agent = engine.session()
      let last = ''
      for (let n = 1; n <= texts.length; n++) {
        const turn = await agent.prepare(request(texts.slice(0, n), 12_000)).catch(() => undefined)
        last = turn?.text ?? last
      }
      expect((await agent.audit()).some(({ type }) => type === 'epoch')).toBe(true)
      const answers = new Set(texts.map((text) => engine.deps.addressOf('local', Buffer.from(text))))
      for (const { handle: found } of await engine.deps.artifacts.list('local')) expect(answers.has(found)).toBe(false)
      for (const found of handlesIn(last)) expect(await engine.deps.artifacts.stat('local', found)).toBeDefined()
    },
  )
})

describe('a view that toolResult gave out', () => {
  it('is not stored again when a request brings it back, in another process too', async () => {
    const engine = testEngine()
    const output = resultText(3, 120_000)
    const { text, artifact } = await engine.session().toolResult({ tool: 'bash', output, window: 64_000 })
    expect(text.length).toBeGreaterThan(6_000)
    const turn = await engine.session().prepare(request([text], 4_000))
    const [shown] = shownIn(turn.text)
    expect(shown!.length).toBeLessThan(text.length)
    expect(handlesIn(shown!)).toEqual([artifact])
    expect(turn.report.shortened).toEqual([expect.objectContaining({ handle: artifact })])
    expect(await count(engine)).toBe(1)
  })
})

describe('a first-send view', () => {
  it('is made smaller from the original, not from the view, when an epoch squeezes it', async () => {
    const engine = testEngine()
    const agent = engine.session()
    const outputs = [1, 2, 3, 4, 5, 6].map((n) => resultText(n, 30_000))
    const before = await agent.prepare(request(outputs.slice(0, 2), 8_000))
    const whole = before.report.shortened.map(({ handle }) => handle)
    expect(whole).toHaveLength(2)
    const base = policyNamed('plimsoll', {})
    const policy = {
      ...base,
      water: { ...base.water, low: 0.02 },
      cascade: [{ step: 'squeeze' as const, floorTokens: 60, above: 0.1, to: 0.1 }],
    }
    const tight = testEngine({ policy, sessions: engine.deps.sessions })
    const session = tight.session()
    await session.compact()
    const after = await session.prepare(request(outputs.slice(0, 2), 8_000))
    expect(after.epoch).toBeDefined()
    const [first] = shownIn(after.text)
    expect(handlesIn(first!)).toEqual([whole[0]])
    expect(first).toContain('30,000 bytes')
    expect(first).not.toContain('(plimsoll')
    expect(await count(tight)).toBe(0)
  })
})
