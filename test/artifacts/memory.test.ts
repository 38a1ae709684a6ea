import { randomBytes } from 'node:crypto'
import { describe, it } from 'vitest'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { artifactStoreCases } from '../../src/testing/artifact-store-suite.ts'

describe('memory artifacts', () => {
  const secret = randomBytes(32)
  for (const { name, run } of artifactStoreCases({ durable: false })) {
    it(name, () => run((options) => memoryArtifacts({ secret, ...options })))
  }
})
