import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createProgram } from '../../src/cli/program.ts'
import { json, MESSAGE, ODD_BODY, plainUpstream, post, testProxy } from '../gateway/upstream.ts'
import { instructionsOf, ROOT } from './dockerfile.ts'

const textOf = (name: string): string => readFileSync(join(ROOT, 'deploy', name), 'utf8')

/** Flags of a line that starts the proxy, each of which the command line has to know. */
async function unknownFlags(words: readonly string[]): Promise<readonly string[]> {
  const proxy = (await createProgram(['proxy'])).commands.find((command) => command.name() === 'proxy')!
  const known = new Set(proxy.options.map(({ long }) => long))
  return words.filter((word) => word.startsWith('--') && !known.has(word))
}

describe('deploy/compose.yaml', () => {
  interface Service {
    readonly image?: string
    readonly build?: { readonly context: string; readonly dockerfile: string }
    readonly command?: readonly string[]
    readonly environment?: Readonly<Record<string, string>>
    readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
    readonly volumes?: readonly string[]
    readonly healthcheck?: { readonly test: readonly string[] }
    readonly deploy?: { readonly replicas: number }
  }
  const file = parse(textOf('compose.yaml')) as {
    readonly services: Readonly<Record<string, Service>>
    readonly volumes: Readonly<Record<string, unknown>>
  }
  /** Keys of a service in the Compose specification that this file may use. */
  const KEYS = new Set(
    'image build restart depends_on command environment ports deploy stop_grace_period read_only cap_drop security_opt tmpfs volumes healthcheck'.split(
      ' ',
    ),
  )

  it('uses keys of the specification, and names only what it defines', () => {
    for (const [name, service] of Object.entries(file.services)) {
      expect(
        Object.keys(service).filter((key) => !KEYS.has(key)),
        name,
      ).toEqual([])
      expect(service.image ?? service.build, name).toBeDefined()
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect(file.services[other]?.healthcheck, `${name} waits for the health of ${other}`).toBeDefined()
        expect(condition).toBe('service_healthy')
      }
      for (const volume of service.volumes ?? []) expect(Object.keys(file.volumes)).toContain(volume.split(':')[0])
    }
  })

  it('starts proxies with flags that exist, on the store beside them', async () => {
    const { command = [], environment = {}, build, deploy } = file.services['proxy']!
    expect(await unknownFlags(command)).toEqual([])
    expect(command[command.indexOf('--store') + 1]).toBe('postgres://plimsoll@postgres/plimsoll')
    expect(environment).toMatchObject({
      PLIMSOLL_TOKEN: '${PLIMSOLL_TOKEN:?set PLIMSOLL_TOKEN}',
      PGPASSWORD: '${POSTGRES_PASSWORD:?set POSTGRES_PASSWORD}',
    })
    expect(readFileSync(join(ROOT, 'deploy', build!.context, build!.dockerfile), 'utf8')).toContain('ENTRYPOINT')
    expect(deploy!.replicas).toBe(2)
  })

  it('holds no secret', () => {
    for (const [, value] of textOf('compose.yaml').matchAll(/(?:TOKEN|PASSWORD|SECRET): (.*)$/gm))
      expect(value).toMatch(/^\$\{/)
  })
})

describe('deploy/plimsoll.service', () => {
  const text = textOf('plimsoll.service')

  it('is taken by systemd where there is one', () => {
    const file = join(ROOT, 'deploy/plimsoll.service')
    const { error, status, stderr, stdout } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    if (error !== undefined) return
    expect([status, stderr + stdout]).toEqual([0, ''])
  })

  it('starts the proxy with flags that exist, as nobody special, and gives it time to end', async () => {
    const [, start] = /^ExecStart=(.+)$/m.exec(text)!
    expect(await unknownFlags(start!.split(' '))).toEqual([])
    expect(text).toMatch(/^DynamicUser=yes$/m)
    // The drain time of the proxy is 30 seconds.
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)![1])).toBeGreaterThan(30)
  })
})

describe('deploy/Dockerfile', () => {
  it('copies all that a build is given, and nothing that it is not', () => {
    const allowed = textOf('Dockerfile.dockerignore')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
    const copied = instructionsOf(textOf('Dockerfile'))
      .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
      .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
    expect([...new Set(copied)].sort()).toEqual(allowed.sort())
  })

  it('runs as nobody special and has a health check', () => {
    const steps = instructionsOf(textOf('Dockerfile'))
    expect(steps.findLast(({ name }) => name === 'USER')?.rest).toBe('node')
    expect(steps.find(({ name }) => name === 'HEALTHCHECK')?.rest).toContain('/healthz')
  })

  it('starts the proxy with flags that exist', async () => {
    const { rest } = instructionsOf(textOf('Dockerfile')).find(({ name }) => name === 'CMD')!
    expect(await unknownFlags(JSON.parse(rest) as string[])).toEqual([])
  })
})

describe('deploy/grafana.json', () => {
  interface Panel {
    readonly title: string
    readonly targets?: readonly { readonly expr: string }[]
  }
  const { panels } = JSON.parse(textOf('grafana.json')) as { readonly panels: readonly Panel[] }
  const exprs = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })))

  it('asks for every metric that /metrics prints and for no other', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    await (await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)).text()
    const printed = await (await fetch(`${proxy.url}/metrics`)).text()
    const families = [...printed.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => ({
      name: name!,
      type: type!,
    }))
    expect(families.length).toBeGreaterThan(10)
    const series = families.flatMap(({ name, type }) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    )
    const asked = exprs.flatMap(({ expr }) => [...expr.matchAll(/\bplimsoll_\w+/g)].map(([name]) => name))
    expect(asked.filter((name) => !series.includes(name))).toEqual([])
    expect(families.filter(({ name }) => !asked.some((each) => each.startsWith(name)))).toEqual([])
    // Labels as well.
    const labels = new Set([...printed.matchAll(/[{,](\w+)="/g)].map(([, label]) => label!))
    const used = exprs.flatMap(({ expr }) =>
      [...expr.matchAll(/by \(([^)]+)\)/g)].flatMap(([, list]) => list!.split(/, ?/)),
    )
    expect(used.filter((label) => !labels.has(label) && !LATER.has(label))).toEqual([])
  })

  it('has a title for each panel and brackets that match', () => {
    for (const { title } of panels) expect(title).not.toBe('')
    for (const { expr } of exprs) expect(expr.split('(').length, expr).toBe(expr.split(')').length)
  })
})

/** Labels of families that have no value before something goes wrong or is compacted. */
const LATER = new Set(['forced', 'topic', 'cause', 'predicted', 'came', 'credential', 'window'])
