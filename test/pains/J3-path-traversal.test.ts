import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { openJournal } from '../../src/cli/chat/journal.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { withFolder } from '../stores/support/temporary.ts'
import { ANTHROPIC, targets } from './support/loop.ts'

const HOSTILE = [
  '../../out',
  '..\\..\\out',
  '/tmp/out',
  '%2e%2e%2fout',
  'out\u0000.txt',
  'o'.repeat(5_000),
  '\u2024\u2024/out',
  '.',
  'link/out',
]

describe('J3: names from outside', () => {
  it('never become a path: session, tool, call id, handle and chat id', async () => {
    await withFolder(async (folder) => {
      const root = join(folder, 'inside')
      const elsewhere = join(folder, 'elsewhere')
      await mkdir(root)
      await mkdir(elsewhere)
      await writeFile(join(elsewhere, 'out'), 'untouched')
      await symlink(elsewhere, join(root, 'link'))
      const plimsoll = createPlimsoll({
        store: `sqlite:${join(root, 'p.db')}`,
        artifacts: `file:${join(root, 'artifacts')}`,
      })
      for (const name of HOSTILE) {
        // Refused with a typed error, or taken as nothing but a name.
        await plimsoll
          .session({ id: name, agent: name, tenant: name })
          .prepare({ format: ANTHROPIC, body: toolLoop({ steps: 1, resultLength: 60_000 }), targets: targets() })
          .catch(() => undefined)
        await plimsoll
          .session({ id: name })
          .toolResult({ tool: name, callId: name, output: 'x'.repeat(100_000), model: 'm' })
          .catch(() => undefined)
        expect(await plimsoll.artifacts.read(name).catch(() => undefined)).toBeUndefined()
        openJournal(join(root, 'chats'), name, '/')
      }
      await plimsoll.close()
      expect((await readdir(folder)).sort()).toEqual(['elsewhere', 'inside'])
      expect(await readdir(elsewhere)).toEqual(['out'])
      const names = (await readdir(root, { recursive: true })).filter((path) => !path.startsWith('link'))
      expect(names.length).toBeGreaterThan(3)
      expect(names.filter((path) => /(?:^|\/)(?:out|\.\.)|%2e|\u2024/.test(path))).toEqual([])
    })
  })
})
