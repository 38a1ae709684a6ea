import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openArtifacts } from '../../src/drivers/open-artifacts.ts'
import { openStore, schemaOf, withoutPassword } from '../../src/drivers/open-store.ts'
import { item } from '../../src/testing/session-store/records.ts'
import { startS3, type S3Server } from './support/s3-server.ts'
import { withFolder } from './support/temporary.ts'

const secret = randomBytes(32)

let s3: S3Server
beforeAll(async () => {
  s3 = await startS3()
})
afterAll(() => s3.stop())

describe('addresses of stores', () => {
  it('open the store they name', async () => {
    await withFolder(async (folder) => {
      for (const [url, name] of [
        ['memory:', 'memory'],
        [`sqlite:${folder}/a.db`, 'sqlite'],
        [`sqlite://${folder}/a.db`, 'sqlite'],
      ] as const) {
        const store = openStore(url)
        expect(store.name).toBe(name)
        expect(await store.append('t', 's', [item('a')])).toBe(url.startsWith('sqlite://') ? 2 : 1)
        await store.close()
      }
    })
    const away = openStore('postgres://nobody@127.0.0.1:1/none')
    expect(away.name).toBe('postgres')
    await away.close()
  })

  it('open an encrypted store with its key only', async () => {
    await withFolder(async (folder) => {
      const url = `sqlite:${folder}/sealed.db`
      const store = openStore(url, { encryptionKey: Buffer.alloc(32, 1) })
      await store.append('t', 's', [item('a')])
      expect(await store.stats()).toMatchObject({ sealed: true })
      await store.close()
      await expect(openStore(url).version('t', 's')).rejects.toMatchObject({ code: 'bad-config' })
    })
  })

  it('are refused when nothing answers to them, without showing a password', () => {
    for (const url of ['', 'sqlite:', 'mysql://u:hunter2@h/d', 'plimsoll.db', 'memory:x']) {
      expect(() => openStore(url)).toThrow(/no store for the address/)
      expect(() => openStore(url)).not.toThrow(/hunter2/)
    }
    expect(withoutPassword('postgres://u:p%40ss@h/d')).toBe('postgres://u:***@h/d')
  })

  it('may name a schema', () => {
    expect(schemaOf('postgres://h/d')).toEqual({ url: 'postgres://h/d' })
    expect(schemaOf('postgres://h/d?schema=x')).toEqual({ url: 'postgres://h/d', schema: 'x' })
    expect(schemaOf('postgres://h/d?host=/tmp&schema=x&ssl=1')).toEqual({
      url: 'postgres://h/d?host=/tmp&ssl=1',
      schema: 'x',
    })
    expect(schemaOf('postgres://h/d?schema=x&ssl=1')).toEqual({ url: 'postgres://h/d?ssl=1', schema: 'x' })
  })
})

describe('addresses of artifacts', () => {
  it('open the store they name', async () => {
    const environment = {
      AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
    }
    await withFolder(async (folder) => {
      const bucket = `s3://${s3.bucket}/some/prefix/?region=eu-central-1&endpoint=${encodeURIComponent(s3.endpoint)}`
      for (const url of ['memory:', `file:${join(folder, 'artifacts')}`, bucket]) {
        const store = openArtifacts(url, { secret, environment })
        const { handle } = await store.put('t', Buffer.from('bytes'))
        expect(Buffer.from((await store.read('t', handle)) ?? []).toString()).toBe('bytes')
        await store.close()
      }
      const sealed = openArtifacts(bucket, { secret, environment, encryptionKey: randomBytes(32) })
      expect((await sealed.put('t', Buffer.from('sealed'))).bytes).toBe(6)
    })
  })

  it('are refused when something is missing', () => {
    expect(() => openArtifacts('ftp://x', { secret })).toThrow(/no artifact store/)
    expect(() => openArtifacts('s3://bucket', { secret, environment: {} })).toThrow(/AWS_ACCESS_KEY_ID/)
  })
})
