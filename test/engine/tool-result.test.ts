import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const rows = (count: number): string =>
  JSON.stringify(Array.from({ length: count }, (_, id) => ({ id, name: `n${id}` })))
const lines = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i} of the build`).join('\n')

const AUTOSRE_KEYS = ['large_payload_handled', 'handling_mode', 'original_items', 'original_chars', 'processing_ms']
const CYBER_KEYS = [
  'compressed',
  'original_size',
  'compressed_size',
  'compression_ratio',
  'content_type',
  'n_original_keys',
  'sample_data',
]

describe('the report of a tool result', () => {
  it('has the keys of AutoSRE and Cyber-AutoAgent, cut or not, with time from the clock that was passed in', async () => {
    const agent = testEngine().session()
    for (const output of ['done', rows(3), rows(4_000)]) {
      const { report } = await agent.toolResult({ tool: 'bash', callId: 'c', output })
      expect(Object.keys(report)).toEqual(expect.arrayContaining([...AUTOSRE_KEYS, ...CYBER_KEYS]))
      // The clock of these tests moves by one with each look at it.
      expect(report.processing_ms).toBeGreaterThan(0)
      expect(report.original_chars).toBe(output.length)
    }
  })

  it('says of a whole result that nothing was done to it', async () => {
    const shown = await testEngine()
      .session()
      .toolResult({ tool: 'bash', output: rows(3) })
    expect(shown).toMatchObject({ text: rows(3), truncated: false })
    expect(shown.artifact).toBeUndefined()
    expect(shown.report).toMatchObject({
      large_payload_handled: false,
      handling_mode: 'none',
      original_items: 3,
      compressed: false,
      compression_ratio: 1,
      content_type: 'json',
      step: 'full',
    })
    expect(shown.report.audit).toBeUndefined()
  })

  it('carries the audit record as the log has it: what, why, original size, handle', async () => {
    const { session, deps, events } = testEngine()
    const agent = session()
    const output = rows(4_000)
    const { report, artifact, text } = await agent.toolResult({ tool: 'list_metrics', callId: 'c9', output })
    expect(report.audit).toMatchObject({
      action: 'tool-result',
      tool: 'list_metrics',
      callId: 'c9',
      originalBytes: Buffer.byteLength(output),
      shownBytes: Buffer.byteLength(text),
      handle: artifact,
      reason: expect.stringMatching(/tokens are more than the \d+ that one result may take/) as string,
    })
    expect(await agent.audit()).toEqual([report.audit])
    expect(events.filter(({ type }) => type === 'item-offloaded')).toEqual([
      expect.objectContaining({ handle: artifact }),
    ])
    expect(await deps.artifacts.stat('local', artifact!)).toMatchObject({
      tool: 'list_metrics',
      callId: 'c9',
      session: 'test',
      mime: 'application/json',
      encoding: 'utf-8',
      lines: 1,
      items: 4_000,
      contentKind: 'json-array',
    })
  })

  it('speaks the words of the preset', async () => {
    const metrics = JSON.stringify(Array.from({ length: 200 }, (_, i) => ({ type: `m${i}`, metricKind: 'GAUGE' })))
    const sre = testEngine({ policy: policyNamed('autosre', {}) }).session()
    expect((await sre.toolResult({ tool: 'list_metrics', output: metrics, window: 200_000 })).report).toMatchObject({
      large_payload_handled: true,
      handling_mode: 'template_sandbox',
      template_used: 'metrics',
      original_items: 200,
      original_chars: metrics.length,
    })
    expect((await sre.toolResult({ tool: 'other', output: metrics, window: 200_000 })).report.handling_mode).toBe(
      'generic_sandbox',
    )
    const cyber = testEngine({ policy: policyNamed('cyber-autoagent', {}) }).session()
    const object = JSON.stringify(
      Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`key${i}`, 'v'.repeat(400)])),
    )
    const shown = await cyber.toolResult({ tool: 'nmap', output: object, window: 200_000 })
    expect(shown.text).toMatch(/^\[Tool output: 16,\d{3} chars total \| Preview: 10,000 chars below \| Full: art_/)
    expect(shown.report).toMatchObject({
      compressed: true,
      original_size: object.length,
      compressed_size: shown.text.length,
      compression_ratio: Number((shown.text.length / object.length).toFixed(3)),
      content_type: 'json',
      n_original_keys: 40,
      sample_data: {
        key0: expect.any(String) as string,
        key1: expect.any(String) as string,
        key2: expect.any(String) as string,
      },
    })
  })

  it('describes bytes that are no text, whatever their size, and gives them back', async () => {
    const { session, deps } = testEngine()
    const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.alloc(500, 0xfe)])
    const shown = await session().toolResult({ tool: 'screenshot', output: png })
    expect(shown.text).toContain('png')
    expect(shown.text).not.toContain('\uFFFD')
    expect(shown.report).toMatchObject({ handling_mode: 'description', step: 'preview' })
    expect(Buffer.from((await deps.artifacts.read('local', shown.artifact!))!)).toEqual(png)
  })

  it('never hands out half a character', async () => {
    const { text } = await testEngine().session().toolResult({ tool: 'bash', output: 'a\ud800b' })
    expect(text).toBe('a\uFFFDb')
  })
})

describe('the limit of a tool result', () => {
  // 25 % of what fits: 1,872 tokens at a window of 8,000 and an answer of 512; four characters to a token.
  const output = lines(700)
  const request = (window: number) => ({
    format: 'anthropic-messages',
    body: toolLoop({ steps: 1 }),
    targets: [{ model: 'claude-sonnet-4-5', window }],
  })

  it('is that of the last request of the session', async () => {
    for (const [window, truncated] of [
      [8_000, true],
      [64_000, false],
    ] as const) {
      const agent = testEngine().session()
      const turn = await agent.prepare(request(window))
      const shown = await agent.toolResult({ tool: 'bash', output })
      expect(shown.truncated).toBe(truncated)
      expect(shown.report.limit).toEqual(turn.limit)
    }
  })

  it('is still that in another process', async () => {
    const sessions = memoryStore()
    const first = testEngine({ sessions }).session()
    const turn = await first.prepare(request(64_000))
    const usage = { input: 900, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }
    await first.record({ turn: turn.id, usage })
    const { report, truncated } = await testEngine({ sessions }).session().toolResult({ tool: 'bash', output })
    expect(truncated).toBe(false)
    expect(report.limit).toEqual(turn.limit)
  })

  it('is that of the window that the caller names', async () => {
    const agent = testEngine().session()
    await agent.prepare(request(64_000))
    expect((await agent.toolResult({ tool: 'bash', output, window: 8_000 })).truncated).toBe(true)
    expect((await agent.toolResult({ tool: 'bash', output, model: 'another' })).report.limit.window).toBe(8_000)
  })
})
