/**
 * A real local model behind the proxy: llama.cpp loads a model that this run writes (random weights: its words are noise, its tokenizer
 * and its context are real), refuses what exceeds the context, and an agent talks to it for forty turns, first without the proxy, then
 * through it. Nobody is told how long the context is.
 *
 *   npm run test:local-model
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPlimsoll } from '../../src/index.ts'
import { startProxy } from '../../src/gateway/proxy.ts'
import { writeModel } from './local-model/gguf.ts'
import { startLocalServer } from './local-model/server.ts'
import { vocabularyOf } from './local-model/vocabulary.ts'

const VERSION = '3.22.1'
const CONTEXT = 4_096
const TURNS = 40
const SEED = 7

const folder = join(import.meta.dirname, '.local-model')
const entry = join(folder, 'node_modules/node-llama-cpp/dist/index.js')

/** Only the binary for plain processors: the others are hundreds of megabytes. */
function install(): void {
  if (existsSync(entry)) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
  const binary = `@node-llama-cpp/${process.platform === 'darwin' ? 'mac' : process.platform}-${process.arch}`
  console.log(`installing node-llama-cpp ${VERSION} and ${binary}`)
  const wanted = [`node-llama-cpp@${VERSION}`, `${binary}@${VERSION}`]
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--omit=optional', ...wanted], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

interface Talk {
  readonly turns: number
  readonly failed: number
  readonly said: string
}

/** An agent that sends its whole history and a new piece of a log each turn, until it is refused. */
async function talk(base: string): Promise<Talk> {
  const messages: { role: string; content: string }[] = [
    { role: 'system', content: 'You watch the logs of a shop and say what is wrong with it.' },
  ]
  for (let turn = 0; turn < TURNS; turn++) {
    messages.push({ role: 'user', content: `Step ${turn}. What does this say?\n${logOf(turn)}` })
    const response = await fetch(`${base}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-plimsoll-session': 'watch' },
      body: JSON.stringify({ model: 'noise', max_tokens: 24, messages }),
    })
    const text = await response.text()
    if (response.status !== 200) return { turns: turn, failed: response.status, said: text }
    const { choices } = JSON.parse(text) as { choices: [{ message: { content: string } }] }
    messages.push({ role: 'assistant', content: choices[0].message.content })
  }
  return { turns: TURNS, failed: 0, said: '' }
}

const logOf = (turn: number): string =>
  Array.from({ length: 12 }, (_, line) => {
    const id = (turn * 7_919 + line * 104_729) % 1_000_003
    return `14:${turn % 60}:${line} checkout-${id % 5} handled order ${id} in ${id % 900} ms, status ${id % 7 === 0 ? 'failed' : 'done'}`
  }).join('\n')

install()
const work = mkdtempSync(join(tmpdir(), 'plimsoll-local-model-'))
const modelPath = join(work, 'noise.gguf')
const samples = ['README.md', 'docs/gateway.md', 'docs/architecture.md']
const text = samples.map((file) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8')).join('\n')
const shape = { contextLength: CONTEXT, embedding: 64, layers: 2, heads: 4, feedForward: 128 }
writeFileSync(modelPath, writeModel(shape, vocabularyOf(text.slice(0, 40_000), 600), SEED))
const server = await startLocalServer(entry, modelPath, CONTEXT)
const plimsoll = createPlimsoll({ store: 'memory:' })
const events: string[] = []
plimsoll.on(({ type }) => void events.push(type))
const proxy = await startProxy(plimsoll.gateway, { port: 0, upstreams: { openai: server.url } })
try {
  const bare = await talk(server.url)
  console.log(`without the proxy: ${bare.turns} of ${TURNS} turns, then ${bare.failed}: ${bare.said.slice(0, 220)}`)
  const [answered, refused] = [server.answered.length, server.refused.length]
  const through = await talk(`${proxy.url}/openai`)
  const prompts = server.answered.slice(answered)
  const counts = (type: string): number => events.filter((event) => event === type).length
  console.log(
    `through the proxy: ${through.turns} of ${TURNS} turns${through.said === '' ? '' : `, then ${through.said}`}`,
  )
  console.log(
    `  prompts of ${Math.min(...prompts)} to ${Math.max(...prompts)} tokens of ${CONTEXT}; ${server.refused.length - refused} refused by the server and ` +
      `recovered (${counts('overflow-recovered')}), ${counts('epoch-declared')} epochs, windows learned: ${counts('window-learned')}`,
  )
  if (through.turns !== TURNS || bare.turns === TURNS) process.exitCode = 1
} finally {
  await proxy.close()
  await plimsoll.close()
  await server.close()
  rmSync(work, { recursive: true, force: true })
}
