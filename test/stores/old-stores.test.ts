import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { checkConfig, loadConfig, optionsOf, policyNameOf, policyOf, windowOf } from '../../src/settings/index.ts'
import { openStore } from '../../src/drivers/open-store.ts'
import { createPlimsoll } from '../../src/index.ts'
import { OLD_STORES, seeStore, STORE_KEY, STORES, unpack, type Histories, type Seen } from '../support/old-stores.ts'
import { withFolder } from './support/temporary.ts'

const fixture = (name: string): Buffer => readFileSync(join(OLD_STORES, name))

afterEach(() => {
  delete process.env['PLIMSOLL_KEY']
})

/** All that 0.2.0 had sent: the results behind the newest answer leave for the first time, so they are shown as today. */
const sentBefore = (text: string): string => text.slice(0, text.lastIndexOf('{"role":"assistant"'))
const toolsOf = (text: string): string => text.slice(text.lastIndexOf('],"tools":'))

/** What is compacted anew, as a session whose compaction was undone, has today's record. */
const underTheirEpoch = (next: Seen['next']): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    Object.entries(next)
      .filter(([name]) => !name.includes('/undone/'))
      .map(([name, text]) => [name, [sentBefore(text), toolsOf(text)]]),
  )

describe.each(STORES)('a store that 0.2.0 wrote: %s', (name) => {
  it('has its sessions, agents, epochs and artifacts, and each session goes on with the bytes that 0.2.0 had sent', async () => {
    if (name === 'encrypted') process.env['PLIMSOLL_KEY'] = STORE_KEY
    const packed = brotliDecompressSync(fixture(`${name}.seen.br`)).toString()
    const { histories, seen: before } = JSON.parse(packed) as { histories: Histories; seen: Seen }
    await withFolder(async (folder) => {
      unpack(fixture(`${name}.store.br`), folder)
      const now = await seeStore(name, folder, histories)
      expect(now.sessions).toEqual(before.sessions)
      expect(now.artifacts).toEqual(before.artifacts)
      expect(underTheirEpoch(now.next)).toEqual(underTheirEpoch(before.next))
      expect(now.undone).toBe(before.undone)
      expect(Object.values(now.next)).not.toContain(now.behindUndo)
    })
    expect(before.artifacts.length).toBeGreaterThan(5)
    expect(before.undone).toBeDefined()
  })
})

it.each(STORES)('what 0.2.0 stored is found by the stems of its words: %s', async (name) => {
  if (name === 'encrypted') process.env['PLIMSOLL_KEY'] = STORE_KEY
  await withFolder(async (folder) => {
    unpack(fixture(`${name}.store.br`), folder)
    const store = openStore(`sqlite:${join(folder, 'plimsoll.db')}`)
    const tenants = await store.tenants()
    const hits = await Promise.all(tenants.map((tenant) => store.search(tenant, 'services that take a payment')))
    expect(hits.flat().length).toBeGreaterThan(0)
    await store.close()
  })
})

it('what 0.2.0 encrypted is not opened without its key', async () => {
  await withFolder(async (folder) => {
    unpack(fixture('encrypted.store.br'), folder)
    const plimsoll = createPlimsoll({ store: `sqlite:${join(folder, 'plimsoll.db')}`, telemetry: false })
    await expect(plimsoll.archive.sessions()).rejects.toMatchObject({ code: 'bad-config' })
    await plimsoll.close().catch(() => undefined)
  })
})

describe('settings files of 0.2.0', () => {
  it.each(['plimsoll.yaml', 'plimsoll.proxy.json'])('%s has no problems', async (file) => {
    expect((await checkConfig(join(OLD_STORES, file))).problems).toEqual([])
  })

  it('say the same to the program', async () => {
    const config = await loadConfig(join(OLD_STORES, 'plimsoll.yaml'))
    const env = { SUMMARY_KEY: 'sk-1' }
    expect(policyNameOf(config)).toBe('careful')
    expect([windowOf(config), windowOf(config, 'helper')]).toEqual([200_000, 32_000])
    expect(policyOf(config, 'main', env)).toMatchObject({
      water: { high: 0.9, low: 0.4, warn: 0.7 },
      intake: { maxShare: 0.2, previewShare: 0.05 },
      cascade: [
        { step: 'fold', tailShare: 0.1, summaryShare: 0.52 },
        { step: 'squeeze', floorTokens: 200 },
      ],
    })
    const options = optionsOf(config, env)
    expect(options).toMatchObject({
      window: 200_000,
      store: expect.stringMatching(/^sqlite:.*plimsoll\.db$/) as string,
      logLevel: 'warning',
      summarizer: { format: 'openai-chat', model: 'gpt-4.1-mini', apiKey: 'sk-1', window: 128_000 },
      budgets: [
        { name: 'a day', hard: 20 },
        { scope: 'session', unit: 'tokens', hard: 2_000_000, finalShare: 0.05 },
      ],
      models: { 'my-model': { window: 64_000, maxOutputTokens: 8_000, tokenizer: 'o200k' } },
      agents: { helper: { window: 32_000 } },
    })
    const { window: _own, ...others } = options
    const plimsoll = createPlimsoll({ ...others, store: 'memory:', artifacts: 'memory:' })
    const { limit } = await plimsoll.session({ id: 's' }).prepare({
      format: 'openai-chat',
      body: { model: 'my-model', messages: [{ role: 'user', content: 'hi' }] },
      targets: [{ model: 'my-model' }],
    })
    expect(limit).toMatchObject({ window: 64_000, outputReserve: 8_000, tokens: 54_720 })
    await plimsoll.close()
  })
})
