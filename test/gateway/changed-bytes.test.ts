import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import type { Wire } from '../../src/testing/referee/index.ts'
import { PLAIN_WIRES, type Turn } from './plain-wires.ts'

const WIRES = Object.keys(PLAIN_WIRES) as Wire[]

/** Twelve requests of a run that is compacted on the way: instructions, logs, and words from elsewhere where `word` has some. */
const historyOf = (word: string, steps: number): Turn[] => [
  { user: `Find out why ${word} is slow.` },
  ...Array.from({ length: steps }, (_, step) => ({
    id: `call_${step}`,
    result: Array.from({ length: 400 }, (_line, line) => `${word} ${step * 977 + line * 31} handled`).join('\n'),
  })),
]

/** The bytes that leave for the provider, request by request. */
async function sentBy(
  wire: Wire,
  word: string,
  pack: (text: string) => Uint8Array,
  packing: object,
): Promise<string[]> {
  const { url, key, request, answer } = PLAIN_WIRES[wire]
  const sent: string[] = []
  const plimsoll = createPlimsoll({
    store: 'memory:',
    // The same handles in both.
    secret: Buffer.alloc(32, 7),
    window: 12_000,
    fetch: async (_url: unknown, init?: RequestInit) => {
      const bytes = Buffer.from(init!.body as Uint8Array)
      // What is not changed leaves packed, as it came.
      sent.push((new Headers(init!.headers).has('content-encoding') ? gunzipSync(bytes) : bytes).toString('utf8'))
      return Response.json(answer('Noted.'))
    },
  })
  for (let steps = 0; steps < 12; steps++) {
    const body = pack(JSON.stringify(request(historyOf(word, steps))))
    const headers = { 'content-type': 'application/json', ...key('sk-1'), ...packing }
    const response = await plimsoll.fetch(url, { method: 'POST', headers, body: body as BodyInit })
    expect(response.status).toBe(200)
    await response.text()
  }
  await plimsoll.close()
  return sent
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

describe.each(WIRES)('a request of %s that is changed', (wire) => {
  it.each(['checkout', 'Bäckerei “Süß” 日本'])('leaves as the same bytes whatever it came as (%s)', async (word) => {
    const plain = await sentBy(wire, word, (text) => Buffer.from(text), {})
    const packed = await sentBy(wire, word, (text) => gzipSync(text), { 'content-encoding': 'gzip' })
    expect(plain.map(hashOf)).toEqual(packed.map(hashOf))
    expect(plain.at(-1)).toContain('"recall"')
    expect(() => plain.map((text) => JSON.parse(text) as unknown)).not.toThrow()
  })
})
