import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { fileArtifacts } from '../../src/drivers/artifacts/file.ts'
import { aesSeal } from '../../src/drivers/crypto/seal.ts'
import { aesByteSeal } from '../../src/drivers/crypto/byte-seal.ts'
import { artifactStoreCases } from '../../src/testing/artifact-store-suite.ts'

describe('file artifacts', () => {
  const secret = randomBytes(32)
  const key = randomBytes(32)
  const seals = { bytes: aesByteSeal(key), text: aesSeal(key) }
  let directory = ''
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plimsoll-artifacts-'))
  })
  afterAll(async () => rm(directory, { recursive: true, force: true }))

  for (const { name, run } of artifactStoreCases()) {
    it(name, () =>
      run(({ space, ...options }) => fileArtifacts({ directory: join(directory, space), secret, ...options })),
    )
    it(`${name}, encrypted`, () =>
      run(({ space, ...options }) =>
        fileArtifacts({ directory: join(directory, 'e', space), secret, seals, ...options }),
      ))
  }
})
