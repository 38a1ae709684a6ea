import { describe, expect, it } from 'vitest'
import { headTail } from '../../src/engine/intake/index.ts'
import { adkCodeGuard } from '../../src/engine/presets/adk-code.ts'
import { guardAiAgent, truncateJson, truncateToBytes } from '../../src/engine/presets/ai-agent/truncate.ts'
import { autosreGuard, autosreStops } from '../../src/engine/presets/autosre/guard.ts'
import {
  compressedInput,
  compressedResult,
  CYBER_DEFAULTS,
  cyberGuard,
  readCyberLimits,
} from '../../src/engine/presets/cyber-autoagent/compress.ts'
import type { GuardRule } from '../../src/core/policy.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { triggeredBy } from '../../src/engine/presets/shared.ts'
import { countTokens, HANDLE } from './helpers.ts'

const range = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const bytes = (text: string): number => Buffer.byteLength(text)

const numbered = (count: number, width = 0) => range(count, (i) => `line ${i + 1} `.padEnd(width, 'x')).join('\n')

type Asked = Parameters<typeof autosreGuard>[2]
const none: Asked = { handle: HANDLE, readers: new Map() }

/** A result as AutoSRE's guard shows it: a text of JSON, or a text. */
function sre(result: unknown, rule: GuardRule = {}, asked: Partial<Asked> = {}) {
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  const view = autosreGuard(rule, text, { ...none, ...asked })
  return { ...view, json: () => JSON.parse(view.text) as Record<string, unknown> }
}

const DEFAULTS: GuardRule = { items: 50, chars: 100_000 }

describe('AutoSRE: truncation guard', () => {
  it.each([
    { name: 'text of exactly 200,000', result: 'a'.repeat(200_000), cut: false },
    { name: 'text of 200,001', result: 'a'.repeat(200_001), cut: true },
    { name: 'text of 300,000', result: 'a'.repeat(300_000), cut: true },
    { name: 'empty text', result: '', cut: false },
  ])('$name', ({ result, cut }) => {
    const { text } = sre(result)
    expect(autosreStops(result)).toBe(cut)
    if (cut) {
      expect(text).toContain('[TRUNCATED BY SRE AGENT SAFETY GUARD]')
      expect(text.startsWith('a'.repeat(200_000))).toBe(true)
      expect(text).toContain(HANDLE)
    } else expect(text).toBe(result)
  })

  it.each([
    { count: 100, kept: 100 },
    { count: 500, kept: 500 },
    { count: 501, kept: 500 },
    { count: 1_000, kept: 500 },
  ])('a list of $count keeps $kept', ({ count, kept }) => {
    const shown = sre(range(count, (i) => i)).json()
    const expected = range(kept, (i) => i)
    const metadata = { truncated_count: count - kept, full_output: HANDLE }
    expect(shown).toEqual(count > kept ? { result: expected, metadata } : expected)
  })

  it.each([201_000, 400_000])('an object of %i characters becomes an error with a preview', (size) => {
    const shown = sre({ data: 'x'.repeat(size) }).json() as { error: string; message: string; preview: string }
    expect(Object.keys(shown)).toEqual(['error', 'message', 'preview'])
    expect(shown.preview.length).toBeLessThanOrEqual(100_003)
    expect(shown.preview).toMatch(/\.\.\.$/)
    expect(shown.message).toMatch(/filter/)
    expect(shown.message).toContain(HANDLE)
  })

  // Deviation: the original let 500 items of 1 MB through (promise 1).
  it('gives up items of a list whose items are large', () => {
    const shown = sre(range(300, () => 'z'.repeat(2_000))).json()
    const { result, metadata } = shown as { result: string[]; metadata: { truncated_count: number } }
    expect(JSON.stringify(result).length).toBeLessThanOrEqual(200_000)
    expect(result.length + metadata.truncated_count).toBe(300)
  })

  it('shows a preview when one item alone is too large', () => {
    const { preview } = sre(['q'.repeat(300_000)]).json() as { preview: string }
    expect(preview.length).toBeLessThanOrEqual(100_003)
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
    expect(sre(value, DEFAULTS).metadata?.handling_mode !== undefined).toBe(large)
  })

  it('takes other thresholds', () => {
    const { metadata } = sre(
      range(10, (i) => i),
      { items: 5, chars: 1_000_000, sandbox: false },
    )
    expect(metadata).toEqual({ original_items: 10, original_chars: 21, handling_mode: 'code_generation_prompt' })
  })

  const guardOf = (name: string, env = {}): GuardRule => policyNamed(name, env).intake.guard!

  it.each([
    [{}, { items: 50, chars: 100_000 }],
    [{ SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'false' }, {}],
    [{ SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'FALSE' }, {}],
    [{ SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'no' }, { items: 50, chars: 100_000 }],
    [
      { SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS: '7', SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS: '99' },
      { items: 7, chars: 99 },
    ],
    [{ SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS: 'many' }, { items: 50, chars: 100_000 }],
  ])('reads %j', (env, rule) => {
    expect(guardOf('autosre', env)).toEqual(rule)
  })

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
    const { json, metadata } = sre(metrics, DEFAULTS, { tool: 'list_metrics' })
    expect(json()).toMatchObject({
      total_metrics: 200,
      by_kind: { GAUGE: 100, DELTA: 100 },
      large_payload_handled: true,
      tool_name: 'list_metrics',
      original_items: 200,
      full_output: HANDLE,
    })
    expect(metadata).toEqual({
      handling_mode: 'template_sandbox',
      template_used: 'metrics',
      original_items: 200,
      original_chars: JSON.stringify(metrics).length,
    })
  })

  it('sends an unknown tool with sandbox to the generic template', () => {
    const { json, metadata } = sre(metrics, DEFAULTS, { tool: 'whatever' })
    expect(json()).toMatchObject({ total_items: 200, top_fields: { type: 200 } })
    expect(metadata).toMatchObject({ handling_mode: 'generic_sandbox' })
    expect(metadata).not.toHaveProperty('template_used')
  })

  it('gives a sample, a schema and the real handle without sandbox, to known tools too', () => {
    const readers = new Map([['artifact_run', 'artifact_run']]) as Asked['readers']
    const { json, metadata } = sre(metrics, { ...DEFAULTS, sandbox: false }, { tool: 'list_metrics', readers })
    expect(metadata).toMatchObject({ handling_mode: 'code_generation_prompt' })
    expect(json()).toMatchObject({
      total_count: 200,
      schema_hint: { type: 'string', metric_kind: 'string', value_type: 'string' },
    })
    expect(json()['sample']).toHaveLength(3)
    expect(json()['instructions']).toContain(HANDLE)
    expect(json()['instructions']).toContain('artifact_run')
  })

  it('names no tool that is not there', () => {
    expect(sre(metrics, { ...DEFAULTS, sandbox: false }).json()['instructions']).not.toMatch(/artifact_|execute_custom/)
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
    const shown = sre(result, { ...DEFAULTS, sandbox: false }).json()
    expect(shown['total_count']).toBe(count)
    expect(shown['sample']).toHaveLength(length)
  })

  it('cuts each of three samples', () => {
    const large = range(10, () => ({ text: 't'.repeat(10_000) }))
    const sample = sre(large, { items: 5, sandbox: false }).json()['sample'] as string[]
    expect(sample).toHaveLength(3)
    expect(Math.max(...sample.map((text) => text.length))).toBeLessThanOrEqual(2_100)
  })

  // Deviation: the original trusted a mark inside the data; a tool could write it and bypass the handler (promise 11).
  it('is not fooled by a forged mark', () => {
    const forged = { large_payload_handled: true, data: 'x'.repeat(200_000) }
    expect(sre(forged, DEFAULTS).metadata?.handling_mode).toBeDefined()
  })

  it('hands its result to the truncation guard, which finds nothing left to cut', () => {
    const { text, json } = sre(
      range(600, () => 'y'.repeat(1_000)),
      DEFAULTS,
    )
    expect(text.length).toBeLessThan(200_000)
    expect(json()).toMatchObject({ large_payload_handled: true, total_items: 600 })
  })
})

describe('Cyber-AutoAgent: router', () => {
  it('shows header, first part and footer with thousands separators', () => {
    const { text, metadata } = cyberGuard({}, 'n'.repeat(125_432), none)
    expect(text).toBe(
      `[Tool output: 125,432 chars total | Preview: 10,000 chars below | Full: ${HANDLE}]\n\n${'n'.repeat(10_000)}\n\n[Complete output saved to: ${HANDLE}]`,
    )
    expect(metadata).toMatchObject({ original_size: 125_432, compressed_size: text.length })
  })

  it.each([
    { chars: 10_000, shown: 10_000, rule: {} },
    { chars: 10_001, shown: 10_000, rule: {} },
    { chars: 20_000, shown: 500, rule: { shownChars: 500 } },
    { chars: 200, shown: 50, rule: { chars: 50, shownChars: 100 } },
  ])('$chars characters under $rule: $shown are shown', ({ chars, shown, rule }) => {
    const { text } = cyberGuard(rule, 'c'.repeat(chars), { handle: 'x' })
    expect(text.includes('c'.repeat(shown))).toBe(true)
    expect(text.includes('c'.repeat(shown + 1))).toBe(false)
  })
})

describe('Cyber-AutoAgent: compression', () => {
  it.each([
    { name: '120 at 100/10', size: 120, limits: { compressChars: 100, truncateChars: 10 } },
    { name: 'exactly 10,000', size: 10_000 },
    { name: '20,000', size: 20_000, share: 0.7 },
    { name: '1,000,000', size: 1_000_000, share: 0.7 },
  ])('text $name: note first, marker, smaller', ({ size, limits, share }) => {
    const shown = compressedResult('t'.repeat(size), { ...CYBER_DEFAULTS, ...limits })!
    expect(shown.split('\n')[0]).toContain(`original size ${size} chars`)
    expect(shown).toContain(`... [truncated from ${size} chars]`)
    if (share !== undefined) expect(shown.length).toBeLessThan(size * share)
  })

  it('leaves 4,000 characters as they are', () => {
    expect(compressedResult('t'.repeat(4_000), CYBER_DEFAULTS)).toBeUndefined()
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
    const lines = compressedResult(JSON.stringify(json), { ...CYBER_DEFAULTS, ...limits })!.split('\n')
    expect(lines[1]).toContain(`${keys} keys`)
    const shown = JSON.parse(lines[2]!) as object
    expect(shown).toMatchObject({
      _compressed: true,
      _n_original_keys: keys,
      _type: 'dict',
      _original_size: JSON.stringify(json).length,
    })
    expect(Object.keys(shown).filter((key) => !key.startsWith('_'))).toHaveLength(3)
  })

  // The document promises three elements of an array; the code sampled none.
  it('arrays keep three elements and their length', () => {
    const text = JSON.stringify(range(900, (i) => ({ id: i, pad: 'p'.repeat(20) })))
    expect(JSON.parse(compressedResult(text, CYBER_DEFAULTS)!.split('\n')[2]!)).toMatchObject({
      _compressed: true,
      _type: 'list',
      length: 900,
      samples: [{ id: 0 }, { id: 1 }, { id: 2 }],
    })
  })

  it('cuts old inputs with a note that they are not whole', () => {
    const text = compressedInput(JSON.stringify({ command: 'c'.repeat(20_000), cwd: '/x' }), CYBER_DEFAULTS)!
    const value = JSON.parse(text) as { command: string }
    expect(value.command).toMatch(/^c{8000}\.\.\. \[truncated from 20000 chars\]$/)
    expect(value).toMatchObject({ cwd: '/x' })
    expect(compressedInput('{"command":"ls"}', CYBER_DEFAULTS)).toBeUndefined()
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
    { name: '300 lines, 50 + 50', text: numbered(300), rule: { lines: 100, bytes: 102_400 }, maxLines: 101 },
    { name: '300 lines, 128 + 128', text: numbered(300), marker: '[... omitted 44 of 300 lines ...]', maxLines: 257 },
    {
      name: '10,000 short lines',
      text: numbered(10_000),
      marker: '[... omitted 9,744 of 10,000 lines ...]',
      maxLines: 257,
    },
    { name: '10,000 lines of 77 in 5,000 bytes', text: numbered(10_000, 77), rule: { bytes: 5_000 }, maxLines: 100 },
    { name: '500 lines of 43', text: numbered(500, 43), maxLines: 257 },
    { name: 'lines with a final newline', text: `${numbered(400)}\n`, maxLines: 257 },
  ])('$name: first and last line, marker, within the bytes', ({ text, rule = {}, marker, maxLines }) => {
    const total = text.trimEnd().split('\n').length
    const { text: shown } = adkCodeGuard(rule, text, none)
    const lines = shown.split('\n').slice(0, -1)
    expect(bytes(shown)).toBeLessThanOrEqual((rule as GuardRule).bytes ?? 10_240)
    expect(lines.length).toBeLessThanOrEqual(maxLines)
    expect(lines[0]!.startsWith('line 1 ')).toBe(true)
    expect(lines.at(-1)!.startsWith(`line ${total} `)).toBe(true)
    const found = /^\[\.\.\. omitted ([\d,]+) of ([\d,]+) lines \.\.\.\]$/m.exec(shown)!
    expect(Number(found[1]!.replaceAll(',', '')) + lines.length - 1).toBe(total)
    if (marker !== undefined) expect(shown).toContain(marker)
    expect(shown.endsWith(`[Full output: ${HANDLE}]`)).toBe(true)
  })

  // Deviation: the original doubled inputs of up to 128 lines and then cut their end off (promises 1 and 3).
  it('shows both ends of one line of 500 kB, once', () => {
    const { text } = adkCodeGuard({}, `START${'m'.repeat(500_000)}END`, none)
    expect(bytes(text)).toBeLessThanOrEqual(10_240)
    expect(text).toMatch(/^START/)
    expect(text).toMatch(/END$/m)
    expect(text).toMatch(/omitted [\d,]+ of 500,008 chars/)
  })

  it('never splits a character', () => {
    for (const size of [160, 161, 162, 163, 200, 201, 202, 203]) {
      const { text } = adkCodeGuard({ bytes: size }, '𠀀é中'.repeat(5_000), none)
      expect(Buffer.from(text).toString()).toBe(text)
      expect(bytes(text)).toBeLessThanOrEqual(size)
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
