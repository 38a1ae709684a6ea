/** The provider of the proxy bench: reads the body, answers at once; with `stream` it sends events at a fixed pace. */
import { createServer } from 'node:http'

const answerTo = (bytes: number): string =>
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'gpt-4.1',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, logprobs: null, finish_reason: 'stop' }],
    // About what a tokenizer makes of such bodies.
    usage: { prompt_tokens: Math.round(bytes / 3.5), completion_tokens: 2, total_tokens: Math.round(bytes / 3.5) + 2 },
  })
const nowMs = (): number => performance.timeOrigin + performance.now()
const EVENTS = 20
const PACE_MS = 100

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'gpt-4.1', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

const server = createServer((incoming, response) => {
  let head = ''
  let size = 0
  incoming.on('data', (bytes: Buffer) => {
    size += bytes.length
    if (head.length < 64) head += bytes.toString('latin1', 0, 64)
  })
  incoming.on('end', () => {
    if (!head.includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(answerTo(size))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let sent = 0
    const timer = setInterval(() => {
      // Who reads it can tell how long it took.
      if (sent++ < EVENTS) return void response.write(chunk({ content: `word ${nowMs().toFixed(3)} ` }, null))
      clearInterval(timer)
      response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`)
    }, PACE_MS)
    response.on('close', () => clearInterval(timer))
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }))
