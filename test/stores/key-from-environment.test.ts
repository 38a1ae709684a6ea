import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { ArtifactStore } from '../../src/ports/artifact-store.ts'
import { artifactsBeside, openArtifacts } from '../../src/drivers/open-artifacts.ts'
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

it('the default pair, SQLite and files, keeps everything sealed with PLIMSOLL_KEY', async () => {
  await withFolder(async (folder) => {
    const url = `sqlite:${join(folder, 'store.db')}`
    const secret = Buffer.alloc(32, 1)
    const open = (environment: Record<string, string>): ArtifactStore =>
      openArtifacts(artifactsBeside(url), { secret, environment })
    const artifacts = open({ PLIMSOLL_KEY })
    const text = `the launch code is tangerine ${'x'.repeat(200_000)}`
    const { handle } = await artifacts.put('t', Buffer.from(text), { tool: 'tangerine-reader', session: 's' })
    expect(Buffer.from((await artifacts.read('t', handle, { start: 19, end: 28 }))!).toString()).toBe('tangerine')
    await artifacts.close()
    const names = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = names.filter((entry) => entry.isFile())
    expect(files.length).toBeGreaterThan(1)
    for (const { parentPath, name } of files) {
      expect(`${name} ${await readFile(join(parentPath, name), 'latin1')}`).not.toContain('tangerine')
    }
    const environments: Record<string, string>[] = [{}, { PLIMSOLL_KEY: PLIMSOLL_KEY.replace('0', '1') }]
    for (const environment of environments) {
      await expect(open(environment).read('t', handle)).rejects.toMatchObject({ code: 'bad-config' })
    }
  })
})
