import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import type { Wire } from '../../src/testing/referee/index.ts'
import { PLAIN_WIRES, type Turn } from './plain-wires.ts'

const WIRES = Object.keys(PLAIN_WIRES) as Wire[]

/** Requests of a run that is compacted on the way: instructions, logs, and words from elsewhere where `word` has some. */
const historyOf = (word: string, steps: number): Turn[] => [
  { user: `Find out why ${word} is slow.` },
  ...Array.from({ length: steps }, (_, step) => ({
    id: `call_${step}`,
    result: Array.from({ length: 110 }, (_line, line) => `${word} ${step * 977 + line * 31} handled`).join('\n'),
  })),
]

interface Way {
  readonly word: string
  /** Where a client writes its tools: before or behind its messages. */
  readonly toolsFirst: boolean
  readonly isPacked?: boolean
  readonly memo?: boolean
}

function written(body: object, toolsFirst: boolean): string {
  const { tools, ...rest } = body as { readonly tools: unknown }
  return JSON.stringify(toolsFirst ? { tools, ...rest } : { ...rest, tools })
}

/** The bytes that leave for the provider, request by request. */
async function sentBy(wire: Wire, { word, toolsFirst, isPacked = false, memo = true }: Way): Promise<string[]> {
  const { url, key, request, answer } = PLAIN_WIRES[wire]
  const sent: string[] = []
  const plimsoll = createPlimsoll({
    store: 'memory:',
    memo,
    // The same handles in both.
    secret: Buffer.alloc(32, 7),
    window: 20_000,
    fetch: async (_url: unknown, init?: RequestInit) => {
      const bytes = Buffer.from(init!.body as Uint8Array)
      // What is not changed leaves packed, as it came.
      sent.push((new Headers(init!.headers).has('content-encoding') ? gunzipSync(bytes) : bytes).toString('utf8'))
      return Response.json(answer('Noted.'))
    },
  })
  for (let steps = 14; steps < 34; steps++) {
    const text = written(request(historyOf(word, steps)), toolsFirst)
    const body = isPacked ? gzipSync(text) : Buffer.from(text)
    const packing: Record<string, string> = isPacked ? { 'content-encoding': 'gzip' } : {}
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
  it.each([
    { word: 'checkout', toolsFirst: true },
    { word: 'checkout', toolsFirst: false },
    { word: 'Bäckerei “Süß” 日本', toolsFirst: false },
  ])(
    'leaves as the same bytes whatever it came as, with and without memory of work: $word, $toolsFirst',
    async (way) => {
      const plain = await sentBy(wire, way)
      expect(plain.map(hashOf)).toEqual((await sentBy(wire, { ...way, isPacked: true })).map(hashOf))
      expect(plain.map(hashOf)).toEqual((await sentBy(wire, { ...way, memo: false })).map(hashOf))
      expect(plain.at(-1)).toContain('"recall"')
      expect(() => plain.map((text) => JSON.parse(text) as unknown)).not.toThrow()
    },
  )
})
