import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openArtifacts } from '../../src/drivers/open-artifacts.ts'
import { openStore } from '../../src/drivers/open-store.ts'
import { item } from '../../src/testing/session-store/records.ts'
import { withFolder } from './support/temporary.ts'

const PLIMSOLL_KEY = '0123456789abcdef'.repeat(4)

it.each([
  ['sealed with PLIMSOLL_KEY', { PLIMSOLL_KEY }, true],
  ['not sealed without one', {}, false],
])('records are %s', async (_name, environment, sealed) => {
  await withFolder(async (folder) => {
    const url = `sqlite:${join(folder, 'store.db')}`
    const store = openStore(url, { environment })
    await store.append('t', 's', [item('one', 'the launch code is tangerine')])
    expect((await store.stats()).sealed).toBe(sealed)
    await store.close()
    // Without the key the same file gives nothing away, and says so.
    const other = openStore(url, { environment: {} })
    const found = await other.search('t', 'tangerine').catch(() => [])
    expect(found.length > 0).toBe(!sealed)
    await other.close()
  })
})

it('artifacts in files refuse a key instead of ignoring it', () => {
  const open = (): unknown =>
    openArtifacts('file:./nowhere', { secret: Buffer.alloc(32), environment: { PLIMSOLL_KEY } })
  expect(open).toThrowError(expect.objectContaining({ code: 'bad-config' }))
})
