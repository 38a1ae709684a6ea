import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileArtifacts } from '../../src/drivers/artifacts/file.ts'
import { aesByteSeal } from '../../src/drivers/crypto/byte-seal.ts'
import { aesSeal } from '../../src/drivers/crypto/seal.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { verifyStore } from '../../src/engine/store-admin/store-admin.ts'
import { edit, item } from '../../src/testing/session-store/records.ts'
import { withFolder } from '../stores/support/temporary.ts'

const secret = randomBytes(32)
const key = randomBytes(32)
const SEALS = { plain: undefined, sealed: { bytes: aesByteSeal(key), text: aesSeal(key) } }

const flipped = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes)
  copy[copy.length >> 1]! ^= 1
  return copy
}

const DAMAGE: Readonly<Record<string, readonly [file: 'bytes' | 'meta.json', change: (bytes: Buffer) => Buffer]>> = {
  'bytes that were cut': ['bytes', (bytes) => bytes.subarray(0, -5)],
  'bytes that grew': ['bytes', (bytes) => Buffer.concat([bytes, Buffer.from('more')])],
  'a flipped bit': ['bytes', flipped],
  'no bytes': ['bytes', () => Buffer.alloc(0)],
  'a description that was cut': ['meta.json', (bytes) => bytes.subarray(0, -2)],
  'no description': ['meta.json', () => Buffer.alloc(0)],
}

const CASES = Object.entries(SEALS).flatMap(([name, seals]) =>
  Object.entries(DAMAGE).map(([what, [file, change]]) => ({ name, seals, what, file, change })),
)

describe('verify reads artifacts', () => {
  it.each(CASES)('and names $what, $name', async ({ seals, file, change }) => {
    await withFolder(async (directory) => {
      const artifacts = fileArtifacts({ directory, secret, seals })
      const sessions = memoryStore()
      const bytes = randomBytes(200_000)
      const { handle } = await artifacts.put('t', bytes, { session: 's' })
      await artifacts.put('t', Buffer.from('whole'), { session: 's' })
      await sessions.append('t', 's', [item('i'), { ...edit('k'), handle }])
      expect(await verifyStore(sessions, { artifacts })).toMatchObject({ clean: true })
      const files = (await readdir(directory, { recursive: true })).filter((path) => path.endsWith('bytes'))
      const sizes = await Promise.all(files.map(async (path) => (await readFile(join(directory, path))).length))
      const path = join(directory, dirname(files[sizes.indexOf(Math.max(...sizes))]!), file)
      await writeFile(path, change(await readFile(path)))
      const report = await verifyStore(sessions, { artifacts })
      expect(report).toMatchObject({ clean: false, problems: [{ kind: 'artifact', tenant: 't', handle }] })
      expect(report.problems).toHaveLength(1)
      // The rest stays listed, and the same bytes can be put again where only the description was damaged.
      expect((await artifacts.list('t')).map(({ bytes: size }) => size)).toContain(5)
      if (file === 'meta.json') {
        await artifacts.put('t', bytes, { session: 's' })
        expect(await verifyStore(sessions, { artifacts })).toMatchObject({ clean: true })
      } else {
        await rm(dirname(path), { recursive: true })
        expect(await verifyStore(sessions, { artifacts })).toMatchObject({ clean: false, dangling: [{ handle }] })
      }
      await artifacts.close()
    })
  })
})
