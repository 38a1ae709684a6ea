import { describe, expect, it } from 'vitest'

import { loadTranscript } from '../../src/formats/transcripts/load.ts'
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
    const parallel = merged.calls.filter((call) => call.response.calls.length > 1)
    expect(parallel.length).toBeGreaterThan(0)
    expect(written.calls.length).toBeGreaterThan(merged.calls.length)
    expect(written.calls.every((call) => call.response.calls.length <= 1)).toBe(true)
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
    expect(recording.calls.some((call) => call.response.reasoning !== '')).toBe(true)
  })

  it('reads two objects on one line and says so', () => {
    const text = fixtureText('claude-code.jsonl').replace('\n', '')
    const loaded = loadTranscript(text, 'glued')
    expect(loaded.problems[0]).toEqual({ line: 1, message: '2 JSON objects stand on one line; all were read.' })
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
    expect(calls[0]?.response.calls.map((call) => call.toolName)).toEqual(['read_file'])
    expect(messages.some((message) => message.json().includes('Change it to 80'))).toBe(false)
    expect(calls[0]?.usage).toEqual({ input: 1200, cacheRead: 1000, cacheWrite: 0, output: 50, reasoning: 30 })
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
