import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkConfigText } from '../../src/settings/index.ts'
import { plimsoll } from './support/binary.ts'
import { seedHome, type SeededHome } from './support/seeded-home.ts'

let home: SeededHome
beforeAll(async () => {
  home = await seedHome()
})
afterAll(() => home.remove())

const doctor = (env: Readonly<Record<string, string>>) => plimsoll(home.path, ['doctor', '--offline'], { env })

describe('variables of the environment', () => {
  it.each([
    ['PLIMSOLL_STORRE', 'sqlite:./a.db', 'Did you mean PLIMSOLL_STORE?'],
    ['PLIMSOLL_PORT', '4141', 'Did you mean PLIMSOLL_LISTEN_PORT?'],
    ['PLIMSOLL_WINDOWS', '32k', 'Did you mean PLIMSOLL_WINDOW?'],
  ])('%s is read by nothing: doctor fails, and a command says so once', async (name, value, advice) => {
    const { code, out } = await doctor({ [name]: value })
    expect({ code, out }).toMatchObject({ code: 3, out: expect.stringContaining(`${name}. ${advice}`) as string })
    expect(out).toContain('No: this installation does not work. Repair environment.')
    const { err } = await plimsoll(home.path, ['sessions', 'ls'], { env: { [name]: value } })
    expect(err.split(`environment variable ${name}`)).toHaveLength(2)
  })

  it('what Kubernetes sets for services of our name is not meant for us', async () => {
    const { out, err } = await doctor({
      PLIMSOLL_PORT: 'tcp://10.0.0.7:4141',
      PLIMSOLL_SERVICE_HOST: '10.0.0.7',
      PLIMSOLL_SERVICE_PORT_HTTP: '4141',
      PLIMSOLL_PORT_4141_TCP: 'tcp://10.0.0.7:4141',
      PLIMSOLL_PORT_4141_TCP_ADDR: '10.0.0.7',
      PLIMSOLL_PROXY_PORT: 'udp://10.0.0.8:53',
      PLIMSOLL_PROXY_SERVICE_PORT: '4141',
    })
    expect(out).toContain('✓ environment')
    expect(out).toContain('Yes: this installation works.')
    expect(err).toBe('')
  })

  it('PLIMSOLL_STORE names the store of every command, and mcp does not start on one that is not there', async () => {
    const store = `sqlite:${join(home.path, 'none', 'plimsoll.db')}`
    for (const command of [['sessions', 'ls'], ['mcp']]) {
      const { code, err } = await plimsoll(home.path, command, { env: { PLIMSOLL_STORE: store } })
      expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('There is no store at') as string })
    }
  })
})

it.each(['store: memory:', 'store: memory:   # while trying', 'store: "memory:"'])('%s is a URL', (text) => {
  expect(checkConfigText(text, 'plimsoll.yaml')).toMatchObject({ problems: [], config: { store: 'memory:' } })
})

it('init fails on a folder that does not exist', async () => {
  const { code, err } = await plimsoll(home.path, ['init', 'no/such/folder'])
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('There is no folder') as string })
})
