import { describe, expect, it } from 'vitest'
import { headTail } from '../../src/engine/intake/index.ts'
import { guardAdkCode } from '../../src/engine/presets/adk-code.ts'
import {
  guardAiAgent,
  truncateJson,
  truncateToBytes,
  truncateToGraphemes,
  truncateToTokens,
} from '../../src/engine/presets/ai-agent/truncate.ts'
import {
  handleLargePayload,
  readLargePayloadConfig,
  type LargePayloadOptions,
} from '../../src/engine/presets/autosre/large-payload.ts'
import { guardSreResponse } from '../../src/engine/presets/autosre/guard.ts'
import {
  compressCyberInput,
  compressCyberResult,
  CYBER_DEFAULTS,
  readCyberLimits,
  routeCyberResult,
} from '../../src/engine/presets/cyber-autoagent/compress.ts'
import type { GuardRule } from '../../src/core/policy.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { triggeredBy } from '../../src/engine/presets/shared.ts'
import { countTokens, HANDLE } from './helpers.ts'

const range = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const bytes = (text: string): number => Buffer.byteLength(text)

const run = (result: unknown, options: LargePayloadOptions = {}) => {
  const handled = handleLargePayload({ result, extra: 'kept', metadata: { mine: 1 } }, { handle: HANDLE, ...options })
  return {
    ...handled,
    response: handled.response as {
      result: Record<string, unknown>
      metadata: Record<string, unknown>
      extra: string
    },
  }
}

const textResult = (...sizes: number[]) => ({
  status: 'success',
  content: sizes.map((size) => ({ text: 't'.repeat(size) })),
})

const blocks = (value: unknown) => (value as { content: { text?: string; json?: Record<string, unknown> }[] }).content

const numbered = (count: number, width = 0) => range(count, (i) => `line ${i + 1} `.padEnd(width, 'x')).join('\n')

describe('AutoSRE: truncation guard', () => {
  it.each([
    { name: 'text of exactly 200,000', result: 'a'.repeat(200_000), cut: false },
    { name: 'text of 200,001', result: 'a'.repeat(200_001), cut: true },
    { name: 'text of 201,000', result: 'a'.repeat(201_000), cut: true },
    { name: 'text of 300,000', result: 'a'.repeat(300_000), cut: true },
    { name: 'empty text', result: '', cut: false },
  ])('$name', ({ result, cut }) => {
    const { value, cuts } = guardSreResponse({ result, other: 1 }, { handle: HANDLE })
    const got = (value as { result: string }).result
    expect(cuts).toHaveLength(cut ? 1 : 0)
    if (cut) {
      expect(got).toContain('[TRUNCATED BY SRE AGENT SAFETY GUARD]')
      expect(got.startsWith('a'.repeat(200_000))).toBe(true)
      expect(got).toContain(HANDLE)
      expect(value).toMatchObject({ other: 1 })
    } else expect(got).toBe(result)
  })

  it.each([
    { count: 100, kept: 100 },
    { count: 500, kept: 500 },
    { count: 501, kept: 500 },
    { count: 600, kept: 500 },
    { count: 1_000, kept: 500 },
  ])('a list of $count keeps $kept', ({ count, kept }) => {
    const { value } = guardSreResponse({ result: range(count, (i) => i), metadata: { page: 2 } })
    const { result, metadata } = value as { result: number[]; metadata: Record<string, unknown> }
    expect(result).toEqual(range(kept, (i) => i))
    expect(metadata).toEqual(count > kept ? { page: 2, truncated_count: count - kept } : { page: 2 })
  })

  it.each([201_000, 400_000])('an object of %i characters becomes an error with a preview', (size) => {
    const { value } = guardSreResponse({ result: { data: 'x'.repeat(size) } }, { handle: HANDLE })
    const { result } = value as { result: { error: string; message: string; preview: string } }
    expect(Object.keys(result)).toEqual(['error', 'message', 'preview'])
    expect(result.preview.length).toBeLessThanOrEqual(100_003)
    expect(result.preview).toMatch(/\.\.\.$/)
    expect(result.message).toMatch(/filter/)
    expect(result.message).toContain(HANDLE)
  })

  it.each([[{ result: null }], [{ other: 1 }], ['text'], [null], [undefined], [42], [[1]], [{ result: 7 }]])(
    'passes %j as it is',
    (response) => {
      expect(guardSreResponse(response).value).toBe(response)
    },
  )

  // Deviation: the original let 500 items of 1 MB through (promise 1).
  it('gives up items of a list whose items are large', () => {
    const { value, cuts } = guardSreResponse({ result: range(300, () => 'z'.repeat(2_000)) })
    const { result, metadata } = value as { result: string[]; metadata: { truncated_count: number } }
    expect(JSON.stringify(result).length).toBeLessThanOrEqual(200_000)
    expect(result.length + metadata.truncated_count).toBe(300)
    expect(cuts).toHaveLength(1)
  })

  it('shows a preview when one item alone is too large', () => {
    const { value } = guardSreResponse({ result: ['q'.repeat(300_000)] })
    expect((value as { result: { preview: string } }).result.preview.length).toBeLessThanOrEqual(100_003)
  })
})

describe('AutoSRE: payload size and thresholds', () => {
  it.each([
    { name: '10 items', value: range(10, (i) => i), large: false },
    { name: '50 items', value: range(50, (i) => i), large: false },
    { name: '60 items', value: range(60, (i) => i), large: true },
    { name: '5 items of 25,000', value: range(5, () => 'x'.repeat(25_000)), large: true },
    { name: 'nothing', value: [], large: false },
    { name: 'an empty object', value: {}, large: false },
  ])('$name: $large', ({ value, large }) => {
    expect(handleLargePayload({ result: value }).mode !== undefined).toBe(large)
  })

  it('takes other thresholds', () => {
    const config = { enabled: true, thresholdItems: 5, thresholdChars: 1_000_000 }
    const { mode, size } = handleLargePayload({ result: range(10, (i) => i) }, { config })
    expect(mode).toBe('code_generation_prompt')
    expect(size).toEqual({ items: 10, chars: 21 })
  })

  it.each([
    [{}, true, 50, 100_000],
    [{ SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'false' }, false, 50, 100_000],
    [{ SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'FALSE' }, false, 50, 100_000],
    [{ SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'no' }, true, 50, 100_000],
    [{ SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS: '7', SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS: '99' }, true, 7, 99],
    [{ SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS: 'many' }, true, 50, 100_000],
  ])('reads %j', (env, enabled, thresholdItems, thresholdChars) => {
    expect(readLargePayloadConfig(env)).toEqual({ enabled, thresholdItems, thresholdChars })
  })

  const guardOf = (name: string, env = {}): GuardRule => policyNamed(name, env).intake.guard!

  it('gives the designs their own triggers', () => {
    expect(guardOf('autosre')).toMatchObject({ items: 50, chars: 100_000 })
    expect(guardOf('cyber-autoagent')).toMatchObject({ chars: 10_000 })
    expect(guardOf('ai-agent')).toMatchObject({ bytes: 12_288 })
    expect(guardOf('adk-code')).toMatchObject({ bytes: 10_240, lines: 256 })
    expect(guardOf('cyber-autoagent', { CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD: '500' })).toMatchObject({ chars: 500 })
    const off = guardOf('autosre', { SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'false' })
    expect(triggeredBy(JSON.stringify(range(51, (i) => i)), off)).toBeUndefined()
    expect(triggeredBy(JSON.stringify(range(51, (i) => i)), guardOf('autosre'))).toBe('items')
    expect(triggeredBy(JSON.stringify(range(50, (i) => i)), guardOf('autosre'))).toBeUndefined()
    expect(triggeredBy('a'.repeat(10_001), guardOf('cyber-autoagent'))).toBe('chars')
    expect(triggeredBy('a'.repeat(10_000), guardOf('cyber-autoagent'))).toBeUndefined()
    expect(triggeredBy('é'.repeat(6_200), guardOf('ai-agent'))).toBe('bytes')
    expect(triggeredBy('x\n'.repeat(257), guardOf('adk-code'))).toBe('lines')
  })
})

describe('AutoSRE: handler paths', () => {
  const metrics = range(200, (i) => ({ type: `m${i}`, metric_kind: i < 100 ? 'GAUGE' : 'DELTA', value_type: 'INT64' }))
  it('sends a known tool with sandbox to its template', () => {
    const { response, mode } = run(metrics, { tool: 'list_metrics', sandbox: true })
    expect(mode).toBe('template_sandbox')
    expect(response.result).toMatchObject({
      total_metrics: 200,
      by_kind: { GAUGE: 100, DELTA: 100 },
      large_payload_handled: true,
      tool_name: 'list_metrics',
      original_items: 200,
      full_output: HANDLE,
    })
    expect(response.metadata).toEqual({
      mine: 1,
      large_payload_handled: true,
      handling_mode: 'template_sandbox',
      template_used: 'metrics',
      original_items: 200,
      original_chars: JSON.stringify(metrics).length,
    })
    expect(response.extra).toBe('kept')
  })

  it('sends an unknown tool with sandbox to the generic template', () => {
    const { response, mode } = run(metrics, { tool: 'whatever', sandbox: true })
    expect(mode).toBe('generic_sandbox')
    expect(response.result).toMatchObject({ total_items: 200, top_fields: { type: 200 } })
    expect(response.metadata['template_used']).toBeUndefined()
  })

  it('gives a sample, a schema and the real handle without sandbox, to known tools too', () => {
    const { response, mode } = run(metrics, { tool: 'list_metrics', tools: { run: 'artifact_run' } })
    expect(mode).toBe('code_generation_prompt')
    expect(response.result).toMatchObject({
      total_count: 200,
      schema_hint: { type: 'string', metric_kind: 'string', value_type: 'string' },
    })
    expect(response.result['sample']).toHaveLength(3)
    expect(response.result['instructions']).toContain(HANDLE)
    expect(response.result['instructions']).toContain('artifact_run')
  })

  it('names no tool and no handle that is not there', () => {
    const { response } = run(metrics, { handle: undefined as never })
    expect(response.result['instructions']).not.toMatch(/art_|artifact|execute_custom/)
  })

  it.each([
    { name: '100 keys', result: Object.fromEntries(range(100, (i) => [`k${i}`, i])), count: 100, length: 22 },
    { name: 'a text of 150,000', result: 'q'.repeat(150_000), count: 1, length: 2_003 },
    {
      name: '200 keys of 1,000',
      result: Object.fromEntries(range(200, (i) => [`k${i}`, 'v'.repeat(1_000)])),
      count: 200,
      length: 2_003,
    },
  ])('samples $name as one text of at most 2,000 characters and dots', ({ result, count, length }) => {
    const { response } = run(result)
    expect(response.result['total_count']).toBe(count)
    expect(response.result['sample']).toHaveLength(length)
  })

  it('cuts each of three samples', () => {
    const { response } = run(
      range(10, () => ({ text: 't'.repeat(10_000) })),
      { config: { enabled: true, thresholdItems: 5, thresholdChars: 100_000 } },
    )
    const sample = response.result['sample'] as string[]
    expect(sample).toHaveLength(3)
    expect(Math.max(...sample.map((text) => text.length))).toBeLessThanOrEqual(2_100)
  })

  // Deviation: the original trusted a mark inside the data; a tool could write it and bypass the handler (promise 11).
  it('is not fooled by a forged mark', () => {
    expect(
      handleLargePayload({ result: { large_payload_handled: true, data: 'x'.repeat(200_000) } }).mode,
    ).toBeDefined()
  })

  it.each([[null], ['text'], [{}], [{ result: null }], [{ result: [1, 2] }]])('passes %j', (response) => {
    expect(handleLargePayload(response).response).toBe(response)
  })

  it('passes everything when disabled', () => {
    const response = { result: metrics }
    expect(
      handleLargePayload(response, { config: readLargePayloadConfig({ SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'false' }) })
        .response,
    ).toBe(response)
  })

  it('hands its result to the truncation guard, which finds nothing left to cut', () => {
    const { response } = handleLargePayload({ result: range(600, () => 'y'.repeat(1_000)) }, { sandbox: true })
    expect(guardSreResponse(response)).toEqual({ value: response, cuts: [] })
  })
})

describe('Cyber-AutoAgent: router', () => {
  const limits = { ...CYBER_DEFAULTS, artifactChars: 50, maxChars: 100 }

  it('shows header, first part and footer with thousands separators', () => {
    const text = 'n'.repeat(125_432)
    const path = 'artifacts/nmap_20241124_143022_a1b2c3.log'
    const result = { toolUseId: 'u1', status: 'success', content: [{ text }], custom: 1 }
    const { value, cuts } = routeCyberResult(result, () => path)
    const shown = (value as { content: { text: string }[] }).content[0]!.text
    expect(shown).toBe(
      `[Tool output: 125,432 chars total | Preview: 10,000 chars below | Full: ${path}]\n\n${'n'.repeat(10_000)}\n\n[Complete output saved to: ${path}]`,
    )
    expect(value).toMatchObject({ toolUseId: 'u1', status: 'success', custom: 1 })
    expect(result.content[0]!.text).toBe(text)
    expect(cuts).toEqual([
      { guard: 'cyber-autoagent', what: 'block 0', original: 125_432, shown: 10_000, handle: path },
    ])
  })

  it.each([
    { chars: 10_000, stored: true, shown: 10_000 },
    { chars: 10_001, stored: true, shown: 10_000 },
    { chars: 20_000, stored: false, shown: 20_000 },
    { chars: 30_000, stored: false, shown: 30_000 },
    { chars: 30_001, stored: false, shown: 30_000 },
  ])('$chars characters, stored: $stored', ({ chars, stored, shown }) => {
    const { value } = routeCyberResult({ content: [{ text: 'c'.repeat(chars) }] }, () => (stored ? 'a.log' : undefined))
    const text = (value as { content: { text: string }[] }).content[0]!.text
    expect(text.includes('c'.repeat(shown))).toBe(true)
    expect(text.includes('c'.repeat(shown + 1))).toBe(false)
  })

  it('keeps the scenario numbers 50 and 100', () => {
    const { value } = routeCyberResult({ content: [{ text: 'y'.repeat(200) }] }, () => 'x.log', limits)
    expect((value as { content: { text: string }[] }).content[0]!.text).toContain('Full: x.log')
  })

  it.each([[null], [undefined], ['text'], [{}], [{ content: 'text' }], [{ content: [{ image: 1 }, null] }]])(
    'is a no-op for %j',
    (result) => {
      expect(routeCyberResult(result, () => 'p').value).toBe(result)
    },
  )
})

describe('Cyber-AutoAgent: compression', () => {
  it.each([
    { name: '120 at 100/10', sizes: [120], limits: { compressChars: 100, truncateChars: 10 } },
    { name: '10,000 + 5,000', sizes: [10_000, 5_000] },
    { name: 'exactly 10,000', sizes: [10_000] },
    { name: '10,000 + 10,000', sizes: [10_000, 10_000] },
    { name: '20,000', sizes: [20_000], share: 0.7 },
    { name: '1,000,000', sizes: [1_000_000], share: 0.7 },
  ])('text $name: note first, marker, smaller', ({ sizes, limits, share = 1 }) => {
    const before = sizes.reduce((a, b) => a + b, 0)
    const { value, cuts } = compressCyberResult(textResult(...sizes), { ...CYBER_DEFAULTS, ...limits })
    const [note, first] = blocks(value)
    expect(note!.text).toContain(`original size ${before} chars`)
    expect(first!.text).toContain(`... [truncated from ${sizes[0]} chars]`)
    expect(cuts[0]!.original).toBe(before)
    expect(cuts[0]!.shown).toBeLessThan(before * share)
  })

  it('compresses the 10,000-character previews of the router, all 50 of them', () => {
    const all = range(50, () => compressCyberResult(textResult(10_000)))
    expect(all.every(({ cuts }) => cuts.length === 1)).toBe(true)
    expect(
      all.reduce(
        (sum, { value }) => sum + blocks(value).reduce((size, block) => size + (block.text?.length ?? 0), 0),
        0,
      ),
    ).toBeLessThan(500_000)
  })

  it('leaves 4,000 characters identical', () => {
    const result = textResult(4_000)
    expect(compressCyberResult(result).value).toBe(result)
  })

  it.each([
    {
      name: '3 keys of 60',
      limits: { compressChars: 50, truncateChars: 10 },
      json: { a: 'x'.repeat(60), b: 'y'.repeat(60), c: 'z'.repeat(60) },
      keys: 3,
    },
    {
      name: '10 keys of 250',
      limits: { compressChars: 100, truncateChars: 50 },
      json: Object.fromEntries(range(10, (i) => [`k${i}`, 'v'.repeat(250)])),
      keys: 10,
    },
  ])('objects: $name', ({ limits, json, keys }) => {
    const { value } = compressCyberResult({ content: [{ json }] }, { ...CYBER_DEFAULTS, ...limits })
    const [, indicator, block] = blocks(value)
    expect(indicator!.text).toContain(`${keys} keys`)
    expect(block!.json).toMatchObject({
      _compressed: true,
      _n_original_keys: keys,
      _type: 'dict',
      _original_size: JSON.stringify(json).length,
    })
    expect(Object.keys(block!.json!).filter((key) => !key.startsWith('_'))).toHaveLength(3)
  })

  // The document promises three elements of an array; the code sampled none.
  it('arrays keep three elements and their length', () => {
    const { value } = compressCyberResult({ content: [{ json: range(900, (i) => ({ id: i, pad: 'p'.repeat(20) })) }] })
    expect(blocks(value)[2]!.json).toMatchObject({
      _compressed: true,
      _type: 'list',
      length: 900,
      samples: [{ id: 0 }, { id: 1 }, { id: 2 }],
    })
  })

  // Deviation: several small blocks triggered by their sum and did not shrink at all (promise 6).
  it('shrinks small blocks that are large together', () => {
    const { value, cuts } = compressCyberResult(textResult(4_000, 4_000, 4_000))
    expect(cuts[0]!.shown).toBeLessThan(9_000)
    expect(compressCyberResult(value).cuts).toEqual([])
  })

  it('cuts old inputs with a note that they are not whole', () => {
    const { value, cuts } = compressCyberInput({ command: 'c'.repeat(20_000), cwd: '/x' })
    expect((value as { command: string }).command).toMatch(/^c{8000}\.\.\. \[truncated from 20000 chars\]$/)
    expect(value).toMatchObject({ cwd: '/x' })
    expect(cuts).toHaveLength(1)
    const small = { command: 'ls' }
    expect(compressCyberInput(small).value).toBe(small)
  })

  it('reads its environment variables', () => {
    expect(
      readCyberLimits({
        CYBER_TOOL_COMPRESS_TRUNCATE: '70',
        CYBER_TOOL_MAX_RESULT_CHARS: '80',
        CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD: 'x',
      }),
    ).toEqual({ artifactChars: 10_000, maxChars: 80, compressChars: 10_000, truncateChars: 70 })
  })
})

describe('adk-code: head + tail', () => {
  it.each([
    { name: '1,000 lines', text: numbered(1_000), maxLines: 260 },
    {
      name: '300 lines, 50 + 50',
      text: numbered(300),
      options: { headLines: 50, tailLines: 50, maxBytes: 102_400 },
      maxLines: 101,
    },
    { name: '300 lines, 128 + 128', text: numbered(300), marker: '[... omitted 44 of 300 lines ...]', maxLines: 257 },
    {
      name: '10,000 short lines',
      text: numbered(10_000),
      marker: '[... omitted 9,744 of 10,000 lines ...]',
      maxLines: 257,
    },
    {
      name: '10,000 lines of 77 in 5,000 bytes',
      text: numbered(10_000, 77),
      options: { maxBytes: 5_000 },
      maxLines: 100,
    },
    { name: '500 lines of 43', text: numbered(500, 43), maxLines: 257 },
    { name: 'lines with a final newline', text: `${numbered(400)}\n`, maxLines: 257 },
  ])('$name: first and last line, marker, within the bytes', ({ text, options = {}, marker, maxLines }) => {
    const total = text.trimEnd().split('\n').length
    const { value, cuts } = guardAdkCode(text, options)
    const lines = value.split('\n')
    expect(bytes(value)).toBeLessThanOrEqual((options as { maxBytes?: number }).maxBytes ?? 10_240)
    expect(lines.length).toBeLessThanOrEqual(maxLines)
    expect(lines[0]!.startsWith('line 1 ')).toBe(true)
    expect(lines.at(-1)!.startsWith(`line ${total} `)).toBe(true)
    const found = /^\[\.\.\. omitted ([\d,]+) of ([\d,]+) lines \.\.\.\]$/m.exec(value)!
    expect(Number(found[1]!.replaceAll(',', '')) + lines.length - 1).toBe(total)
    if (marker !== undefined) expect(value).toContain(marker)
    expect(cuts).toHaveLength(1)
  })

  it.each(['one\ntwo', '', 'x'.repeat(10_240), numbered(256)])('leaves small output alone', (text) => {
    expect(guardAdkCode(text)).toEqual({ value: text, cuts: [] })
  })

  // Deviation: the original doubled inputs of up to 128 lines and then cut their end off (promises 1 and 3).
  it('shows both ends of one line of 500 kB, once', () => {
    const { value } = guardAdkCode(`START${'m'.repeat(500_000)}END`)
    expect(bytes(value)).toBeLessThanOrEqual(10_240)
    expect(value).toMatch(/^START/)
    expect(value).toMatch(/END$/)
    expect(value).toMatch(/omitted [\d,]+ of 500,008 chars/)
  })

  it('never splits a character', () => {
    for (const size of [60, 61, 62, 63, 100, 101, 102, 103]) {
      const { value } = guardAdkCode('𠀀é中'.repeat(5_000), { maxBytes: size })
      expect(Buffer.from(value).toString()).toBe(value)
      expect(bytes(value)).toBeLessThanOrEqual(size)
    }
  })

  it('holds a token limit as well', () => {
    const shown = headTail(numbered(500, 60), { maxBytes: 100_000, maxTokens: 300, countTokens })
    expect(countTokens(shown.text)).toBeLessThanOrEqual(300)
    expect(shown.text).toMatch(/omitted \d+ of 500 lines/)
  })
})

describe('ai-agent: truncation', () => {
  const MARKER = /\[···TRUNCATED (\d+) bytes···\]/

  it.each([511, 512, 513, 1_000, 12_288])('to %i bytes: both halves and an exact count', (target) => {
    const text = `${'h'.repeat(500_000)}${'t'.repeat(500_000)}`
    const got = truncateToBytes(text, target)!
    expect(bytes(got)).toBeLessThanOrEqual(target)
    const omitted = Number(MARKER.exec(got)![1])
    expect(omitted + bytes(got.replace(MARKER, ''))).toBe(1_000_000)
    expect(got).toMatch(/^h+\[.*\]t+$/)
  })

  it('cuts no payload below 512 bytes', () => {
    expect(truncateToBytes('x'.repeat(511), 400)).toBeUndefined()
    expect(truncateToBytes('x'.repeat(512), 400)).toBeDefined()
    expect(truncateToBytes('x'.repeat(511), 511)).toBe('x'.repeat(511))
    expect(truncateToBytes('x'.repeat(9_999), 40)).toBeUndefined()
  })

  it.each(['é', '中', '🎉', 'aé中🎉'])('keeps %s whole at every target', (char) => {
    const text = char.repeat(2_000)
    for (let target = 512; target < 530; target++) {
      const got = truncateToBytes(text, target)!
      expect(Buffer.from(got).toString()).toBe(got)
      expect(bytes(got)).toBeLessThanOrEqual(target)
    }
  })

  it('can be applied again to its own result', () => {
    const once = truncateToBytes('r'.repeat(50_000), 4_000)!
    const twice = truncateToBytes(once, 1_000)!
    expect(bytes(twice)).toBeLessThanOrEqual(1_000)
  })

  it('counts graphemes, not their parts', () => {
    const family = '👩‍👩‍👧‍👦'
    const got = truncateToGraphemes(family.repeat(500), 150)!
    expect(got).toBe(`${family.repeat(50)}[···TRUNCATED 400 chars···]${family.repeat(50)}`)
    expect(truncateToGraphemes(family.repeat(10), 10)).toBe(family.repeat(10))
    expect(truncateToGraphemes('a'.repeat(5_000), 550)).toBe(
      `${'a'.repeat(250)}[···TRUNCATED 4500 chars···]${'a'.repeat(250)}`,
    )
  })

  it('holds a token target by the given counter', () => {
    const text = range(3_000, (i) => `word${i}`).join(' ')
    const got = truncateToTokens(text, 400, countTokens)!
    expect(countTokens(got)).toBeLessThanOrEqual(400)
    expect(got).toMatch(/\[···TRUNCATED \d+ tokens···\]/)
  })

  describe('of JSON', () => {
    const value = {
      id: 12345678901234567000,
      small: 's'.repeat(128),
      big: 'b'.repeat(20_000),
      middle: 'm'.repeat(3_000),
      list: [1, { deep: 'd'.repeat(129) }],
    }
    const text = JSON.stringify(value)

    it('cuts the largest strings first and leaves the rest as it was', () => {
      const got = JSON.parse(truncateJson(text, 12_288)!) as typeof value
      expect(got.big).toMatch(MARKER)
      expect({ ...got, big: '' }).toEqual({ ...value, big: '' })
    })

    it('cuts strings of 129 bytes but none of 128', () => {
      const both = JSON.stringify({ a: 'x'.repeat(128), b: 'y'.repeat(400) })
      const got = JSON.parse(truncateJson(both, bytes(both) - 100)!) as { a: string; b: string }
      expect(got.a).toBe('x'.repeat(128))
      expect(got.b).toMatch(MARKER)
      expect(truncateJson(JSON.stringify(range(50, () => 'x'.repeat(128))), 2_000)).toBeUndefined()
    })

    it('leaves at least 128 bytes of a string', () => {
      const long = JSON.stringify({ a: 'x'.repeat(1_000), b: 'y'.repeat(1_000) })
      const got = JSON.parse(truncateJson(long, 337)!) as { a: string; b: string }
      expect([got.a.replace(MARKER, ''), got.b.replace(MARKER, '')]).toEqual(['x'.repeat(128), 'y'.repeat(128)])
      expect(truncateJson(long, 336)).toBeUndefined()
    })

    it('is valid within any target it accepts, escapes and pairs whole', () => {
      const tricky = JSON.stringify({ a: '"\\\n\u0007é🎉'.repeat(800), k: 1 }).replaceAll('🎉', '\\ud83c\\udf89')
      for (let target = 600; target < 700; target += 7) {
        const got = truncateJson(tricky, target)!
        expect(bytes(got)).toBeLessThanOrEqual(target)
        expect(() => JSON.parse(got) as unknown).not.toThrow()
        expect(/\p{Surrogate}/u.test((JSON.parse(got) as { a: string }).a)).toBe(false)
      }
    })

    it.each(['{"a":', 'not json', '{"a":1}{"b":2}'])('refuses %s', (broken) => {
      expect(truncateJson(broken, 3)).toBeUndefined()
    })

    it('refuses a target that strings alone cannot reach', () => {
      expect(truncateJson(JSON.stringify(range(900, (i) => i)), 100)).toBeUndefined()
    })
  })

  it('as a step keeps JSON when it can, and the ends of anything else', () => {
    const json = JSON.stringify({ a: 'x'.repeat(40_000), b: 1 })
    expect(JSON.parse(guardAiAgent(json))).toMatchObject({ b: 1 })
    expect(bytes(guardAiAgent(json))).toBeLessThanOrEqual(12_288)
    const numbers = JSON.stringify(range(9_000, (i) => i))
    expect(bytes(guardAiAgent(numbers))).toBeLessThanOrEqual(12_288)
    expect(guardAiAgent('short')).toBe('short')
  })
})
