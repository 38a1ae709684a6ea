import { gzipSync } from 'node:zlib'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { loadFile, loadTranscript, readSource } from '../../src/lab/transcripts/load.ts'
import { fixtureText, loadFixture, onlyRecording } from './fixtures.ts'

describe('damaged files', () => {
  it('says that an empty file is empty', () => {
    expect(loadTranscript(' \n\n', 'empty')).toMatchObject({
      recordings: [],
      problems: [{ line: 1, message: 'The file is empty.' }],
    })
  })

  it('names the line that is not JSON and reads the others', () => {
    const lines = fixtureText('codex-rollout.jsonl').trim().split('\n')
    const loaded = loadTranscript(lines.toSpliced(3, 0, 'Segmentation fault').join('\n'), 'broken')
    expect(loaded.problems[0]).toEqual({ line: 4, message: 'The line is not JSON (Segmentation fault); skipped.' })
    expect(onlyRecording(loaded).calls).toHaveLength(onlyRecording(loadFixture('codex-rollout.jsonl')).calls.length)
  })

  it('reads up to a last line that breaks off', () => {
    const text = fixtureText('pi.jsonl').trim()
    const loaded = loadTranscript(text.slice(0, -40), 'cut')
    expect(loaded.problems[0]?.message).toMatch(/^The last line is incomplete/)
    expect(loaded.problems[0]?.line).toBe(text.split('\n').length)
    expect(onlyRecording(loaded).calls.length).toBeGreaterThan(0)
  })

  it.each([0.3, 0.6, 0.95])('reads the front of a JSON document cut at %d of its length', (share) => {
    const text = fixtureText('gemini-cli.json')
    const loaded = loadTranscript(text.slice(0, Math.floor(text.length * share)), 'cut')
    expect(onlyRecording(loaded).calls.length).toBeGreaterThan(0)
    expect(loaded.problems[0]?.message).toContain('ends or is damaged')
    expect(loaded.problems[0]?.line).toBeGreaterThan(10)
  })

  it('reads a document that breaks off 100,000 levels deep', () => {
    const { values, problems } = readSource(`[1,${'[2,'.repeat(100_000)}`)
    expect(values.length).toBeLessThanOrEqual(1)
    expect(problems.length).toBeGreaterThan(0)
  })

  it('says where another format begins, and loads both', () => {
    const loaded = loadTranscript(`${fixtureText('claude-code.jsonl')}${fixtureText('codex-rollout.jsonl')}`, 'mixed')
    expect(loaded.recordings.map(({ format }) => format)).toEqual(['claude-code', 'codex-rollout'])
    const line = fixtureText('claude-code.jsonl').trim().split('\n').length + 1
    expect(loaded.problems).toContainEqual({
      line,
      message: 'codex-rollout lines begin here in a claude-code file; read as a separate recording.',
    })
  })

  it('says so when nothing is recognised', () => {
    expect(loadTranscript('{"a":1}\n{"b":2}', 'other').problems).toEqual([
      { line: 1, message: 'No known transcript format was recognised here.' },
    ])
  })

  it('reports wrong types inside records instead of throwing', () => {
    const text = [
      '{"type":"user","uuid":"1","message":{"role":"user","content":[null,3,{"type":7}]}}',
      '{"type":"assistant","uuid":"2","message":{"id":4,"content":"hi","usage":"none"}}',
    ].join('\n')
    const recording = onlyRecording(loadTranscript(text, 'types'))
    expect(recording.calls).toHaveLength(1)
    expect(recording.calls[0]?.usage).toBeUndefined()
  })
})

describe('loadFile', () => {
  it('unpacks gzip by its first bytes and gives typed errors', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'transcripts-'))
    try {
      const packed = join(folder, 'session.txt')
      await writeFile(packed, gzipSync(fixtureText('pi.jsonl')))
      expect(onlyRecording(await loadFile(packed)).format).toBe('pi')
      await writeFile(packed, gzipSync(fixtureText('pi.jsonl')).subarray(0, 200))
      await expect(loadFile(packed)).rejects.toMatchObject({ code: 'bad-input' })
      await expect(loadFile(join(folder, 'absent'))).rejects.toMatchObject({ code: 'not-found' })
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
