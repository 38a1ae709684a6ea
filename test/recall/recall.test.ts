import { describe, expect, it } from 'vitest'
import { RecallIndex, type ReplaySource, readableText, RecallTally } from '../../src/lab/replay/recall.ts'
import type { Recording } from '../../src/lab/transcripts/recording.ts'
import { loadFixture } from '../transcripts/fixtures.ts'

const LISTING = '     7→\tif err := session.Save(ctx); err != nil {\n     8→\t\treturn err'
const EDIT = {
  file_path: 'cmd/save.go',
  old_string: '\tif err := session.Save(ctx); err != nil {',
  new_string: '\tif err := store.Save(ctx); err != nil {',
}

const source: ReplaySource = {
  messages: [
    { parts: [{ kind: 'user', text: 'Please repair cmd/save.go today.' }] },
    { parts: [{ kind: 'call', text: '{"path":"cmd/save.go"}', input: { path: 'cmd/save.go' } }] },
    { parts: [{ kind: 'result', text: LISTING }] },
    { parts: [{ kind: 'call', text: JSON.stringify(EDIT), input: EDIT }] },
    { parts: [{ kind: 'result', text: 'done' }] },
  ],
  calls: [
    { to: 1, response: { parts: [{ kind: 'call', text: '{"path":"cmd/save.go"}', input: { path: 'cmd/save.go' } }] } },
    { to: 3, response: { parts: [{ kind: 'call', text: JSON.stringify(EDIT), input: EDIT }] } },
    { to: 5, response: { parts: [{ kind: 'assistant', text: 'Changed:\nif err := store.Save(ctx); err != nil {' }] } },
  ],
}
const textsOf = (...messages: number[]) => messages.flatMap((at) => source.messages[at]?.parts.map(readableText) ?? [])

describe('RecallIndex', () => {
  const index = new RecallIndex(source)

  it('asks for the lines that stood verbatim earlier, numbered listings included', () => {
    expect(index.needsOf(0).quotes).toEqual([])
    expect(index.needsOf(1).quotes).toEqual(['if err := session.Save(ctx); err != nil {'])
  })

  it("reads a call's arguments without their JSON escapes, as a need and as a source", () => {
    expect(index.needsOf(2).quotes).toEqual(['if err := store.Save(ctx); err != nil {'])
  })

  it('does not ask for what the answer itself brings', () => {
    expect(index.needsOf(1).names).toEqual(['cmd/save.go', 'session.Save'])
  })

  it('says what a view still shows', () => {
    const line = index.needsOf(1).quotes[0] as string
    expect(index.view(textsOf(0, 1, 2)).contains(line)).toBe(true)
    expect(index.view(textsOf(0, 1)).contains(line)).toBe(false)
    expect(index.view([`note: ${line}`]).contains(line)).toBe(true)
    expect(index.view(textsOf(0)).names('cmd/save.go')).toBe(true)
    expect(index.view(textsOf(2)).names('cmd/save.go')).toBe(false)
  })

  it('counts the system text as earlier', () => {
    const withSystem = new RecallIndex({ ...source, system: 'Never touch cmd/save.go' })
    expect(withSystem.view(['Never touch cmd/save.go']).names('cmd/save.go')).toBe(true)
  })
})

describe('RecallTally', () => {
  it('gives the mean over calls, and what can be recovered', () => {
    const index = new RecallIndex(source)
    const tally = new RecallTally()
    tally.add(index, 0, index.view(textsOf(0)))
    tally.add(index, 1, index.view(textsOf(0, 1)), index.view(textsOf(2)))
    tally.add(index, 2, index.view(textsOf(0, 1, 2, 3, 4)))
    const recall = tally.total()
    expect(recall).toMatchObject({ quotes: 2, names: 4, quoteRecall: 0.5, recoverableRecall: 1 })
    expect(recall.nameRecall).toBeCloseTo((1 + 0.5 + 1) / 3)
  })

  it('is 1 when nothing was needed', () => {
    expect(new RecallTally().total()).toMatchObject({ quoteRecall: 1, nameRecall: 1, recoverableRecall: 1 })
  })

  it('keeps everything of a recorded session when everything is sent', () => {
    const recording = loadFixture('tau-bench.json').recordings[0] as Recording
    const index = new RecallIndex(recording)
    const tally = new RecallTally()
    for (const call of recording.calls) {
      const texts = recording.messages.slice(0, call.to).flatMap((message) => message.parts.map(readableText))
      tally.add(index, call.index, index.view(texts))
    }
    const recall = tally.total()
    expect(recall).toMatchObject({ quoteRecall: 1, nameRecall: 1 })
    expect(recall.names).toBeGreaterThan(0)
  })
})
