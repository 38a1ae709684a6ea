import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { instructionsOf, ROOT, takeSteps, type Image } from './dockerfile.ts'

const FILE = join(ROOT, 'deploy/Dockerfile')
/** `npm ci` and a build. */
const PATIENCE_MS = 600_000

let place: string
let image: Image
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'plimsoll-image-'))
  image = takeSteps(FILE, place)
}, PATIENCE_MS)
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** A path of the image on this machine, and the port that the Dockerfile names as one that is free here. */
const here = (text: string, port: number): string =>
  text.replaceAll(/\/(app|data)(?=\/|$)/g, `${image.root}/$1`).replaceAll('4141', String(port))

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(folder, name), { throwIfNoEntry: false }))
    .reduce((sum, stat) => sum + (stat?.isFile() === true ? stat.size : 0), 0)

describe('the image that the Dockerfile makes', () => {
  it(
    'starts, is healthy by its own check, and needs a token',
    async () => {
      const port = await freePort()
      const env = {
        PATH: process.env['PATH'],
        ...Object.fromEntries(Object.entries(image.env).map(([name, value]) => [name, here(value, port)])),
      }
      const [program, ...parts] = image.command.map((part) => here(part, port))
      const refused = spawnSync(program!, parts, { env, encoding: 'utf8' })
      expect(refused.status).toBe(2)
      expect(refused.stderr).toContain('needs a token')

      const running = spawn(program!, parts, { env: { ...env, PLIMSOLL_TOKEN: 'secret' } })
      let said = ''
      running.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
      try {
        while (!said.includes('Listening on')) await once(running.stdout, 'data')
        const check = here(image.healthcheck, port)
        expect(spawnSync('/bin/sh', ['-c', check]).status).toBe(0)
      } finally {
        running.kill('SIGTERM')
        await once(running, 'close')
      }
      expect(spawnSync('/bin/sh', ['-c', here(image.healthcheck, port)]).status).toBe(1)
    },
    PATIENCE_MS,
  )

  it('runs as nobody special and holds what it runs and no more', () => {
    expect(image.user).toBe('node')
    expect(readdirSync(join(image.root, 'app')).sort()).toEqual(['LICENSE', 'dist', 'node_modules', 'package.json'])
    const modules = readdirSync(join(image.root, 'app/node_modules'))
    expect(modules).toContain('pg')
    for (const tool of ['vitest', 'typescript', 'vite', 'openai']) expect(modules).not.toContain(tool)
    const megabytes = Math.round(sizeOf(join(image.root, 'app')) / 2 ** 20)
    console.log(`the image holds ${megabytes} MB beside its base`)
    expect(megabytes).toBeLessThan(150)
  })
})

describe('what a build is given', () => {
  it('is all that is copied, and nothing that is not', () => {
    const allowed = readFileSync(join(ROOT, 'deploy/Dockerfile.dockerignore'), 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
    const copied = instructionsOf(readFileSync(FILE, 'utf8'))
      .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
      .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
    expect([...new Set(copied)].sort()).toEqual(allowed.sort())
  })
})
