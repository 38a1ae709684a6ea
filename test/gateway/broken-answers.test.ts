import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { SEED } from '../support/property.ts'
import { plainUpstream, testProxy } from './upstream.ts'

/** `npm run test:fuzz` runs 5,000. */
const RUNS = Number(process.env['PLIMSOLL_FUZZ'] ?? 80)
const MB = 1024 * 1024

const tool = { type: 'object', properties: {} }
const WIRES = {
  'anthropic-messages': {
    path: '/anthropic/v1/messages',
    body: { model: 'claude-sonnet-4-5', max_tokens: 64, messages: [{ role: 'user', content: 'Hi' }] },
    tools: { tools: [{ name: 'bash', input_schema: tool }] },
  },
  'openai-chat': {
    path: '/openai/v1/chat/completions',
    body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] },
    tools: { tools: [{ type: 'function', function: { name: 'bash', parameters: tool } }] },
  },
  'openai-responses': {
    path: '/openai/v1/responses',
    body: { model: 'gpt-4o', input: [{ role: 'user', content: 'Hi' }] },
    tools: { tools: [{ type: 'function', name: 'bash', parameters: tool }] },
  },
  gemini: {
    path: '/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    tools: { tools: [{ functionDeclarations: [{ name: 'bash' }] }] },
  },
} as const
type Wire = keyof typeof WIRES

const fixtures = (wire: Wire): Buffer[] => {
  const folder = join(import.meta.dirname, '../fixtures/wire', wire)
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sse'))
    .map((name) => readFileSync(join(folder, name)))
}

function dice(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
type Dice = ReturnType<typeof dice>

/** Values where a provider would never put them. */
const ODD = [
  'null',
  '[]',
  '{}',
  '-1',
  '1e999',
  '"\\ud800"',
  '99999999999999999999',
  'true',
  '""',
  '[[[[[[]]]]]]',
  '"__proto__"',
]

const MUTATIONS: readonly ((bytes: Buffer, roll: Dice) => Buffer)[] = [
  (bytes) => bytes,
  (bytes, roll) => bytes.subarray(0, roll(bytes.length)),
  (bytes, roll) => Buffer.concat([bytes.subarray(0, roll(bytes.length)), bytes.subarray(roll(bytes.length))]),
  (bytes, roll) => {
    const out = Buffer.from(bytes)
    for (let i = 0; i < 20; i++) out[roll(out.length)] = roll(256)
    return out
  },
  (bytes, roll) =>
    Buffer.from(
      bytes
        .toString('latin1')
        .replace(/:\s*("[^"]*"|\d+|\{|\[)/g, (found) => (roll(6) === 0 ? `:${ODD[roll(ODD.length)]!}` : found)),
      'latin1',
    ),
  (bytes, roll) =>
    Buffer.from(bytes.toString('latin1').replaceAll('\n\n', roll(2) === 0 ? '\n' : '\r\n\r\n'), 'latin1'),
  (bytes, roll) => Buffer.concat([bytes, Buffer.from('data: '), Buffer.alloc(roll(3) * MB, 65)]),
  (_bytes, roll) =>
    Buffer.concat([Buffer.from('data: '), Buffer.from('['.repeat(1 + roll(200_000))), Buffer.from('\n\n')]),
  (bytes, roll) =>
    Buffer.from(
      bytes.toString('latin1').replace(/"index":\s*\d+/g, () => `"index":${roll(2) === 0 ? 1e9 : -5}`),
      'latin1',
    ),
  (bytes) => Buffer.concat(Array.from({ length: 50 }, () => bytes)),
  (_bytes, roll) => Buffer.from(Array.from({ length: roll(5_000) }, () => roll(256))),
]

const PACKED: readonly (readonly [encoding: string | undefined, pack: (bytes: Buffer) => Buffer])[] = [
  [undefined, (bytes) => bytes],
  ['gzip', (bytes) => gzipSync(bytes, { level: 1 })],
  ['br', (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['deflate', (bytes) => deflateSync(bytes)],
  ['gzip, gzip', (bytes) => gzipSync(gzipSync(bytes))],
  ['gzip', (bytes) => gzipSync(bytes).subarray(0, -9)],
  ['br', (bytes) => bytes],
  ['gzip', (bytes) => gzipSync(Buffer.concat([bytes, Buffer.alloc(6 * MB, 10)]), { level: 1 })],
]

interface Case {
  readonly wire: Wire
  readonly tools: boolean
  readonly status: number
  readonly type: string
  readonly encoding: string | undefined
  readonly bytes: Buffer
  readonly breaksOff: boolean
}

function caseOf(n: number, samples: ReadonlyMap<Wire, readonly Buffer[]>): Case {
  const roll = dice(SEED + n * 7_919)
  const wire = (Object.keys(WIRES) as Wire[])[n % 4]!
  const known = samples.get(wire)!
  const [encoding, pack] = PACKED[roll(PACKED.length)]!
  const mutate = MUTATIONS[roll(MUTATIONS.length)]!
  return {
    wire,
    tools: roll(2) === 0,
    status: [200, 200, 200, 400, 429, 500][roll(6)]!,
    type: ['text/event-stream', 'text/event-stream', 'application/json', 'text/html'][roll(4)]!,
    encoding,
    bytes: pack(mutate(known[roll(known.length)]!, roll)),
    breaksOff: roll(10) === 0,
  }
}

/** What the client gets: the status and the bytes as they travelled, or that the connection broke. */
const ask = (
  url: string,
  body: object,
  headers: Record<string, string>,
): Promise<{ status: number; bytes: Buffer } | 'broke'> =>
  new Promise((resolve) => {
    const given = { 'content-type': 'application/json', 'accept-encoding': 'gzip, br, deflate', ...headers }
    const sent = request(url, { method: 'POST', headers: given }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', () => resolve('broke'))
      response.once('end', () => resolve({ status: response.statusCode!, bytes: Buffer.concat(chunks) }))
    })
    sent.once('error', () => resolve('broke')).end(JSON.stringify(body))
  })

it(`survives ${RUNS} packed and broken answers on all wires, and passes plain ones as they came (seed ${SEED})`, async () => {
  const samples = new Map((Object.keys(WIRES) as Wire[]).map((wire) => [wire, fixtures(wire)]))
  const upstream = await plainUpstream(({ headers }, response) => {
    const one = caseOf(Number(headers['x-case']), samples)
    response.writeHead(one.status, {
      'content-type': one.type,
      ...(one.encoding !== undefined && { 'content-encoding': one.encoding }),
    })
    if (one.breaksOff) response.write(one.bytes.subarray(0, one.bytes.length >> 1), () => response.destroy())
    else response.end(one.bytes)
  })
  const places = { anthropic: upstream.url, openai: upstream.url, gemini: upstream.url }
  const { proxy } = await testProxy({ upstreams: places })
  const crashes: unknown[] = []
  const onCrash = (error: unknown): void => void crashes.push(error)
  process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash)
  const run = async (n: number): Promise<void> => {
    const { wire, tools, status, encoding, bytes, breaksOff } = caseOf(n, samples)
    const { path, body, tools: declared } = WIRES[wire]
    const headers = { 'x-case': String(n), 'x-plimsoll-session': `s${n}` }
    const answer = await ask(proxy.url + path, { ...body, ...(tools && declared), stream: true }, headers)
    // What was asked for plain and came packed is unpacked, as far as that goes; several encodings at once are not.
    const isUnpacked = encoding !== undefined && !encoding.includes(',')
    if (breaksOff || tools || isUnpacked) return
    // Without tools of ours nothing is rewritten: what came is what the client gets.
    if (answer === 'broke') throw new Error(`case ${n} broke`)
    if (answer.status !== status || !answer.bytes.equals(bytes)) throw new Error(`case ${n} was changed on its way`)
  }
  let peak = 0
  try {
    for (let n = 0; n < RUNS; n += 8) {
      await Promise.all(Array.from({ length: Math.min(8, RUNS - n) }, (_, i) => run(n + i)))
      peak = Math.max(peak, process.memoryUsage().rss / MB)
    }
  } finally {
    process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash)
  }
  expect(crashes).toEqual([])
  expect((await fetch(`${proxy.url}/healthz`)).status).toBe(200)
  console.log(`${RUNS} answers, peak memory of the test, upstream and proxy together ${Math.round(peak)} MB`)
  expect(peak).toBeLessThan(2_048)
}, 3_600_000)
