import { afterAll, describe, expect, it } from 'vitest'
import { quickjsSandbox } from '../../src/drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../src/drivers/sandbox/sqljs.ts'
import { setup } from './setup.ts'

/** Shapes that tools really give and parsers trip over, each of several megabytes. Every reader answers, within its bytes. */
const MB = 1_000_000
const shapes: Record<string, () => string | Uint8Array> = {
  nothing: () => '',
  'one newline': () => '\n',
  'only newlines': () => '\n'.repeat(MB / 4),
  'one line of JSON': () =>
    JSON.stringify(Array.from({ length: 60_000 }, (_, i) => ({ i, text: `value ${i}`.repeat(5) }))),
  'arrays nested a million deep': () => '['.repeat(MB) + ']'.repeat(MB),
  'objects nested a million deep, cut off': () => '{"a":'.repeat(MB),
  'one string that never ends': () => `["${'x'.repeat(5 * MB)}`,
  'ANSI colours': () => '\u001b[31mred\u001b[0m plain \u001b[1;32mgreen\u001b[0m\r\n'.repeat(100_000),
  'base64 in one line': () => Buffer.alloc(4 * MB, 7).toString('base64'),
  'lone surrogates as escapes': () => `[${Array.from({ length: 50_000 }, () => '"\\ud800 \\udc00"').join(',')}]`,
  'bytes that are no text': () => Uint8Array.from({ length: 3 * MB }, (_, i) => (i * 7919 + (i >> 8)) % 256),
  'zero bytes': () => new Uint8Array(3 * MB),
  'a byte order mark': () => `\ufeff{"a":1}\n`.repeat(100_000),
  'four-byte characters': () => '\u{1f600}'.repeat(MB),
  commas: () => ','.repeat(3 * MB),
  quotes: () => '"'.repeat(3 * MB),
  'a wide table': () =>
    `${Array.from({ length: 3000 }, (_, i) => `c${i}`).join()}\n${`${'1,'.repeat(2999)}1\n`.repeat(200)}`,
  'objects that all have other keys': () =>
    JSON.stringify(Array.from({ length: 50_000 }, (_, i) => ({ [`key${i}`]: i }))),
}

const sql = sqljsEngine()
const sandbox = quickjsSandbox()
afterAll(async () => {
  await sql.close()
  await sandbox.close()
})

describe('any shape of artifact', { timeout: 180_000 }, () => {
  for (const [name, make] of Object.entries(shapes)) {
    it(`can be read: ${name}`, async () => {
      const { put, readers, store } = setup({
        sql,
        sandbox,
        maxBytes: 4000,
        runLimits: { timeoutMs: 20_000 },
        queryLimits: { timeoutMs: 20_000 },
      })
      const content = make()
      const handle = await put(content)
      expect(Buffer.compare((await store.read('a', handle)) ?? new Uint8Array(), Buffer.from(content))).toBe(0)
      const answers = [
        await readers.read({ handle }),
        await readers.read({ handle, start: -3 }),
        await readers.read({ handle, unit: 'bytes', start: -100 }),
        await readers.read({ handle, unit: 'items', start: -2 }).catch((error: unknown) => ({ text: String(error) })),
        await readers.grep({ handle, pattern: 'x+$', context: 1 }),
        await readers.grep({ handle, pattern: 'value 5999\\d' }),
        await readers.grep({ handle, pattern: '[^a]', invert: true }),
        await readers.query({ handle, sql: 'SELECT count(*) AS n, * FROM t' }),
        await readers.run({ handle, code: 'typeof data + ":" + (data?.length ?? 0)' }),
        await readers.extract({ handle, extract: 'anything', mode: 'truncate' }),
      ]
      for (const { text } of answers) {
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4000)
        expect(text.length).toBeGreaterThan(0)
      }
    })
  }
})
