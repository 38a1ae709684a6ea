import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { closeLater, plainUpstream } from './upstream.ts'

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4.1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 100, completion_tokens: 2, total_tokens: 102 },
})

const TOOL = { type: 'function', function: { name: 'bash', description: 'Runs a command.', parameters: {} } }

const WARM = 20
const REQUESTS = 60

/** Shapes that V8 made for one object each, while a proxy answered requests of a conversation that it knew. */
async function shapesMade(tools: 'tools' | 'no-tools'): Promise<number> {
  const upstream = await plainUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER)
  })
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-shapes-'))
  closeLater(() => rmSync(folder, { recursive: true, force: true }))
  const log = join(folder, 'v8.log')
  const file = fileURLToPath(new URL('shapes-worker.ts', import.meta.url))
  const logging = ['--log', `--logfile=${log}`, '--no-logfile-per-isolate']
  const child = fork(file, [upstream.url, tools], { execArgv: [...logging, '--import', 'tsx'] })
  closeLater(() => void child.kill('SIGKILL'))
  const [url] = (await once(child, 'message')) as [string]
  const messages: object[] = [{ role: 'user', content: 'Find out why checkout is slow.' }]
  for (let n = 0; n < WARM + REQUESTS; n++) {
    if (n === WARM) {
      child.send('log')
      await once(child, 'message')
    }
    const answer = await fetch(`${url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
      body: JSON.stringify({ model: 'gpt-4.1', messages, tools: [TOOL] }),
    })
    expect(answer.status).toBe(200)
    await answer.text()
    const call = { id: `call_${n}`, type: 'function', function: { name: 'bash', arguments: '{}' } }
    messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    messages.push({ role: 'tool', tool_call_id: `call_${n}`, content: `order ${n} handled in ${n * 7} ms` })
  }
  child.send('end')
  await once(child, 'exit')
  const made = readFileSync(log, 'utf8').split('\n')
  expect(made.some((line) => line.startsWith('map-create'))).toBe(true)
  // A shape that hangs on no other is found by nobody who builds the same object again.
  return made.filter((line) => line.startsWith('map,Transition,') && line.includes(',prototype,')).length
}

describe.each(['no-tools', 'tools'] as const)('a request that goes on, with %s of ours', (tools) => {
  it('is answered with objects whose shapes were there before', async () => {
    expect(await shapesMade(tools)).toBeLessThan(REQUESTS)
  })
})
