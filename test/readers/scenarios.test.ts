import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exactly } from '../../src/core/count.ts'
import { fileArtifacts } from '../../src/drivers/artifacts/file.ts'
import { callReader } from '../../src/engine/readers/tools.ts'
import { toolBudget } from '../../src/engine/tool-results/tool-budget.ts'
import type { Summarizer } from '../../src/ports/summarizer.ts'
import { setup } from './setup.ts'

const quarters = { name: 'quarters', count: (text: string) => exactly(Math.ceil(text.length / 4)) }
const model = (window: number): Summarizer & { systems: string[] } => {
  const systems: string[] = []
  return {
    name: 'echo',
    window,
    systems,
    async summarise({ system, prompt, maxOutputTokens }) {
      expect(Math.ceil((system.length + prompt.length) / 4) + maxOutputTokens).toBeLessThanOrEqual(window)
      systems.push(system)
      const nonce = /<answer-(\w+)>/.exec(prompt)?.[1]
      return { text: `<answer-${nonce}>part ${systems.length}</answer-${nonce}>`, stop: 'end' }
    },
  }
}

const preview = (tokens: number): string => 'p'.repeat(tokens * 4)

/** The rows of the source designs that concern stored output, extraction and tool budgets, with their own numbers. */

describe('stored output, with the numbers of the five-layer design', () => {
  it('keeps the full text for each of 20 writers, and survives 5 clean-ups of 160 files at once', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'plimsoll-scenarios-'))
    try {
      const store = fileArtifacts({
        directory: join(directory, 'store'),
        secret: randomBytes(32),
      })
      const texts = Array.from({ length: 20 }, (_, i) => `output ${i} `.repeat(20))
      const stats = await Promise.all(texts.map((text) => store.put('a', Buffer.from(text), { tool: 'nmap -sV scan' })))
      for (const [i, { handle, name }] of stats.entries()) {
        expect(name).toMatch(/^nmap_-sV_scan_\d{8}_\d{6}_[0-9a-f]{6}\.log$/)
        expect(Buffer.from((await store.read('a', handle))!).toString()).toBe(texts[i])
      }

      const live = await store.put('a', Buffer.from('still cited in the report'), { session: 'live' })
      for (let i = 0; i < 160; i++) await store.put('a', Buffer.from(`file ${i}`))
      const pruned = await Promise.all(Array.from({ length: 5 }, () => store.prune('a', { keep: 100, cleanAt: 150 })))
      expect(new Set(pruned.flat()).size).toBe(80)
      expect(pruned.flat()).toHaveLength(80)
      const left = await store.list('a')
      expect(left).toHaveLength(101)
      expect(left.map(({ handle }) => handle)).toContain(live.handle)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })
})

describe('extraction, with the numbers of the handle design', () => {
  it('maps and reduces 8,000 characters in a window of 2,048 with 256 for the answer', async () => {
    const small = model(2048)
    const { put, readers } = setup({
      extraction: { model: small, tokenizer: quarters, maxOutputTokens: 256, maxChunks: 10 },
    })
    const answer = await readers.extract({
      handle: await put('word '.repeat(1600)),
      extract: 'the facts',
      mode: 'full-chunked',
    })
    expect(answer.mode).toBe('full-chunked')
    expect(answer.calls).toBeGreaterThanOrEqual(3)
    expect(small.systems.at(-1)).toMatch(/^You combine extracts/)
    expect(small.systems.filter((system) => system.startsWith('You read one part'))).toHaveLength(answer.calls - 1)
  })

  it('asks once about 100 characters', async () => {
    const { put, readers } = setup({ extraction: { model: model(8192), tokenizer: quarters, maxOutputTokens: 512 } })
    expect(await readers.extract({ handle: await put('x'.repeat(100)), extract: 'the facts' })).toMatchObject({
      calls: 1,
      mode: 'full-chunked',
    })
  })

  it('explains a handle that is not there instead of failing', async () => {
    const { readers } = setup()
    const answer = await callReader(readers, 'artifact_extract', {
      handle: `art_${'7'.repeat(26)}`,
      extract: 'x',
      mode: 'nonsense',
    })
    expect(answer?.text).toContain('mode of artifact_extract must be')
    const missing = await callReader(readers, 'artifact_extract', { handle: `art_${'7'.repeat(26)}`, extract: 'x' })
    expect(missing?.text).toMatch(/no artifact.*may have been deleted/)
  })

  it('reads back exactly what a cap of 100 bytes kept out', async () => {
    const { put, readers, store } = setup()
    const text = 'y'.repeat(200)
    const handle = await put(text)
    expect(Buffer.from((await store.read('a', handle)) ?? []).toString()).toBe(text)
    expect((await readers.read({ handle })).text).toContain(text)
  })
})

describe('tool budgets, with the windows of the handle design', () => {
  const HANDLE = `stored as art_${'0'.repeat(26)}`
  const rows: {
    name: string
    window: number
    buffer: number
    output: number
    base: number
    results: { tool: string; characters: number; always?: true }[]
    steps: string[]
  }[] = [
    {
      name: 'drop after success',
      window: 4096,
      buffer: 0,
      output: 64,
      base: 1600,
      results: [
        { tool: 'small', characters: 400 },
        { tool: 'large', characters: 10_000 },
      ],
      steps: ['full', 'handle'],
    },
    {
      name: 'budget store',
      window: 3000,
      buffer: 100,
      output: 200,
      base: 1300,
      results: [{ tool: 'large', characters: 6000 }],
      steps: ['handle'],
    },
    {
      name: 'exactly the limit',
      window: 726,
      buffer: 8,
      output: 32,
      base: 586,
      results: [{ tool: 'exact', characters: 400 }],
      steps: ['full'],
    },
    {
      name: 'one token above the limit',
      window: 726,
      buffer: 8,
      output: 32,
      base: 587,
      results: [{ tool: 'exact', characters: 400 }],
      steps: ['handle'],
    },
    {
      name: 'progress passes through',
      window: 3220,
      buffer: 0,
      output: 64,
      base: 2896,
      results: [
        { tool: 'long', characters: 1200 },
        { tool: 'status', characters: 40, always: true },
      ],
      steps: ['handle', 'full'],
    },
    {
      name: 'no window left at all',
      window: 200,
      buffer: 16,
      output: 32,
      base: 152,
      results: [{ tool: 'any', characters: 100 }],
      steps: ['refusal'],
    },
  ]
  // 1,200 characters fit into 3,220 - 64 - 2,896 = 260 tokens only by half.
  for (const { name, window, buffer, output, base, results, steps } of rows) {
    it(name, async () => {
      const budget = toolBudget({
        countTokens: (text) => quarters.count(text).high,
        room: () => window - buffer - output - base,
      })
      const granted: string[] = []
      for (const { tool, characters, always } of results) {
        const grant = await budget.reserve({
          callId: tool,
          tool,
          full: 'x'.repeat(characters),
          handle: HANDLE,
          ...(always === undefined ? {} : { always }),
        })
        granted.push(grant.step)
      }
      expect(granted).toEqual(steps)
    })
  }

  it('passes the wrapper of a batch whole while its parts share', async () => {
    const budget = toolBudget({
      countTokens: (text) => quarters.count(text).high,
      room: () => 500,
      minPreviewTokens: 10,
    })
    const grants = await budget.reserveBatch([
      { callId: '1', tool: 'big', full: 'x'.repeat(4000), preview },
      { callId: '2', tool: 'batch', full: 'b'.repeat(800), always: true },
      { callId: '3', tool: 'big', full: 'y'.repeat(4000), preview },
    ])
    expect(grants.map(({ callId, step, tokens }) => [callId, step, tokens])).toEqual([
      ['1', 'preview', 150],
      ['2', 'full', 200],
      ['3', 'preview', 150],
    ])
  })
})
