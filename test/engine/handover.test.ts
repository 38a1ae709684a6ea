import { describe, expect, it } from 'vitest'
import { isHandle, type Handle } from '../../src/core/handles.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import type { PreparedTurn } from '../../src/engine/prepare/prepare.ts'
import type { SummaryAnswer } from '../../src/ports/summarizer.ts'
import { fakeSummarizer, summarisingEngine } from '../pains/support/summarizer.ts'
import { inJson, prepareMessages, runLoop } from '../pains/support/loop.ts'
import { plainBody, type PlainTurn } from '../pains/support/plain-bodies.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { png } from '../rules/case.ts'
import { WIRES } from '../support/generators/index.ts'

const steps = (count: number, size = 900): PlainTurn['steps'] =>
  Array.from({ length: count }, (_, n) => ({
    calls: [{ name: 'bash', args: { command: `step ${n}` }, result: resultText(n, size) }],
  }))

const SPEC = Array.from({ length: 60 }, (_, n) => `Requirement ${n}: the value of field_${n} stays below ${n * 7}.`)
const DEMAND = 'THE REAL TASK. Never touch the database. Deploy only to staging-7.'

describe.each(WIRES)('a compaction on %s', (wire) => {
  const body = (spec: string): string =>
    JSON.stringify(
      plainBody(wire, [
        { user: '<environment_context><cwd>/repo</cwd></environment_context>', steps: [], answer: 'Ready.' },
        { user: `${DEMAND}\n${spec}`, steps: steps(20), answer: 'Phase one is done. Shall I go on?' },
        { user: 'Yes, go on.', steps: steps(20) },
      ]),
    )
  const prepare = (text: string): Promise<PreparedTurn> =>
    testEngine()
      .session()
      .prepare({ format: wire, body: text, targets: [{ model: 'm', window: 8_000 }] })

  it('keeps every message that a person wrote, word for word, though it is neither the first nor the newest', async () => {
    const turn = await prepare(body(SPEC.slice(0, 20).join('\n')))
    expect(turn.report.newEpoch).toBeDefined()
    for (const line of [DEMAND, ...SPEC.slice(0, 20)]) expect(turn.text).toContain(inJson(line))
  })

  it('shows head, tail and handle of a message that is too long for the record', async () => {
    const turn = await prepare(
      body(
        Array.from({ length: 8 }, () => SPEC)
          .flat()
          .join('\n'),
      ),
    )
    expect(turn.report.newEpoch).toBeDefined()
    expect(turn.text).toContain(DEMAND)
    expect(turn.text).toContain(inJson(SPEC.at(-1)!))
    expect(turn.text).toMatch(/the whole message is stored as art_/)
  })
})

describe('the record', () => {
  const record = async (turns: readonly PlainTurn[], window = 8_000): Promise<string> => {
    const text = JSON.stringify(plainBody('anthropic-messages', turns))
    const { edits } = await testEngine()
      .session()
      .prepare({ format: 'anthropic-messages', body: text, targets: [{ model: 'm', window }] })
    return edits.flatMap((edit) => (edit.op === 'insert' ? [edit.text] : [])).join('\n')
  }

  it('keeps within its room however many messages people wrote: those that say most, the others whole behind one handle', async () => {
    const { session, deps } = testEngine()
    const note = (n: number): string =>
      n % 10 === 0
        ? `Berth ${n * 7} belongs to the pilot cutter ${n}, until the tide of day ${n}.`
        : `Thanks, go on with it. ${n}`
    const turns = Array.from({ length: 400 }, (_, n) => ({ user: note(n), steps: [], answer: 'Noted.' }))
    const plain = plainBody('anthropic-messages', [...turns, { user: 'Which are free?', steps: [] }]) as object
    // A model without any tool is told of no handle.
    const body = JSON.stringify({ ...plain, tools: [{ name: 'bash', input_schema: { type: 'object' } }] })
    const turn = await session().prepare({
      format: 'anthropic-messages',
      body,
      targets: [{ model: 'm', window: 4_000 }],
    })
    expect(turn.load.count.tokens).toBeLessThanOrEqual(0.92 * turn.limit.tokens)
    const [, handle] = /Messages whose numbers are missing.* are stored whole as (art_\w+)/.exec(turn.text)!
    const stored = Buffer.from((await deps.artifacts.read('local', handle as Handle))!).toString()
    // Each of them is either in view or behind that handle, word for word.
    const left = Array.from({ length: 400 }, (_, n) => note(n)).filter((text) => !turn.text.includes(text))
    expect(left.filter((text) => !stored.includes(text))).toEqual([])
    // What says something is in view before what says nothing.
    expect(left.length).toBeGreaterThan(50)
    expect(left.filter((text) => text.startsWith('Berth'))).toEqual([])
  })

  it.each([14, 18, 22, 26, 30, 60])(
    'never cuts the line of a picture, nor a short message into pieces: %i of them',
    async (count) => {
      const { session, deps } = testEngine()
      const picture = (n: number): string =>
        Buffer.concat([Buffer.from(png(64, 64), 'base64'), Buffer.alloc(900, n)]).toString('base64')
      const words = (n: number): string => `Screenshot ${n}: what is wrong with the berths on it?`
      const messages = Array.from({ length: count }, (_, n) => [
        {
          role: 'user',
          content: [
            { type: 'text', text: words(n) },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture(n) } },
          ],
        },
        { role: 'assistant', content: resultText(n, 3_000) },
      ]).flat()
      const body = JSON.stringify({
        model: 'm',
        max_tokens: 100,
        messages: [...messages, { role: 'user', content: 'Sum up.' }],
      })
      const turn = await session().prepare({
        format: 'anthropic-messages',
        body,
        targets: [{ model: 'm', window: 5_000 }],
      })
      expect(turn.report.newEpoch).toBeDefined()
      expect(turn.text).not.toMatch(/omitted \d+ of \d+ chars/)
      const opened = await Promise.all(
        [...turn.text.matchAll(/art_\w+/g)].map(async ([handle]) =>
          Buffer.from((await deps.artifacts.read('local', handle as Handle))!),
        ),
      )
      const all = [
        turn.text,
        ...opened.map((bytes) => bytes.toString('base64')),
        ...opened.map((bytes) => bytes.toString()),
      ].join('\n')
      for (let n = 0; n < count; n++) expect(all).toContain(words(n))
      // A picture is in view, or its own line with a handle is; or the handle of the oldest messages opens that line.
      const lines = [...all.matchAll(/stored as (art_\w+)/g)].map(([, handle]) => handle as Handle)
      const pictures = await Promise.all(lines.map(async (handle) => deps.artifacts.read('local', handle)))
      const found = pictures.flatMap((bytes) => (bytes === undefined ? [] : [Buffer.from(bytes).toString('base64')]))
      for (let n = 0; n < count; n++)
        expect(
          [turn.text, ...found].some((text) => text.includes(picture(n))),
          `picture ${n}`,
        ).toBe(true)
    },
  )

  it('has a line for each result of an action in text, whatever room its excerpts have', async () => {
    const read = (n: number): string => `Let me look.\n<read_file><path>src/f${n}.ts</path></read_file>`
    const given = (n: number): string => `[read_file for 'src/f${n}.ts'] Result:\n${resultText(n, 2_500)}`
    const turns = Array.from({ length: 20 }, (_, n) => ({
      user: n === 0 ? 'Fix the parser' : given(n - 1),
      steps: [],
      answer: read(n),
    }))
    const text = await record([...turns, { user: given(19), steps: [] }])
    const folded = [...text.matchAll(/<path>src\/f(\d+)\.ts/g)].map(([, n]) => Number(n))
    expect(folded.length).toBeGreaterThan(10)
    for (const n of folded)
      expect(text).toMatch(new RegExp(`^« \\[read_file for 'src/f${n}\\.ts'\\] Result: \\(\\d+ lines`, 'm'))
    expect(text).not.toContain('What the user said')
    // Its requests declare no tools, so none of ours either: it is told what it can do in its own protocol.
    expect(text).toContain('An action that only reads can be repeated as it stands below to see its output again.')
  })

  it('has what is still open of a plan, however little room there is', async () => {
    const todos = Array.from({ length: 40 }, (_, n) => ({
      content: `Step ${n}: move the handlers of module_${n} behind the new interface and adapt their tests`,
      status: n < 34 ? 'completed' : n === 34 ? 'in_progress' : 'pending',
    }))
    const planned = { calls: [{ name: 'TodoWrite', args: { todos }, result: 'ok' }] }
    // A task that leaves the record a few hundred tokens.
    const text = await record(
      [{ user: `Begin. ${SPEC.concat(SPEC).join(' ')}`, steps: [planned, ...steps(40)!] }],
      8_000,
    )
    for (const { content, status } of todos) {
      if (status !== 'completed') expect(text).toContain(`${status === 'pending' ? '[ ]' : '[~]'} ${content}`)
    }
    expect(text).toContain('(34 closed entries left out)')
  })

  it('has the plan once, and none of the answers to the calls that wrote it', async () => {
    const text = await record([
      {
        user: 'Begin',
        steps: [
          {
            calls: [
              {
                name: 'TaskCreate',
                args: { subject: 'Patch the parser' },
                result: 'Task #1 created: Patch the parser',
              },
            ],
          },
          {
            calls: [
              {
                name: 'TaskUpdate',
                args: { taskId: '1', status: 'in_progress' },
                result: 'Updated task #1 status at the board',
              },
            ],
          },
          ...steps(40)!,
        ],
        answer: 'On it.',
      },
      { user: 'Go on', steps: steps(4) },
    ])
    expect(text).toContain('[~] Patch the parser')
    expect(text).not.toContain('Updated task #1')
  })

  it('has its parts in the order in which a colleague would write them', async () => {
    const text = await record([
      { user: 'Fix the lexer.', steps: steps(3), answer: 'The lexer drops the last token.' },
      {
        user: 'And the parser.',
        steps: [
          {
            calls: [
              { name: 'TodoWrite', args: { todos: [{ content: 'write tests', status: 'pending' }] }, result: 'ok' },
            ],
          },
          { calls: [{ name: 'edit', args: { path: 'src/parser.ts' }, result: 'done' }] },
          { calls: [{ name: 'bash', args: { command: 'npm test' }, result: 'Error: expected )\nexit code 1' }] },
          ...steps(30),
        ],
        answer: 'It is half done.',
      },
      { user: 'Go on.', steps: steps(10) },
    ])
    const parts = [
      '[Condensed record of',
      '$ npm test (exit 1, 40 calls ago): Error: expected )',
      'What the user said, in order:\n1. And the parser.',
      '[ ] write tests',
      'Files touched:\nsrc/parser.ts changed 1×',
      '· The lexer drops the last token.',
      'Excerpts, verbatim',
      '[End of the condensed record.]',
    ]
    const places = parts.map((part) => text.indexOf(part))
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })

  it('does not carry what a tool prints around every result', async () => {
    const noisy = Array.from({ length: 40 }, (_, n) => ({
      calls: [
        {
          args: { command: `step ${n}` },
          result: `Chunk ID: ${(n * 7919).toString(16)}\nWall time: 0.${n} seconds\n${resultText(n, 700)}`,
        },
      ],
    }))
    const text = await record([{ user: 'Look.', steps: noisy }])
    expect(text).toContain('Excerpts, verbatim')
    expect(text).not.toMatch(/Chunk ID|Wall time/)
  })

  it('treats results that arrive as user messages as results', async () => {
    const messages: object[] = [{ role: 'user', content: '<task>Fix the parser</task>' }]
    for (let n = 0; n < 30; n++) {
      messages.push({ role: 'assistant', content: `<read_file><path>src/f${n}.ts</path></read_file>` })
      messages.push({ role: 'user', content: `[read_file for 'src/f${n}.ts'] Result:\n${resultText(n, 1_500)}` })
    }
    const turn = await prepareMessages(testEngine().session(), messages)
    expect(turn.report.newEpoch).toBeDefined()
    expect(turn.text).not.toContain('What the user said')
    // Excerpts of the newest folded ones are there, and what the model asked for.
    expect(turn.text).toContain('· <read_file><path>src/f0.ts</path></read_file>')
    expect(turn.text).toMatch(/Excerpts, verbatim[^]*const value_\d+_1 = /)
  })

  it('leaves a line with a handle for every picture that leaves, and the handle opens it', async () => {
    const engine = testEngine()
    const data = (n: number): string => Buffer.from(`picture ${n} ${'x'.repeat(3_000)}`).toString('base64')
    const messages: object[] = [{ role: 'user', content: 'Judge my screenshots.' }]
    for (let n = 0; n < 12; n++) {
      messages.push({ role: 'assistant', content: `Seen. ${resultText(n, 1_200)}` })
      messages.push({
        role: 'user',
        content: [
          { type: 'text', text: `Screenshot number ${n}` },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: data(n) } },
        ],
      })
    }
    const turn = await prepareMessages(engine.session(), messages, 4_000)
    expect(turn.report.newEpoch).toBeDefined()
    const gone = Array.from({ length: 12 }, (_, n) => n).filter((n) => !turn.text.includes(data(n)))
    expect(gone.length).toBeGreaterThan(3)
    const opened: string[] = []
    for (const handle of turn.text.match(/art_[a-z0-9]+/g) ?? []) {
      const bytes = isHandle(handle) ? await engine.deps.artifacts.read('local', handle) : undefined
      if (bytes !== undefined) opened.push(Buffer.from(bytes).toString('base64'))
    }
    for (const n of gone) {
      expect(turn.text).toContain(`Screenshot number ${n}`)
      expect(opened).toContain(data(n))
    }
  })
})

describe('the gate', () => {
  it('measures each record before it is declared; the log and the event have the same shares', async () => {
    const engine = testEngine()
    const turn = await runLoop(engine.session(), { to: 60 })
    expect(turn.epoch).toBeDefined()
    const declared = engine.events.flatMap((event) => (event.type === 'epoch-declared' ? [event] : []))
    const logged: unknown[] = []
    for await (const { record } of engine.deps.sessions.read('local', 'test'))
      if (record.type === 'epoch') logged.push(record.recall)
    expect(declared.length).toBeGreaterThan(0)
    expect(logged).toEqual(declared.map(({ recall }) => recall))
    for (const { recall } of declared) expect(recall).toMatchObject({ demands: 1, plan: 1, errors: 1 })
  })

  const ACCOUNT = 'Findings: value_3_1 is computed in src/file-3.ts. Next step: read src/file-40.ts.'
  const answers = (texts: readonly string[]) =>
    fakeSummarizer((_, number): SummaryAnswer => ({ text: texts[(number - 1) % texts.length]!, stop: 'end' }))

  it('takes an account of what happened, between what code carries', async () => {
    const { agent } = summarisingEngine(answers([ACCOUNT]), policyNamed('plimsoll'))
    const { text } = await runLoop(agent, { to: 60 })
    expect(text).toContain(ACCOUNT)
    expect(text).toContain('Files touched')
  })

  it('asks once more, with what is wrong, for an account of something else', async () => {
    const fake = answers(['Bananas are yellow.', ACCOUNT])
    const { agent, events } = summarisingEngine(fake, policyNamed('plimsoll'))
    const turn = await runLoop(agent, { to: 60 })
    expect(events.some((event) => event.type === 'summary-rejected')).toBe(true)
    expect(fake.requests[1]!.system).toContain('Your last answer could not be used: it names nothing of what happened')
    expect(turn.text).toContain(ACCOUNT)
    expect(turn.text).not.toContain('Bananas')
  })

  it('lets code’s record serve when the second answer is no better', async () => {
    const fake = answers(['Bananas are yellow.'])
    const { agent, events } = summarisingEngine(fake, policyNamed('plimsoll'))
    const turn = await runLoop(agent, { to: 60 })
    const epochs = events.filter((event) => event.type === 'epoch-declared').length
    expect(fake.requests.length).toBeLessThanOrEqual(2 * epochs)
    expect(turn.text).not.toContain('Bananas')
    expect(turn.text).toContain('Condensed record')
  })
})
