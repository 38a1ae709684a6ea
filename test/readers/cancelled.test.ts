import { describe, expect, it } from 'vitest'
import { quickjsSandbox } from '../../src/drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../src/drivers/sandbox/sqljs.ts'
import { artifactReaders } from '../../src/engine/readers/artifact-readers.ts'
import { callReader } from '../../src/engine/readers/tools.ts'
import { exactly } from '../../src/core/count.ts'
import { setup } from './setup.ts'

const MEGABYTE = 2 ** 20

/** A reader over a store that counts what is read, and a call that is cancelled after so many reads. */
async function counted(cancelAfter: number, megabytes = 20) {
  const { store, provenance, put } = setup()
  const handle = await put('a line of a log that is long\n'.repeat((megabytes * MEGABYTE) / 29))
  const controller = new AbortController()
  let reads = 0
  const shares: number[] = []
  const readers = artifactReaders({
    store: {
      ...store,
      async read(...asked) {
        if (++reads === cancelAfter) controller.abort(new Error('the client left'))
        return store.read(...asked)
      },
    },
    tenant: 'a',
    provenance,
  }).within({ signal: controller.signal, onProgress: (share) => shares.push(share) })
  return { readers, handle, shares, reads: () => reads }
}

describe('a reader whose caller does not wait any more', () => {
  it('stops reading the artifact', async () => {
    const { readers, handle, reads } = await counted(5)
    await expect(readers.grep({ handle, pattern: 'nothing' })).rejects.toThrow('the client left')
    expect(reads()).toBe(5)
  })

  it('is not asked to stop when nobody cancels, and says how far it is', async () => {
    const { readers, handle, shares } = await counted(Infinity)
    expect((await readers.grep({ handle, pattern: 'nothing' })).ok).toBe(true)
    expect(shares.length).toBeGreaterThanOrEqual(20)
    expect(shares).toEqual(shares.toSorted((a, b) => a - b))
    expect(shares.at(-1)).toBeLessThanOrEqual(1)
  })

  it('does not spoil the line index that others wait for', async () => {
    const { store, provenance, put } = setup()
    const handle = await put('one\ntwo\nthree\n')
    const all = artifactReaders({ store, tenant: 'a', provenance })
    const controller = new AbortController()
    const first = all.within({ signal: controller.signal }).read({ handle })
    const second = all.read({ handle, start: 2, count: 1 })
    controller.abort(new Error('the client left'))
    await first.catch(() => undefined)
    expect((await second).text).toContain('two')
  })

  it('ends the model call of an extraction', async () => {
    const { store, provenance, put } = setup()
    const controller = new AbortController()
    const readers = artifactReaders({
      store,
      tenant: 'a',
      provenance,
      extraction: {
        tokenizer: { name: 'test', count: (text) => exactly(text.length / 4) },
        model: {
          name: 'slow',
          window: 8_000,
          summarise: ({ signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason as Error))
              controller.abort(new Error('the client left'))
            }),
        },
      },
    })
    const handle = await put('something to read')
    await expect(readers.within({ signal: controller.signal }).extract({ handle, extract: 'x' })).rejects.toThrow(
      'the client left',
    )
  })

  it('kills code and queries that would run on, and the next ones are answered', async () => {
    const sandbox = quickjsSandbox()
    const sql = sqljsEngine()
    try {
      const { readers, put } = setup({ sandbox, sql })
      const handle = await put('[{"n":1},{"n":2}]')
      const runs = [
        ['artifact_run', { handle, code: 'for (;;) {}' }, { handle, code: 'data.length' }],
        [
          'artifact_query',
          { handle, sql: 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c' },
          { handle, sql: 'SELECT sum(n) + 39 FROM t' },
        ],
      ] as const
      for (const [name, endless, next] of runs) {
        // The first use loads the engine; what is cancelled then is the work itself.
        await callReader(readers, name, next)
        const controller = new AbortController()
        const running = callReader(readers.within({ signal: controller.signal }), name, endless)!
        const after = callReader(readers, name, next)!
        controller.abort(new Error('the client left'))
        await expect(running).rejects.toThrow('the client left')
        expect((await after).text).toMatch(/\b(2|42)\b/)
      }
    } finally {
      await sandbox.close()
      await sql.close()
    }
  })
})
