import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { fileArtifacts } from '../../src/drivers/artifacts/file.ts'
import { artifactReaders } from '../../src/engine/readers/artifact-readers.ts'
import { readerProvenance } from '../../src/engine/readers/reader.ts'
import { sharedFolder } from '../support/shared-data.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const data = sharedFolder('tool-outputs')

async function* filesIn(folder: string): AsyncGenerator<string> {
  for (const entry of await readdir(folder)) {
    const path = join(folder, entry)
    if ((await stat(path)).isDirectory()) yield* filesIn(path)
    else yield path
  }
}

/** The project's own files when the shared data are not there: fewer shapes, the same promise. */
const source = existsSync(data) ? data : join(root, 'src')

it(
  'gives every real tool output back byte for byte, and every reader answers within its bytes',
  { timeout: 600_000 },
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'plimsoll-outputs-'))
    const secret = randomBytes(32)
    const store = fileArtifacts({ directory, secret })
    const readers = artifactReaders({
      store,
      tenant: 'a',
      provenance: readerProvenance(secret),
      maxBytes: 2000,
      timeoutMs: 60_000,
    })
    let count = 0
    let bytes = 0
    try {
      for await (const path of filesIn(source)) {
        const content = await readFile(path)
        const { handle, bytes: size } = await store.put('a', content, { tool: 'real' })
        expect(size).toBe(content.length)
        const stored = (await store.read('a', handle)) ?? new Uint8Array()
        expect(Buffer.compare(stored, content), path).toBe(0)
        const middle = { start: content.length >> 2, end: content.length >> 1 }
        expect(
          Buffer.compare(
            (await store.read('a', handle, middle)) ?? new Uint8Array(),
            content.subarray(middle.start, middle.end),
          ),
          path,
        ).toBe(0)
        const answers = [
          await readers.read({ handle }),
          await readers.read({ handle, start: -5 }),
          await readers.grep({ handle, pattern: '(?i)error|fail' }),
        ]
        for (const { text } of answers) expect(Buffer.byteLength(text), path).toBeLessThanOrEqual(2000)
        count++
        bytes += content.length
      }
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
    expect(count).toBeGreaterThan(10)
    console.info(`${count} files, ${bytes} bytes, all equal`)
  },
)
