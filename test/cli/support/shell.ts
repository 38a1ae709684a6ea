import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { cleanEnvironment } from './binary.ts'
import { EXAMPLE_HANDLE, type SeededHome } from './seeded-home.ts'

/** Runs a line of documentation as a reader would type it. A server is asked to end once it listens. */
export function runLine(
  home: SeededHome,
  line: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const { PATH, ...env } = cleanEnvironment(home.path)
  const isServer = /^(?:npx )?plimsoll (?:proxy|dashboard|mcp --http)\b/.test(line)
  // Examples name the usual port and the public list of models; a test must neither fight over the one nor call the other.
  const typed = line
    .replaceAll(EXAMPLE_HANDLE, home.handle)
    .replace(/--port \d+/, '--port 0')
    .replace(/\bmodels update\b/, `models update --url ${home.modelsUrl}`)
  const command = isServer ? `exec ${typed.includes('--port') ? typed : `${typed} --port 0`}` : typed
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: home.path,
      env: { ...env, PATH: `${join(home.path, 'bin')}:${PATH ?? ''}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    let asked = false
    const take = (text: string): void => {
      output += text
      const url = /Listening on (\S+)\n/.exec(output)?.[1]
      if (!isServer || asked || url === undefined) return
      // Once it answers it is all there, its signal handlers included.
      asked = true
      fetch(`${url}/healthz`).then(() => child.kill('SIGTERM'), reject)
    }
    child.stdout.setEncoding('utf8').on('data', take)
    child.stderr.setEncoding('utf8').on('data', take)
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}
