import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresArtifacts } from '../../src/drivers/artifacts/postgres.ts'
import { aesSeal } from '../../src/drivers/crypto/seal.ts'
import { aesByteSeal } from '../../src/drivers/crypto/byte-seal.ts'
import { connectPostgres } from '../../src/drivers/postgres/connection.ts'
import { artifactStoreCases } from '../../src/testing/artifact-store-suite.ts'
import { startPostgres, type PostgresServer } from './support/postgres-server.ts'

const secret = randomBytes(32)
const key = randomBytes(32)
const seals = { bytes: aesByteSeal(key), text: aesSeal(key) }

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

for (const [name, extra] of Object.entries({ plain: {}, encrypted: { seals } })) {
  describe(`artifacts in postgres, ${name}`, () => {
    for (const artifactCase of artifactStoreCases()) {
      it(artifactCase.name, () =>
        artifactCase.run(({ space, ...options }) =>
          postgresArtifacts({
            url: server.url,
            schema: `${name}_${space.replaceAll('-', '_')}`,
            secret,
            ...extra,
            ...options,
          }),
        ),
      )
    }
  })
}

describe('artifacts in postgres', () => {
  it('says that bytes are damaged instead of giving them out', async () => {
    const store = postgresArtifacts({ url: server.url, schema: 'damage', secret })
    const { handle } = await store.put('t', Buffer.from('exact bytes'))
    const raw = connectPostgres({ url: server.url, schema: 'damage' })
    await raw.query('UPDATE artifacts SET body = set_byte(body, 0, 69)')
    await expect(store.read('t', handle)).rejects.toMatchObject({ code: 'corrupt' })
    await Promise.all([store.close(), raw.close()])
  })

  it('keeps names and content out of encrypted tables', async () => {
    const store = postgresArtifacts({ url: server.url, schema: 'hidden', secret, seals })
    await store.put('tenantsecret', Buffer.from('contentsecret'), { tool: 'toolsecret', session: 'sessionsecret' })
    const raw = connectPostgres({ url: server.url, schema: 'hidden' })
    const rows = await raw.query("SELECT *, encode(body, 'escape') AS shown FROM artifacts, artifact_marks")
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toMatch(/secret/)
    await Promise.all([store.close(), raw.close()])
  })
})
