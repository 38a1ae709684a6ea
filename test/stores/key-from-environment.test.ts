import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openArtifacts } from '../../src/drivers/open-artifacts.ts'
import { openStore } from '../../src/drivers/open-store.ts'
import { item } from '../../src/testing/session-store/records.ts'
import { withFolder } from './support/temporary.ts'

const PLIMSOLL_KEY = '0123456789abcdef'.repeat(4)

it.each([
  ['sealed with PLIMSOLL_KEY', { PLIMSOLL_KEY }, false],
  ['in the open without one', {}, true],
])('records are %s', async (_name, environment, readable) => {
  await withFolder(async (folder) => {
    const path = join(folder, 'store.db')
    const store = openStore(`sqlite:${path}`, { environment })
    await store.append('t', 's', [item('one', 'the launch code is tangerine')])
    await store.close()
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name))))
    expect(Buffer.concat(files).includes('tangerine')).toBe(readable)
  })
})

it('artifacts in files refuse a key instead of ignoring it', () => {
  const open = (): unknown =>
    openArtifacts('file:./nowhere', { secret: Buffer.alloc(32), environment: { PLIMSOLL_KEY } })
  expect(open).toThrowError(expect.objectContaining({ code: 'bad-config' }))
})
