import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { quickjsSandbox } from '../../src/drivers/sandbox/quickjs.ts'
import type { SandboxResult } from '../../src/ports/sandbox.ts'

/** Code that tries to get out, to hang or to fill the host. Whatever it does, the next caller gets an answer. */
const sandbox = quickjsSandbox()
const LIMITS = { timeoutMs: 300, memoryBytes: 32 * 2 ** 20, maxOutputBytes: 500 }
const inputs = { art_a: Buffer.from('{"secret":"of this artifact only"}') }
const run = async (code: string): Promise<SandboxResult> => sandbox.run({ code, inputs, ...LIMITS })

afterAll(async () => sandbox.close())
afterEach(async () => {
  const after = await sandbox.run({ code: '6 * 7', inputs: {}, ...LIMITS, timeoutMs: 5000 })
  expect(after).toEqual({ ok: true, output: '42', truncated: false })
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
})

const HOST_NAMES = `['process','require','module','global','Buffer','fetch','WebAssembly','Worker','setTimeout','setInterval','setImmediate','XMLHttpRequest',
  'WebSocket','Deno','Bun','navigator','localStorage','structuredClone','MessageChannel','Atomics','std','os','__dirname','exports','postMessage']`

describe('walks up prototypes and constructors', () => {
  const roots = [
    '({})',
    '[]',
    '(() => 1)',
    '(async () => 1)',
    '(function* () {})',
    'this',
    'globalThis',
    'data',
    'artifacts',
    'artifacts[0]',
    'console',
    'console.log',
    'csv',
    'lines',
    'JSON',
    'Promise',
    'new Error("x")',
    '(async function* () {})',
  ]
  for (const root of roots) {
    it(`reaches nothing from ${root}`, async () => {
      const code = `
        const found = new Set(), queue = [${root}], seen = new Set()
        while (queue.length > 0 && seen.size < 3000) {
          const value = queue.pop()
          if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value)) continue
          seen.add(value)
          if (typeof value === 'function') {
            let made
            try { made = value.constructor('return ${HOST_NAMES.replaceAll('\n', ' ').replaceAll("'", '"')}.filter((name) => { try { return typeof eval(name) !== "undefined" } catch { return false } })')() } catch {}
            if (Array.isArray(made)) for (const name of made) found.add(name)
          }
          try { queue.push(Object.getPrototypeOf(value), value.constructor) } catch {}
          for (const key of Reflect.ownKeys(value)) {
            try { const d = Reflect.getOwnPropertyDescriptor(value, key); queue.push(d.value, d.get, d.set) } catch {}
          }
        }
        [...found].join() + '|' + seen.size`
      const { output, error } = await sandbox.run({ code, inputs, ...LIMITS, timeoutMs: 5000 })
      expect(error).toBeUndefined()
      expect(output).toMatch(/^\|\d+$/)
      expect(Number(output.slice(1))).toBeGreaterThan(5)
    })
  }

  it('has none of the host’s globals', async () => {
    expect((await run(`${HOST_NAMES}.filter((name) => name in globalThis)`)).output).toBe('[]')
  })

  it('sees no frame, path or name of the host in a stack', async () => {
    const { output } = await run(
      'Error.prepareStackTrace = (_, frames) => frames; (() => { try { null.x } catch (e) { return String(e.stack) } })()',
    )
    expect(output).not.toMatch(/node:|\/(home|tmp|usr|work|src)\/|worker|\.ts|\.js/)
    expect((await run('(function f() { return String(f.caller) + String(f.arguments) })()')).output).not.toMatch(
      /host|process|evaluate/,
    )
  })

  it('loads no module', async () => {
    for (const name of [
      'fs',
      'node:fs',
      'file:///etc/passwd',
      './quickjs.ts',
      'data:text/javascript,1',
      'http://127.0.0.1/',
    ]) {
      const { ok, error } = await run(`await import(${JSON.stringify(name)})`)
      expect(ok, name).toBe(false)
      expect(error).not.toMatch(/root:/)
    }
    expect((await run('import fs from "fs"; fs')).ok).toBe(false)
    expect((await run('require("fs")')).error).toContain('require is not defined')
  })
})

describe('poisons what the host relies on', () => {
  const poisons = {
    'replaced built-ins':
      'JSON.stringify = JSON.parse = () => "x".repeat(1e6); String = Array = Object = Map = null; 7',
    'replaced string methods':
      'for (const k of Object.getOwnPropertyNames(String.prototype)) try { String.prototype[k] = () => "pwned".repeat(1e5) } catch {}\n7',
    'replaced array methods':
      'for (const k of Object.getOwnPropertyNames(Array.prototype)) try { Array.prototype[k] = () => { throw 1 } } catch {}\n7',
    'replaced promise methods': 'Promise.prototype.then = (f) => f("pwned"); Promise = null; 7',
    'replaced iterators': 'Array.prototype[Symbol.iterator] = function* () { yield "pwned" }; 7',
    'a polluted prototype': 'Object.prototype.polluted = 1; ({}).__proto__.polluted = 2; 7',
    'setters on the prototype':
      'Object.defineProperty(Object.prototype, "value", { set() { throw 1 }, get() { return "pwned" } }); 7',
    'a frozen world': 'Object.freeze(globalThis); Object.freeze(Object.prototype); Object.freeze(Array.prototype); 7',
    'species and constructors': 'Promise.prototype.constructor = { [Symbol.species]: function () { throw 1 } }; 7',
  }
  for (const [name, code] of Object.entries(poisons)) {
    it(`stays bounded and alive with ${name}`, async () => {
      const { output, error = '' } = await run(code)
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(LIMITS.maxOutputBytes)
      expect(error.length).toBeLessThan(2000)
    })
  }

  const answers = {
    'a proxy':
      'new Proxy({}, { get: () => "x", ownKeys: () => ["a"], getOwnPropertyDescriptor: () => ({ value: "trap", enumerable: true, configurable: true }) })',
    'a throwing proxy': 'new Proxy({}, { get() { throw new Error("trap") } })',
    'a throwing toJSON': '({ toJSON() { throw new Error("mine") } })',
    'a cycle': 'const a = []; a.push(a); a',
    'a thenable': '({ then(resolve) { resolve("thenable") } })',
    'a thrown proxy': 'throw new Proxy({}, { get() { throw 1 } })',
    'a thrown error with getters':
      'throw Object.defineProperties(new Error(), { message: { get() { throw 1 } }, name: { get() { throw 2 } }, stack: { get() { throw 3 } } })',
    'a revoked proxy': '(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy })()',
    'a symbol': 'Symbol("s")',
    'a thrown nothing': 'throw undefined',
    'a closed wrapper': 'return 1 }); throw new Error("outside"); (() => {',
    'a zero byte': '"a\\u0000b"',
    'lone surrogates': '"\\ud800" + "\\udc00\\udc00"',
  }
  for (const [name, code] of Object.entries(answers)) {
    it(`takes ${name} for an answer`, async () => {
      const { ok, output, error } = await run(code)
      if (!ok) expect(error).toMatch(/\S/)
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(LIMITS.maxOutputBytes)
    })
  }
})

describe('never ends', () => {
  const loops = {
    'an empty loop': 'for (;;);',
    'a loop in try and finally': 'for (;;) try { for (;;); } catch {} finally { for (;;); }',
    'a loop in a promise job': 'Promise.resolve().then(() => { for (;;); })',
    'jobs that beget jobs': '(function again() { Promise.resolve().then(again) })()',
    'queued microtasks': '(function again() { queueMicrotask(again) })()',
    'an async loop': 'for (;;) await null',
    'an async generator': 'async function* g() { for (;;) yield 1 }\nfor await (const x of g());',
    'a loop in toJSON': '({ toJSON() { for (;;); } })',
    'a loop in a proxy trap': 'new Proxy({}, { ownKeys() { for (;;); } })',
    'a loop in a getter of the error': 'throw { get message() { for (;;); }, toString() { for (;;); } }',
    'a loop in a thenable': 'await { then() { for (;;); } }',
    'a loop in a comparator': '[3, 1, 2].sort(() => { for (;;); })',
    'a loop in a replacer': '"aaa".replace(/a/g, () => { for (;;); })',
    'a backtracking expression': '/^(a+)+$/.test("a".repeat(40) + "!")',
    'a backtracking split': '"x".repeat(50).split(/(x+x+)+y/)',
    'an endless iterator': '[...{ [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }]',
    'an endless string search': '"a".repeat(5e6).lastIndexOf("a".repeat(2.5e6) + "b")',
    'a huge array walk': 'Array.prototype.map.call({ length: 2 ** 53 - 1 }, (x) => x)',
    'a huge sparse sort': 'const a = []; a.length = 4294967295; a.sort()',
    'a huge join': 'Array(4e9).join("ab")',
  }
  for (const [name, code] of Object.entries(loops)) {
    it(`is stopped: ${name}`, async () => {
      const { ok, error } = await run(code)
      expect(ok).toBe(false)
      expect(error).toMatch(
        /ran longer than 300 ms and was stopped|needed more than 32 MiB|recursed too deeply|Invalid|invalid|too (large|long)/,
      )
    })
  }

  it('says so when a promise will never settle', async () => {
    expect((await run('await new Promise(() => {})')).error).toBe(
      'The code waits for a promise that nothing will settle.',
    )
  })
})

describe('fills the memory', () => {
  const bombs = {
    'doubled strings': 'let s = "x"; for (;;) s += s',
    'a repeated string': '"x".repeat(2 ** 29)',
    'many strings': 'const a = []; for (let i = 0; ; i++) a.push("y".repeat(1000) + i)',
    objects: 'const a = []; for (;;) a.push({ a: {}, b: [] })',
    'typed arrays': 'const a = []; for (;;) a.push(new Uint8Array(1e6))',
    'an array buffer': 'new ArrayBuffer(2 ** 31)',
    'a growing map': 'const m = new Map(); for (let i = 0; ; i++) m.set(i, [i])',
    'a filled array': 'Array(2 ** 32 - 1).fill(1)',
    'a big integer': '2n ** (2n ** 31n)',
    closures: 'const a = []; for (;;) { const big = Array(1000).fill(1); a.push(() => big) }',
    'shared references as JSON': 'let a = "0123456789"; for (let i = 0; i < 40; i++) a = [a, a]; JSON.stringify(a)',
    'shared references as the answer': 'let a = "0123456789"; for (let i = 0; i < 40; i++) a = [a, a]; a',
    promises: 'const a = []; for (;;) a.push(new Promise(() => {}))',
    generators: 'const a = []; for (;;) { const g = (function* () { yield Array(1000) })(); g.next(); a.push(g) }',
    symbols: 'const a = []; for (let i = 0; ; i++) a.push(Symbol("s".repeat(1000) + i))',
    'a template': 'let s = "a".repeat(1e6); for (;;) s = `${s}${s}`',
    'a joined array': 'Array(1e5).fill("z".repeat(1e4)).join("")',
    'padded text': '"".padStart(2 ** 30, "ab")',
    'a growing code': 'let c = "1"; for (;;) { c = c + "+" + c; eval(c) }',
  }
  for (const [name, code] of Object.entries(bombs)) {
    it(`is stopped: ${name}`, async () => {
      const before = process.memoryUsage().rss
      const { ok, error } = await sandbox.run({ code, inputs, ...LIMITS, timeoutMs: 3000 })
      expect(ok).toBe(false)
      expect(error).toMatch(
        /needed more than 32 MiB|ran longer than 3000 ms|recursed too deeply|invalid|Invalid|too (large|long)|RangeError/,
      )
      // Far below what the bombs ask for; the engine and its thread are counted too.
      expect(process.memoryUsage().rss - before).toBeLessThan(400 * 2 ** 20)
    })
  }
})

describe('goes too deep', () => {
  const dives = {
    recursion: 'const f = () => f() + 1; f()',
    'mutual recursion through toJSON': 'const o = { toJSON() { return JSON.stringify(o) } }; JSON.stringify(o)',
    'nested arrays as JSON': 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)',
    'nested arrays as the answer': 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a',
    'nested JSON text': 'JSON.parse("[".repeat(1e5) + "]".repeat(1e5))',
    'nested groups': 'new RegExp("(".repeat(1e5) + ")".repeat(1e5))',
    'nested code': 'eval("(".repeat(1e5) + "1" + ")".repeat(1e5))',
    'a chain of proxies': 'let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x',
    'a chain of bound functions': 'let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(); f()',
    'a chain of getters': 'const o = { get x() { return this.x } }; o.x',
    'a chain of prototypes': 'let o = {}; for (let i = 0; i < 1e6; i++) o = Object.create(o); o.missing; "reached"',
  }
  for (const [name, code] of Object.entries(dives)) {
    it(`survives ${name}`, async () => {
      const { ok, output, error } = await sandbox.run({ code, inputs, ...LIMITS, timeoutMs: 3000 })
      if (ok) expect(Buffer.byteLength(output)).toBeLessThanOrEqual(LIMITS.maxOutputBytes)
      else
        expect(error).toMatch(
          /recursed too deeply|needed more than 32 MiB|ran longer|SyntaxError|RangeError|InternalError/,
        )
    })
  }
})

describe('says too much', () => {
  const floods = {
    'a large answer': '"x".repeat(1e7)',
    'a large error': 'throw new Error("x".repeat(1e7))',
    'a large thrown string': 'throw "x".repeat(1e7)',
    'a large name of an error': 'const e = new Error("m"); e.name = "x".repeat(1e7); throw e',
    'endless printing': 'for (let i = 0; i < 1e6; i++) console.log("x".repeat(100))',
    'one large print': 'console.log("x".repeat(1e7), "y".repeat(1e7))',
    'a large array': 'Array(1e6).fill(123456789)',
  }
  for (const [name, code] of Object.entries(floods)) {
    it(`is cut: ${name}`, async () => {
      const { output, error = '', ok, truncated } = await sandbox.run({ code, inputs, ...LIMITS, timeoutMs: 3000 })
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(LIMITS.maxOutputBytes)
      expect(error.length).toBeLessThan(1300)
      if (ok) expect(truncated).toBe(true)
    })
  }

  it('writes nothing to the host’s output', async () => {
    const written: unknown[] = []
    const write = process.stdout.write.bind(process.stdout)
    process.stdout.write = (chunk: unknown) => written.push(chunk) > 0
    try {
      await run('console.log("to nobody"); print?.("x")')
    } finally {
      process.stdout.write = write
    }
    expect(written).toEqual([])
  })

  it('takes code of any size and shape', async () => {
    expect((await run(`/* ${'x'.repeat(2_000_000)} */ 5`)).output).toBe('5')
    for (const code of ['', '\u0000', '//', '}', '`', '\ud800', '#!/bin/sh', '<!--', 'return', '\u2028']) {
      const { ok, error } = await run(code)
      if (!ok) expect(error).toMatch(/\S/)
    }
  })
})
