import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { learnedLimits } from '../../src/engine/learning/learned-limits.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { plimsoll, temporaryHome, type Ran } from './support/binary.ts'

let home: { readonly path: string; readonly remove: () => Promise<void> }
beforeEach(async () => {
  home = await temporaryHome()
})
afterEach(() => home.remove())

const run = (...args: string[]): Promise<Ran> => plimsoll(home.path, [...args, '--store', 'sqlite:./learned.db'])

const LOCAL = { tenant: 'local', endpoint: 'http://localhost:11434', model: 'qwen3' }
const REMOTE = { tenant: 'local', endpoint: 'https://llm.example.com', model: 'my-model' }

async function teach(): Promise<void> {
  mkdirSync(home.path, { recursive: true })
  const store = sqliteStore({ path: join(home.path, 'learned.db') })
  const limits = learnedLimits(store, systemClock)
  await limits.learn(LOCAL, { window: 8_192 }, 'silent-truncation')
  await limits.learn(REMOTE, { window: 32_768 }, 'refusal')
  await store.close()
}

describe('plimsoll limits', () => {
  it('says that nothing is left when all of it was forgotten', async () => {
    await teach()
    expect((await run('limits', 'forget')).out).toContain('2 limits forgotten')
    const { code, out } = await run('limits', 'ls')
    expect(code).toBe(0)
    expect(out).toContain('Nothing was learned')
  })

  it('lists what was learned, from what, and forgets the one that is named', async () => {
    await teach()
    const { out } = await run('limits', 'ls')
    expect(out).toMatch(/qwen3 .*http:\/\/localhost:11434 .*8,192 .*silent truncation/)
    expect(out).toMatch(/my-model .*https:\/\/llm\.example\.com .*32,768 .*a refusal/)

    const forgotten = await run('limits', 'forget', '--endpoint', LOCAL.endpoint, '--json')
    expect(JSON.parse(forgotten.out)).toEqual({ forgotten: 1 })
    const left = JSON.parse((await run('limits', 'ls', '--json')).out) as unknown
    expect(left).toMatchObject([{ ...REMOTE, window: 32_768, from: 'refusal' }])
  })
})
