import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { BINARY, FIXTURES, plimsoll, temporaryHome } from './binary.ts'

/** Stands for a real handle in examples, since handles are keyed by a secret of the store. */
export const EXAMPLE_HANDLE = 'art_0123456789abcdefghjkmnpqrs'

export interface SeededHome {
  readonly path: string
  /** Of an artifact of the session `run-42`. */
  readonly handle: string
  /** Stands for the public list of models, so that examples need no network. */
  readonly modelsUrl: string
  readonly remove: () => Promise<void>
}

/** A home with everything that examples name: sessions, a request, a store with the session `run-42` and an artifact. */
export async function seedHome(): Promise<SeededHome> {
  const { path, remove } = await temporaryHome()
  writeFileSync(join(path, 'big.log'), bigLog())
  writeFileSync(join(path, 'README.md'), '# An example\n\nSome text to count.\n')
  writeFileSync(join(path, 'package.json'), '{ "name": "example" }\n')
  writeFileSync(join(path, 'request.json'), JSON.stringify(REQUEST))
  cpSync(join(FIXTURES, 'claude-code.jsonl'), join(path, 'session.jsonl'))
  // Where `inspect` looks by itself.
  mkdirSync(join(path, '.claude/projects/example'), { recursive: true })
  cpSync(join(FIXTURES, 'claude-code.jsonl'), join(path, '.claude/projects/example/one.jsonl'))
  mkdirSync(join(path, 'transcripts/claude-code'), { recursive: true })
  cpSync(join(FIXTURES, 'claude-code.jsonl'), join(path, 'transcripts/claude-code/one.jsonl'))
  mkdirSync(join(path, 'sessions'))
  for (const name of ['pi.jsonl', 'codex-rollout.jsonl', 'openhands.json', 'gemini-cli.json'])
    cpSync(join(FIXTURES, name), join(path, 'sessions', name))
  programs(path)
  const talk = ['chat', '--provider', 'demo', '--session', 'run-42', '--allow', 'all']
  const ran = await plimsoll(path, [...talk, '--prompt', 'read big.log'])
  if (ran.code !== 0) throw new Error(`The store could not be seeded: ${ran.err}`)
  const listed = await plimsoll(path, ['artifacts', 'ls', '--json'])
  const [artifact] = JSON.parse(listed.out) as { handle: string }[]
  if (artifact === undefined) throw new Error(`Nothing was taken out:\n${ran.out}`)
  await plimsoll(path, ['store', 'export', '--out', 'backup.jsonl', '--with-secret'])
  await plimsoll(path, ['store', 'import', 'backup.jsonl', '--store', 'sqlite:./plimsoll.db'])
  await plimsoll(path, ['config', 'init', '--proxy'])
  const models = await serveModels()
  return {
    path,
    handle: artifact.handle,
    modelsUrl: models.url,
    remove: async () => {
      models.close()
      await remove()
    },
  }
}

/** A list as LiteLLM publishes it, with one model that no package knows. */
async function serveModels(): Promise<{ readonly url: string; close(): void }> {
  const known = Object.fromEntries(
    Array.from({ length: 120 }, (_, n) => [
      n === 0 ? 'example-next-1' : `example-${n}`,
      { max_input_tokens: 321_000, max_output_tokens: 9_000, input_cost_per_token: 2e-6, mode: 'chat' },
    ]),
  )
  const server = createServer((_request, response) => response.end(JSON.stringify(known)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/models.json`, close: () => void server.close() }
}

/** The same home in another place. */
export async function copyHome(seeded: SeededHome): Promise<SeededHome> {
  const { path, remove } = await temporaryHome()
  await cp(seeded.path, path, { recursive: true })
  return { ...seeded, path, remove }
}

const bigLog = (): string =>
  Array.from(
    { length: 1_000 },
    (_, i) =>
      `2026-01-01T00:00:${String(i % 60).padStart(2, '0')}Z ${i % 97 === 0 ? 'ERROR' : 'INFO'} request ${i} took ${(i * 37) % 900} ms`,
  ).join('\n')

const REQUEST = {
  model: 'claude-sonnet-4-5',
  max_tokens: 1024,
  system: 'You are brief.',
  messages: [{ role: 'user', content: 'How many tokens is this?' }],
}

/** `plimsoll` in the PATH, and stand-ins for the agents that examples start. */
function programs(home: string): void {
  mkdirSync(join(home, 'bin'))
  const script = (name: string, text: string): void => {
    writeFileSync(join(home, 'bin', name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(home, 'bin', name), 0o755)
  }
  script('plimsoll', `exec "${process.execPath}" "${BINARY}" "$@"`)
  script('npx', 'exec "$@"')
  for (const agent of ['claude', 'codex', 'gemini', 'opencode', 'pi', 'aider'])
    script(agent, 'echo "$ANTHROPIC_BASE_URL $OPENAI_BASE_URL"')
}
