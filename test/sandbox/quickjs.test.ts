import { afterAll, describe, expect, it } from 'vitest'
import { quickjsSandbox } from '../../src/drivers/sandbox/quickjs.ts'
import type { SandboxResult } from '../../src/ports/sandbox.ts'

const sandbox = quickjsSandbox()
afterAll(async () => sandbox.close())

const run = async (
  code: string,
  inputs: Record<string, string | Uint8Array> = {},
  limits = {},
): Promise<SandboxResult> =>
  sandbox.run({
    code,
    inputs: Object.fromEntries(
      Object.entries(inputs).map(([name, value]) => [name, typeof value === 'string' ? Buffer.from(value) : value]),
    ),
    timeoutMs: 5000,
    memoryBytes: 64 * 2 ** 20,
    maxOutputBytes: 1000,
    ...limits,
  })

describe('code over artifacts', () => {
  it('answers with the last value, a returned one, or what was printed', async () => {
    expect(await run('1 + 2')).toEqual({ ok: true, output: '3', truncated: false })
    expect((await run('const x = [1, 2, 3]\nreturn x.length')).output).toBe('3')
    expect((await run('console.log("a", { b: 1 }); console.log([2])')).output).toBe('a {"b":1}\n[2]')
    expect((await run('console.log("printed"); ({ and: "returned" })')).output).toBe('printed\n{"and":"returned"}')
    expect((await run('"plain text"')).output).toBe('plain text')
    expect((await run('await Promise.resolve(4) + 1')).output).toBe('5')
    expect((await run('return await (async () => 6)()')).output).toBe('6')
    expect((await run('let x = 1')).output).toBe('')
    expect((await run('Promise.resolve(7)')).output).toBe('7')
    expect((await run('(async () => ({ of: await 8 }))()')).output).toBe('{"of":8}')
    expect(await run('Promise.reject(new Error("no"))')).toMatchObject({ ok: false, error: 'Error: no (line 1)' })
  })

  it('sees the artifacts as text, lines and data', async () => {
    const inputs = {
      art_a: '[{"n":1},{"n":2}]',
      art_b: '{"n":3}\n{"n":4}\n',
      art_c: 'x,y\n1,"a ""b"", c"\n2,z\n',
      art_d: Uint8Array.of(0xff, 1),
    }
    expect((await run('data.map((r) => r.n)', inputs)).output).toBe('[1,2]')
    expect((await run('artifacts.art_b.data.map((r) => r.n)', inputs)).output).toBe('[3,4]')
    expect((await run('csv(artifacts[2].text)', inputs)).output).toBe(
      '[{"x":"1","y":"a \\"b\\", c"},{"x":"2","y":"z"}]',
    )
    expect((await run('artifacts.art_c.lines.length', inputs)).output).toBe('3')
    expect((await run('[...artifacts.art_d.bytes]', inputs)).output).toBe('[255,1]')
    expect((await run('artifacts.map((a) => a.name).join()', inputs)).output).toBe('art_a,art_b,art_c,art_d')
    expect((await run('data', { plain: 'just words' })).output).toBe('just words')
    expect((await run('data', {})).output).toBe('')
    expect((await run('data = 5; data', { plain: 'just words' })).output).toBe('5')
  })

  it('shows what JSON cannot', async () => {
    expect((await run('new Map([["a", new Set([1])]])')).output).toBe('{"a":[1]}')
    expect((await run('[10n, NaN, -Infinity]')).output).toBe('["10","NaN","-Infinity"]')
    expect((await run('() => 1')).output).toBe('[function]')
  })

  it('says what went wrong and where', async () => {
    expect(await run('const a = 1\nnope.x')).toMatchObject({
      ok: false,
      error: 'ReferenceError: nope is not defined (line 2)',
    })
    expect((await run('this is not code')).error).toMatch(/^SyntaxError/)
    expect((await run('throw { odd: 1 }')).error).toBe('Uncaught {"odd":1}')
    expect(await run('console.log("so far"); null.x')).toMatchObject({ output: 'so far', ok: false })
  })

  it('cuts its output to whole characters and says so', async () => {
    const { output, truncated } = await run('"é".repeat(5000)', {}, { maxOutputBytes: 101 })
    expect(output).toBe('é'.repeat(50))
    expect(truncated).toBe(true)
    const printed = await run('for (let i = 0; i < 1e5; i++) console.log("line " + i)', {}, { maxOutputBytes: 100 })
    expect(printed).toMatchObject({ ok: true, truncated: true })
    expect(printed.output).toHaveLength(100)
  })

  it('gives the same answer each time: clock and random stand still', async () => {
    const code =
      '[Date.now(), new Date().toISOString(), Math.random(), performance.now(), new Date().getTimezoneOffset()]'
    const first = await run(code)
    expect(first.output).toContain('"2000-01-01T00:00:00.000Z"')
    expect(await run(code)).toEqual(first)
  })

  it('keeps runs apart', async () => {
    await run('globalThis.left = 1; Array.prototype.left = 2; Object.freeze(Object.prototype)')
    expect((await run('[typeof left, [].left === undefined]')).output).toBe('["undefined",true]')
  })

  it('serves many callers, each with its own answer', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, async (_, i) => (await run(`${i} * 2`)).output))
    expect(answers).toEqual(Array.from({ length: 10 }, (_, i) => String(i * 2)))
  })
})
