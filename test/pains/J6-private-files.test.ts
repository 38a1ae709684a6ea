import { chmod, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileArtifacts } from '../../src/drivers/artifacts/file.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { openJournal } from '../../src/cli/chat/journal.ts'
import { withFolder } from '../stores/support/temporary.ts'

const modeOf = async (path: string): Promise<string> => ((await lstat(path)).mode & 0o777).toString(8)

describe('J6: files and folders', () => {
  it('are for their owner alone under umask 022, and a mode that an operator widened stays', async () => {
    await withFolder(async (folder) => {
      const before = process.umask(0o022)
      try {
        const root = join(folder, 'data')
        openJournal(join(root, 'chats'), 'c', '/').add({ type: 'user', text: 'hi' })
        await fileArtifacts({ directory: join(root, 'artifacts'), secret: Buffer.alloc(32, 1) }).put(
          't',
          Buffer.from('x'),
        )
        const store = sqliteStore({ path: join(root, 'store', 'p.db') })
        await store.append('t', 's', [{ v: 1, at: 1, type: 'pin', identity: 'i', pinned: true }])
        const paths = await readdir(root, { recursive: true })
        expect(paths.length).toBeGreaterThan(5)
        for (const path of paths) {
          const isFolder = (await lstat(join(root, path))).isDirectory()
          expect(await modeOf(join(root, path)), path).toBe(isFolder ? '700' : '600')
        }
        await chmod(join(root, 'store', 'p.db'), 0o640)
        await store.close()
        const again = sqliteStore({ path: join(root, 'store', 'p.db') })
        await again.version('t', 's')
        expect(await modeOf(join(root, 'store', 'p.db'))).toBe('640')
        await again.close()
      } finally {
        process.umask(before)
      }
    })
  })
})
