import { afterAll, describe, expect, it } from 'vitest'
import { quickjsSandbox } from '../../src/drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../src/drivers/sandbox/sqljs.ts'
import { bodyOf, setup } from './setup.ts'

const sql = sqljsEngine()
const sandbox = quickjsSandbox()
afterAll(async () => {
  await sql.close()
  await sandbox.close()
})

describe('artifact_query', () => {
  it('answers as CSV, sealed', async () => {
    const { put, readers, provenance } = setup({ sql })
    const handle = await put('[{"a":1,"b":"x, \\"y\\""},{"a":null,"b":""}]')
    const { text, ok } = await readers.query({ handle, sql: 'SELECT * FROM t' })
    expect(ok).toBe(true)
    expect(text).toContain('a,b\n1,"x, ""y"""\nNULL,""\n[from ')
    expect(provenance.handlesOf('a', text)).toEqual([handle])
  })

  it('shows the tables when there is no statement, and when one fails', async () => {
    const { put, readers } = setup({ sql })
    const [handle, other] = [await put('{"result":{"rows":[{"id":1,"tags":["x"]}]}}'), await put('id,v\n1,2\n')]
    const schema =
      'table t: 1 rows of json at result.rows, columns id number, tags json\ntable t2: 1 rows of csv, columns id number, v number'
    expect((await readers.query({ handle, also: [other] })).text).toContain(schema)
    const failed = await readers.query({ handle, also: [other], sql: 'SELECT absent FROM t' })
    expect(failed.ok).toBe(false)
    expect(failed.text).toContain(`The query failed: no such column: absent\n${schema}`)
  })

  it('keeps within its bytes and says how many rows there are', async () => {
    const { put, readers } = setup({ sql, maxBytes: 1000 })
    const handle = await put(JSON.stringify(Array.from({ length: 5000 }, (_, i) => ({ i, text: 'x'.repeat(30) }))))
    const { text, truncated } = await readers.query({ handle, sql: 'SELECT * FROM t' })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000)
    expect(text).toMatch(/\[shown \d+ of 5,000 rows; aggregate/)
    expect(truncated).toBe(true)
    const long = await readers.query({
      handle: await put(JSON.stringify([{ long: 'é'.repeat(9000) }])),
      sql: 'SELECT long FROM t',
    })
    expect(Buffer.byteLength(long.text)).toBeLessThanOrEqual(1000)
  })

  it('says what is missing', async () => {
    const { put, readers } = setup()
    await expect(readers.query({ handle: await put('[]'), sql: 'SELECT 1' })).rejects.toMatchObject({
      code: 'unsupported',
    })
    const tight = setup({ sql, queryLimits: { maxInputBytes: 10 } })
    await expect(
      tight.readers.query({ handle: await tight.put('[1,2,3,4,5,6]'), sql: 'SELECT 1' }),
    ).rejects.toMatchObject({ code: 'bad-input', message: expect.stringContaining('10 can be loaded') })
  })
})

describe('artifact_run', () => {
  it('answers with what the code gave, sealed', async () => {
    const { put, readers, provenance } = setup({ sandbox })
    const [handle, other] = [await put('[1,2,3]'), await put('a,b\n1,2\n')]
    const { text, ok } = await readers.run({
      handle,
      also: [other],
      code: 'data.length + csv(artifacts[1].text).length',
    })
    expect(ok).toBe(true)
    expect(text).toMatch(/^4\n\[from /)
    expect(provenance.handlesOf('a', text)).toEqual([handle, other])
    expect((await readers.run({ handle, code: `artifacts[${JSON.stringify(handle)}].text` })).text).toMatch(
      /^\[1,2,3\]\n/,
    )
  })

  it('tells the model what went wrong, with what was printed before', async () => {
    const { put, readers } = setup({ sandbox })
    const handle = await put('[1,2,3]')
    const failed = await readers.run({ handle, code: 'console.log("so far")\ndata.nope.x' })
    expect(failed.ok).toBe(false)
    expect(failed.text).toMatch(/^The code failed: TypeError: .*\(line 2\)\nIt had printed:\nso far\n/)
    expect((await readers.run({ handle, code: 'const x = 1' })).text).toContain('gave no value')
  })

  it('keeps within its bytes', async () => {
    const { put, readers } = setup({ sandbox, maxBytes: 1000 })
    const { text, truncated } = await readers.run({ handle: await put('x'), code: '"é".repeat(1e5)' })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000)
    expect(text).toContain('[the output was cut here; print less]')
    expect(truncated).toBe(true)
    const failed = await readers.run({
      handle: await put('x'),
      code: 'console.log("y".repeat(1e5)); throw new Error("z".repeat(1e5))',
    })
    expect(Buffer.byteLength(failed.text)).toBeLessThanOrEqual(1000)
  })

  it('gives a compact sample and the real handle when no sandbox is set up', async () => {
    const { put, readers } = setup()
    const handle = await put(
      JSON.stringify(Array.from({ length: 200 }, (_, i) => ({ id: i, name: 'n'.repeat(2000), tags: [] }))),
    )
    const { text } = await readers.run({ handle, code: 'anything' })
    expect(text).toContain(`with the handle ${handle}`)
    expect(text).toContain('Fields: id number, name string, tags array')
    expect(
      bodyOf(text)
        .split('\n')
        .filter((line) => line.startsWith('{"id"')),
    ).toHaveLength(3)
    expect(text.length).toBeLessThan(2800)
  })
})
