import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { applyEdits, type Edit } from '../../src/core/edits.ts'
import type { Item } from '../../src/core/item.ts'
import { turnsOf } from '../../src/core/turns.ts'
import { indexJson } from '../../src/formats/json/json-index.ts'
import { loadFile } from '../../src/lab/transcripts/load.ts'
import floors from '../corpus.json' with { type: 'json' }
import type { WireName } from '../support/generators/index.ts'
import { sharedFolder, sharedText } from '../support/shared-data.ts'
import { CODECS } from '../support/wires.ts'

const isTranscript = (name: string): boolean => /\.(?:jsonl?|traj)(?:\.gz)?$/.test(name)

function keepsTheLaw(wire: WireName, body: string): void {
  const { decode, encode } = CODECS[wire]
  const { text, losses } = encode(decode(body))
  // Compared by hand: a difference in megabytes of text would be printed for minutes.
  if (text !== body || losses.length > 0)
    throw new Error(`${wire} changed an untouched body of ${body.length} characters`)
}

/** Half of the items away, every third result shortened: what is left is read back as it was. */
function survivesEdits(wire: WireName, body: string): void {
  const { decode, encode } = CODECS[wire]
  const before = decode(body)
  const plan = before.items.flatMap((item, i): Edit[] => {
    if (i % 2 === 1) return [{ op: 'drop', id: item.id, reason: 'test' }]
    if (item.kind !== 'result' || item.sealed === true || i % 3 !== 0) return []
    return [{ op: 'replace', id: item.id, text: 'short', reason: 'test' }]
  })
  const edited = applyEdits(before, plan)
  const after = decode(encode(edited).text)
  const texts = (items: readonly Item[]): string[] => items.map((item) => item.text)
  expect(texts([...after.head, ...after.items])).toEqual(texts([...before.head, ...edited.items]))
}

describe('recorded sessions', () => {
  for (const [folder, floor] of Object.entries(floors.transcripts)) {
    it(`keeps the law on every body of ${folder}`, async () => {
      let bodies = 0
      for (const name of readdirSync(sharedFolder(`transcripts/${folder}`)).filter(isTranscript)) {
        const { recordings } = await loadFile(join(sharedFolder(`transcripts/${folder}`), name))
        for (const { calls, wire } of recordings) {
          for (const call of calls) keepsTheLaw(wire, call.body())
          bodies += calls.length
          const last = calls.at(-1)
          if (last !== undefined) survivesEdits(wire, last.body())
        }
      }
      console.info(`${folder}: ${bodies} bodies`)
      expect(bodies).toBeGreaterThanOrEqual(floor.bodies)
    })
  }
})

/** The request as it stands in its line, byte for byte as it was sent. */
function exactRequests(provider: string): string[] {
  const lines = sharedText(`transcripts/token-usage/exact-${provider}.jsonl.gz`)!.split('\n')
  return lines.flatMap((line) => (line.trim() === '' ? [] : [indexJson(line).below(['request'])!.raw]))
}

describe('exact requests', () => {
  it.each([
    ['anthropic-messages', 'anthropic', 144],
    ['openai-chat', 'openai-chat', 555],
    ['openai-responses', 'openai-responses', 107],
    ['gemini', 'google', 131],
  ] as const)('of %s come back as the bytes that were sent', (wire, provider, floor) => {
    const requests = exactRequests(provider)
    for (const request of requests) {
      keepsTheLaw(wire, request)
      survivesEdits(wire, request)
      // Chained Responses requests send outputs of calls that only the provider has.
      if (!request.includes('"previous_response_id"')) {
        expect(turnsOf(CODECS[wire].decode(request).items).orphans).toEqual([])
      }
    }
    expect(requests.length).toBeGreaterThanOrEqual(floor)
  })
})
