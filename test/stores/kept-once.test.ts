import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ItemSeen, LogRecord } from '../../src/core/records.ts'
import { openDatabase } from '../../src/drivers/sessions/sqlite/database.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import type { SessionStore } from '../../src/ports/session-store.ts'
import { item } from '../../src/testing/session-store/records.ts'
import { withFolder } from './support/temporary.ts'

const T = 'tenant'

async function recordsOf(store: SessionStore): Promise<LogRecord[]> {
  const records: LogRecord[] = []
  for await (const { record } of store.read(T, 's')) records.push(record)
  return records
}

const seen = (text: string, fragment: string): ItemSeen => ({ ...(item('a', text) as ItemSeen), fragment })

const TEXT =
  `A text with "quotes", a \\ and a line break,\nletters like é and 漢, and half a character: \ud800. `.repeat(20)

describe('the text of an item', () => {
  it.each<readonly [string, string]>([
    ['is the fragment', JSON.stringify(TEXT)],
    ['stands inside the fragment', `{"type":"tool_result","content":${JSON.stringify(TEXT)},"cache_control":{}}`],
    ['is written otherwise there', JSON.stringify(TEXT).replaceAll('é', '\\u00e9')],
    ['is not in it', '{"type":"image"}'],
  ])('comes back as it was when it %s', (_where, fragment) =>
    withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db') })
      const record = seen(TEXT, fragment)
      await store.append(T, 's', [record])
      expect(await recordsOf(store)).toEqual([record])
      expect(await store.check()).toEqual([])
      await store.close()
    }),
  )

  it('takes its room once', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      await store.append(T, 's', [seen('x'.repeat(10_000), JSON.stringify('x'.repeat(10_000)))])
      await store.close()
      const db = openDatabase(path)
      const [row] = db.all('SELECT LENGTH(body) AS size, TYPEOF(body) AS type FROM records')
      db.close()
      expect(Number(row!['size'])).toBeLessThan(11_000)
      expect(row!['type'], 'to be read with any tool').toBe('text')
    }))

  it('is read from stores that hold it twice', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      // Written by a package from before: its text is found in no fragment, so this one writes it twice as well.
      const record = seen(TEXT, JSON.stringify(`${TEXT} and more`))
      await store.append(T, 's', [record])
      await store.close()
      const again = sqliteStore({ path })
      expect(await recordsOf(again)).toEqual([record])
      await again.close()
    }))
})

describe('words of a long text', () => {
  it('are indexed up to a bound, and do not stand in the way of what comes after', () =>
    withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db') })
      const data = Array.from({ length: 50_000 }, (_, n) => `id${n}`).join(' ')
      await store.append(T, 's', [item('a', data), item('b', 'a needle behind it')])
      const found = async (word: string): Promise<number> => (await store.search(T, word)).length
      expect([await found('id0'), await found('id25000'), await found('id49999'), await found('needle')]).toEqual([
        1, 0, 1, 1,
      ])
      await store.close()
    }))

  it('are the same whether a text is one piece or many', () =>
    withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db') })
      const prose = Array.from({ length: 40_000 }, (_, n) => `word${n % 500}`).join(' ')
      await store.append(T, 's', [item('a', `${prose} 漢字 last`)])
      for (const word of ['word0', 'word499', '漢字', 'last']) expect(await store.search(T, word)).toHaveLength(1)
      await store.close()
    }))
})
