/**
 * Takes the steps of deploy/Dockerfile in an empty folder and starts what comes out: there is no container runtime where this project is built.
 * Needs the registry, so it is a script of its own: npm run test:image
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT, takeSteps } from './dockerfile.ts'

const place = mkdtempSync(join(tmpdir(), 'plimsoll-image-'))
try {
  const startedAt = performance.now()
  const image = takeSteps(join(ROOT, 'deploy/Dockerfile'), place)
  console.log(`steps taken in ${Math.round((performance.now() - startedAt) / 1000)} s`)

  // Runs as nobody special, and holds what it runs and no more.
  assert.equal(image.user, 'node')
  const app = join(image.root, 'app')
  assert.deepEqual(readdirSync(app).sort(), ['LICENSE', 'dist', 'node_modules', 'package.json'])
  const modules = readdirSync(join(app, 'node_modules'))
  assert.ok(modules.includes('pg'))
  for (const tool of ['vitest', 'typescript', 'vite', 'openai']) assert.ok(!modules.includes(tool), tool)
  const megabytes = Math.round(sizeOf(app) / 2 ** 20)
  console.log(`the image holds ${megabytes} MB beside its base`)
  assert.ok(megabytes < 150)

  const port = await freePort()
  /** A path of the image on this machine, and the port that the Dockerfile names as one that is free here. */
  const here = (text: string): string =>
    text.replaceAll(/\/(app|data)(?=\/|$)/g, `${image.root}/$1`).replaceAll('4141', String(port))
  const settings = Object.entries(image.env).map(([name, value]) => [name, here(value)])
  const env = { PATH: process.env['PATH'], ...(Object.fromEntries(settings) as Record<string, string>) }
  const [program, ...parts] = image.command.map(here)
  const isHealthy = (): boolean => spawnSync('/bin/sh', ['-c', here(image.healthcheck)]).status === 0

  const refused = spawnSync(program!, parts, { env, encoding: 'utf8' })
  assert.equal(refused.status, 2)
  assert.match(refused.stderr, /needs a token/)

  const running = spawn(program!, parts, { env: { ...env, PLIMSOLL_TOKEN: 'secret' } })
  let said = ''
  running.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  while (!said.includes('Listening on')) await once(running.stdout, 'data')
  assert.ok(isHealthy())
  running.kill('SIGTERM')
  const [code] = (await once(running, 'close')) as [number]
  assert.equal(code, 0)
  assert.ok(!isHealthy())
  console.log('it refuses to start without a token, is healthy with one, and stops when told to')
} finally {
  rmSync(place, { recursive: true, force: true })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const stats = files.map((name) => statSync(join(folder, name), { throwIfNoEntry: false }))
  return stats.reduce((sum, stat) => sum + (stat?.isFile() === true ? stat.size : 0), 0)
}
