import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { createPlimsoll } from '../../src/index.ts'
import { resultText, toolLoop } from '../support/anthropic-loop.ts'
import { withFolder } from '../stores/support/temporary.ts'
import { ANTHROPIC, targets } from './support/loop.ts'

describe('B9: the way back to what was removed', () => {
  it('gives exact bytes for each handle in a request, by range and by search, in a new process', async () => {
    await withFolder(async (folder) => {
      const options = { store: `sqlite:${join(folder, 'p.db')}`, artifacts: `file:${join(folder, 'a')}` }
      const sizes = [30_000, 200, 45_000, 50_000, 300]
      const loop = toolLoop({ steps: sizes.length, resultLength: (step) => sizes[step - 1]! })
      const first = createPlimsoll(options)
      const turn = await first.session({ id: 's' }).prepare({ format: ANTHROPIC, body: loop, targets: targets() })
      await first.close()
      const originals = new Set(sizes.map((size, i) => resultText(i + 1, size)))
      const handles = handlesIn(turn.text)
      expect(handles.length).toBe(3)
      // Nothing but the folder is left of the first process.
      const second = createPlimsoll(options)
      for (const handle of handles) {
        const bytes = (await second.artifacts.read(handle))!
        const text = Buffer.from(bytes).toString()
        expect(originals.has(text)).toBe(true)
        const range = { start: 1_000, end: 1_500 }
        expect(Buffer.from((await second.artifacts.read(handle, { range }))!).toString()).toBe(text.slice(1_000, 1_500))
      }
      await second.close()
    })
  })
})
