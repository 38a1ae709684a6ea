/**
 * What a warm request that changes nothing runs: source files and functions, counted by V8. `npm run size:request`, with `--list` for each.
 * A proxy on a memory store, one Anthropic conversation that grows by a tool step a call, an upstream that streams.
 */
import { createServer } from 'node:http'
import inspector from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createPlimsoll } from '../src/index.ts'

/** Where the proxy is; it may move. */
const PROXY = process.env['PROXY_MODULE'] ?? '../src/gateway/proxy.ts'
const { startProxy } = (await import(PROXY)) as typeof import('../src/gateway/proxy.ts')

/** Calls before the one that is counted: by then everything is loaded and every memory is warm. */
const WARM = 15

const ANSWER: readonly (readonly [event: string, fields: object])[] = [
  [
    'message_start',
    {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 100, output_tokens: 1 },
      },
    },
  ],
  ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
  ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello' } }],
  ['content_block_stop', { index: 0 }],
  ['message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }],
  ['message_stop', {}],
]

const upstream = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [type, fields] of ANSWER)
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
    response.end()
  })
})
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))

const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', telemetry: false })
const proxy = await startProxy(plimsoll.gateway, {
  port: 0,
  upstreams: { anthropic: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}` },
})

const messages: object[] = [{ role: 'user', content: 'Find the bug.' }]
const tools = [
  {
    name: 'bash',
    description: 'Runs a command.',
    input_schema: { type: 'object', properties: { command: { type: 'string' } } },
  },
]

async function send(): Promise<string> {
  const response = await fetch(`${proxy.url}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 1_000, stream: true, tools, messages }),
  })
  await response.text()
  // What follows the answer (usage, the archive) belongs to the request.
  await setTimeout(100)
  return `${response.status} ${response.headers.get('x-plimsoll-verdict')}`
}

function step(n: number): void {
  const id = `toolu_${n}`
  messages.push(
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'bash', input: { command: `cat f${n}` } }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content: `output line ${n} of a file\n`.repeat(5) }],
    },
  )
}

for (let n = 0; n < WARM; n++) {
  await send()
  step(n)
}

const session = new inspector.Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
step(WARM)
await session.post('Profiler.takePreciseCoverage')
const outcome = await send()
const { result } = await session.post('Profiler.takePreciseCoverage')

/** Functions of each source file that ran, and how often. */
const ran = new Map<string, Map<string, number>>()
let anonymous = 0
for (const { url, functions } of result) {
  const file = /\/src\/(.*)$/.exec(url.split('?')[0]!)?.[1]
  if (file === undefined || url.includes('/node_modules/')) continue
  for (const { functionName, ranges } of functions) {
    const { count = 0, startOffset = 0 } = ranges[0] ?? {}
    if (count === 0) continue
    // What tsx adds to name functions, and V8 to set fields, is no function of ours.
    if (functionName === '__name' || functionName === '<instance_members_initializer>') continue
    if (functionName === '') {
      anonymous++
      continue
    }
    const own = ran.get(file) ?? new Map<string, number>()
    ran.set(file, own.set(`${functionName}@${startOffset}`, count))
  }
}
const named = [...ran.values()].flatMap((own) => [...own.values()])
console.log(`answered ${outcome}, with ${messages.length} messages`)
console.log(`source files     ${ran.size}`)
console.log(`named functions  ${named.length}`)
console.log(`  their calls    ${named.reduce((sum, count) => sum + count, 0)}`)
console.log(`anonymous ones   ${anonymous}`)
if (process.argv.includes('--list'))
  for (const [file, own] of [...ran].sort())
    console.log(`${file}: ${[...own].map(([name, count]) => `${name.split('@')[0]} ×${count}`).join(', ')}`)

session.disconnect()
await proxy.close()
await plimsoll.close()
upstream.close()
