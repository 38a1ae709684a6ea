import { describe, expect, it } from 'vitest'

import { loadTranscript } from '../../src/lab/transcripts/load.ts'
import type { RecordedCall } from '../../src/lab/transcripts/recording.ts'
import { fixtureText, loadFixture, onlyRecording } from './fixtures.ts'
import { brokenInvariants } from './invariants.ts'

const SAMPLES = [
  { file: 'claude-code.jsonl', format: 'claude-code', wire: 'anthropic-messages' },
  { file: 'codex-rollout.jsonl', format: 'codex-rollout', wire: 'openai-responses' },
  { file: 'gemini-cli.json', format: 'gemini-cli', wire: 'gemini' },
  { file: 'gemini-cli.jsonl', format: 'gemini-cli', wire: 'gemini' },
  { file: 'copilot-cli.jsonl', format: 'copilot-cli', wire: 'openai-chat' },
  { file: 'pi.jsonl', format: 'pi', wire: 'anthropic-messages' },
  { file: 'cline.json', format: 'cline', wire: 'anthropic-messages' },
  { file: 'opencode.json', format: 'opencode', wire: 'anthropic-messages' },
  { file: 'openhands.json', format: 'openhands', wire: 'openai-chat' },
  { file: 'openhands-old.json', format: 'openhands', wire: 'openai-chat' },
  { file: 'swe-agent.traj', format: 'swe-agent', wire: 'openai-chat' },
  { file: 'tau-bench.json', format: 'tau-bench', wire: 'openai-chat' },
  { file: 'tau2-bench.json', format: 'tau2-bench', wire: 'openai-chat' },
  { file: 'openai-chat.json', format: 'openai-chat', wire: 'openai-chat' },
  { file: 'anthropic.json', format: 'anthropic', wire: 'anthropic-messages' },
] as const

describe('transcript formats', () => {
  it.each(SAMPLES)('recognises $file by its content', ({ file, format, wire }) => {
    const { recordings } = loadTranscript(fixtureText(file), 'no-name-to-guess-from')
    expect(recordings.length).toBeGreaterThan(0)
    for (const recording of recordings) expect(recording).toMatchObject({ format, wire })
  })

  it.each(SAMPLES)('finds the calls of $file, in order and with complete pairs', ({ file }) => {
    for (const options of [{}, { resend: 'everything' }, { thinking: 'drop' }, { parallel: 'as-written' }] as const) {
      for (const recording of loadFixture(file, options).recordings) {
        expect(recording.calls.length).toBeGreaterThan(0)
        expect(brokenInvariants(recording)).toEqual([])
      }
    }
  })
})

const callsIn = ({ response }: RecordedCall) => response.parts.filter(({ kind }) => kind === 'call')

const line = (value: object) => JSON.stringify({ isSidechain: false, ...value })
const user = (uuid: string, parentUuid: string | null, content: string) =>
  line({ type: 'user', uuid, parentUuid, message: { role: 'user', content } })
const assistant = (uuid: string, parentUuid: string, text: string) =>
  line({
    type: 'assistant',
    uuid,
    parentUuid,
    message: {
      id: `msg_${uuid}`,
      model: 'claude-sonnet-4-5',
      role: 'assistant',
      content: [{ type: 'text', text }],
    },
  })

const questions = (body: string) =>
  [...body.matchAll(/first question|wrong question|better question|and then/g)].map(String)

describe('claude-code', () => {
  it('takes one response for one call and its usage once', () => {
    const recording = onlyRecording(loadFixture('claude-code.jsonl'))
    const lines = fixtureText('claude-code.jsonl').trim().split('\n')
    const ids = new Set<string>()
    for (const line of lines) {
      const value = JSON.parse(line) as { type: string; message?: { id?: string } }
      if (value.type === 'assistant') ids.add(value.message?.id ?? '')
    }
    expect(recording.calls).toHaveLength(ids.size)
    expect(recording.calls.every((call) => call.outputPartial === true)).toBe(true)
    const usage = recording.calls[0]?.usage
    expect(usage).toMatchObject({ input: 35869, cacheRead: (usage?.input ?? 0) - (usage?.cacheWrite ?? 0) - 10 })
  })

  it('puts the results of parallel calls into one message, though they were written between the calls', () => {
    const merged = onlyRecording(loadFixture('claude-code.jsonl'))
    const written = onlyRecording(loadFixture('claude-code.jsonl', { parallel: 'as-written' }))
    const parallel = merged.calls.filter((call) => callsIn(call).length > 1)
    expect(parallel.length).toBeGreaterThan(0)
    expect(written.calls.length).toBeGreaterThan(merged.calls.length)
    expect(written.calls.every((call) => callsIn(call).length <= 1)).toBe(true)
  })

  it('starts again from the summary after a compaction, unless everything is resent', () => {
    const recorded = onlyRecording(loadFixture('claude-code.jsonl'))
    const everything = onlyRecording(loadFixture('claude-code.jsonl', { resend: 'everything' }))
    const [compaction] = recorded.compactions
    expect(compaction?.tokensBefore).toBe(167369)
    const after = recorded.calls[compaction?.beforeCall ?? -1]
    expect(after?.from).toBeGreaterThan(0)
    expect(recorded.messages[after?.from ?? -1]?.json()).toContain('being continued from a previous conversation')
    expect(everything.calls.every((call) => call.from === 0)).toBe(true)
    expect(everything.messages.some((message) => message.json().includes('being continued from a previous'))).toBe(
      false,
    )
  })

  it('leaves thinking out of the requests and not out of the answers when told so', () => {
    const recording = onlyRecording(loadFixture('claude-code.jsonl', { thinking: 'drop' }))
    expect(recording.messages.some((message) => message.json().includes('"thinking"'))).toBe(false)
    expect(recording.calls.some((call) => call.response.parts.some(({ kind }) => kind === 'reasoning'))).toBe(true)
  })

  it('reads two objects on one line and says so', () => {
    const text = fixtureText('claude-code.jsonl').replace('\n', '')
    const loaded = loadTranscript(text, 'glued')
    expect(loaded.problems[0]).toEqual({ line: 1, message: '2 JSON objects are on one line; all were read.' })
    expect(onlyRecording(loaded).calls).toHaveLength(onlyRecording(loadFixture('claude-code.jsonl')).calls.length)
  })

  it('gives a sub-agent a recording of its own', () => {
    const side = fixtureText('claude-code.jsonl')
      .trim()
      .split('\n')
      .map((line, index) =>
        line
          .replace('"isSidechain":false', '"isSidechain":true,"agentId":"a7"')
          .replace(/"uuid":"/, `"uuid":"s${index}-`),
      )
    const loaded = loadTranscript(`${fixtureText('claude-code.jsonl')}${side.join('\n')}`, 'with-agent')
    expect(loaded.recordings.map((recording) => recording.name)).toEqual([undefined, 'a7'])
    expect(loaded.recordings[1]?.calls).toHaveLength(loaded.recordings[0]?.calls.length ?? -1)
  })

  it('skips lines that a resumed session copied', () => {
    const text = fixtureText('claude-code.jsonl')
    const once = onlyRecording(loadTranscript(text, 'once'))
    const twice = onlyRecording(loadTranscript(`${text}${text}`, 'twice'))
    expect(twice.calls).toHaveLength(once.calls.length)
  })

  it('leaves out what the user went back behind', () => {
    const lines = [
      user('u1', null, 'first question'),
      assistant('a1', 'u1', 'first answer'),
      user('u2', 'a1', 'wrong question'),
      assistant('a2', 'u2', 'wrong answer'),
      line({ type: 'system', subtype: 'turn_duration', uuid: 's1', parentUuid: 'a1' }),
      user('u3', 's1', 'better question'),
      assistant('a3', 'u3', 'better answer'),
      user('u4', 'a3', 'and then?'),
      assistant('a4', 'u4', 'the end'),
    ]
    const { calls } = onlyRecording(loadTranscript(lines.join('\n'), 'rewound'))
    expect(calls.map((call) => questions(call.body()))).toEqual([
      ['first question'],
      ['first question', 'wrong question'],
      ['first question', 'better question'],
      ['first question', 'better question', 'and then'],
    ])
    expect(calls[3]?.body()).not.toContain('wrong answer')
  })

  it('puts a note where an interrupted call has no result', () => {
    const lines = fixtureText('claude-code.jsonl').trim().split('\n')
    const result = lines.findIndex((line) => line.includes('"tool_result"'))
    const loaded = loadTranscript(lines.toSpliced(result, 1).join('\n'), 'interrupted')
    expect(loaded.problems.map(({ message }) => message)).toContainEqual(expect.stringContaining('has no result'))
    expect(brokenInvariants(onlyRecording(loaded))).toEqual([])
  })
})

describe('codex-rollout', () => {
  it('gives each call the usage of its token_count event', () => {
    const { calls } = onlyRecording(loadFixture('codex-rollout.jsonl'))
    const inputs = calls.flatMap((call) => (call.usage === undefined ? [] : [call.usage.input]))
    expect(inputs.length).toBeGreaterThan(2)
    expect(new Set(inputs).size).toBe(inputs.length)
  })

  it('continues from the replacement history after a compaction', () => {
    const { compactions, calls, messages } = onlyRecording(loadFixture('codex-rollout.jsonl'))
    const after = calls[compactions[0]?.beforeCall ?? -1]
    expect(after?.from).toBeGreaterThan(0)
    expect(messages[after?.from ?? -1]?.role).not.toBe('tool')
  })

  it('keeps encrypted reasoning as it is', () => {
    const { messages } = onlyRecording(loadFixture('codex-rollout.jsonl'))
    const item = { type: 'reasoning', summary: [], encrypted_content: 'gAAA', id: 'rs_1' }
    const lines = fixtureText('codex-rollout.jsonl').trim().split('\n')
    const at = lines.findIndex((line) => line.includes('"function_call"'))
    const line = JSON.stringify({ timestamp: '2026-06-22T12:11:20.036Z', type: 'response_item', payload: item })
    const recording = onlyRecording(loadTranscript(lines.toSpliced(at, 0, line).join('\n'), 'encrypted'))
    expect(recording.messages).toHaveLength(messages.length + 1)
    expect(recording.messages.map((message) => message.json())).toContain(JSON.stringify(item))
  })
})

describe('gemini-cli', () => {
  it('replaces a message that is written again, and takes back what was rewound', () => {
    const { calls, messages } = onlyRecording(loadFixture('gemini-cli.jsonl'))
    expect(calls).toHaveLength(3)
    expect(callsIn(calls[0]!).map((call) => call.toolName)).toEqual(['read_file'])
    expect(messages.some((message) => message.json().includes('Change it to 80'))).toBe(false)
    expect(calls[0]?.usage).toEqual({ input: 1200, cacheRead: 1000, cacheWrite: 0, output: 50, reasoning: 30 })
  })
})

describe('gemini-cli compression', () => {
  const text = [
    { sessionId: 's', projectHash: 'p' },
    { id: 'u1', timestamp: '2026-05-02T08:00:00Z', type: 'user', content: 'old question' },
    { id: 'g1', timestamp: '2026-05-02T08:00:01Z', type: 'gemini', content: 'old answer' },
    {
      $set: {
        messages: [
          { id: 'x1', type: 'user', content: 'summary' },
          { id: 'x2', type: 'gemini', content: 'Got it.' },
        ],
      },
    },
    { id: 'u2', timestamp: '2026-05-02T08:01:00Z', type: 'user', content: 'new question' },
    { id: 'g2', timestamp: '2026-05-02T08:01:01Z', type: 'gemini', content: 'new answer' },
    { id: 'g3', timestamp: '2026-05-02T08:01:02Z', type: 'gemini', content: 'one more thing' },
  ]
    .map((record) => JSON.stringify(record))
    .join('\n')

  it('continues from what was put in place of the history', () => {
    const { calls, compactions } = onlyRecording(loadTranscript(text, 'compressed'))
    expect(compactions).toEqual([{ line: 4, beforeCall: 1 }])
    expect(calls).toHaveLength(3)
    expect(calls[1]?.body()).toContain('summary')
    expect(calls[1]?.body()).not.toContain('old question')
  })

  it('resends the old history instead when everything is resent', () => {
    const { calls } = onlyRecording(loadTranscript(text, 'compressed', { resend: 'everything' }))
    expect(calls[1]?.body()).toContain('old question')
    expect(calls[1]?.body()).not.toContain('summary')
  })

  it('lets the client ask a model to go on that spoke twice', () => {
    const { calls } = onlyRecording(loadTranscript(text, 'compressed'))
    const { contents } = JSON.parse(calls[2]?.body() ?? '') as { contents: { role: string }[] }
    expect(contents.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model', 'user'])
  })
})

describe('call ids that begin anew', () => {
  const history = [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: ['call_0', 'call_1'].map((id) => ({
        id,
        type: 'function',
        function: { name: 'ls', arguments: '{}' },
      })),
    },
    { role: 'tool', tool_call_id: 'call_0', content: 'a' },
    { role: 'tool', tool_call_id: 'call_1', content: 'b' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'cat', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_0', content: 'c' },
    { role: 'assistant', content: 'done' },
  ]

  it('become unique, together with the results that answer them', () => {
    const loaded = loadTranscript(JSON.stringify(history), 'reused')
    const recording = onlyRecording(loaded)
    expect(brokenInvariants(recording)).toEqual([])
    const { messages } = JSON.parse(recording.calls[2]?.body() ?? '') as { messages: typeof history }
    expect(messages.slice(0, 4)).toEqual(history.slice(0, 4))
    expect(messages[4]?.tool_calls?.[0]?.id).toBe('call_0_2')
    expect(messages[5]?.tool_call_id).toBe('call_0_2')
    expect(loaded.problems).toEqual([{ line: 1, message: 'Call id call_0 was used before; this call got a new id.' }])
  })
})

describe('tau2-bench', () => {
  it("hides the simulated user's own tools from the agent, and counts no call for the greeting", () => {
    const recording = onlyRecording(loadFixture('tau2-bench.json'))
    expect(recording.messages[0]?.json()).toContain('Hi! How can I help you')
    expect(recording.calls[0]?.to).toBe(2)
    const text = recording.messages.map((message) => message.json()).join('\n')
    expect(text).not.toContain('requestor')
  })
})

describe('opencode', () => {
  it('splits a message into its steps, each a call with its own usage', () => {
    const { calls } = onlyRecording(loadFixture('opencode.json'))
    expect(calls.map((call) => call.usage?.input)).toEqual([1010, 1075, 1172])
    expect(calls[2]?.body()).toContain('File has changed since it was read')
  })
})

describe('anthropic', () => {
  it('writes the recorded blocks back, signature included', () => {
    const { calls } = onlyRecording(loadFixture('anthropic.json'))
    const body = JSON.parse(calls[1]?.body() ?? '') as { messages: unknown[]; system: string; tools: unknown[] }
    const original = JSON.parse(fixtureText('anthropic.json')) as { messages: unknown[]; tools: unknown[] }
    expect(body.messages.slice(1)).toEqual(original.messages.slice(1, 3))
    expect(body.tools).toEqual(original.tools)
  })
})
