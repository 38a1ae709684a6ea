import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { build as esbuild } from 'esbuild'
import { rolldown } from 'rolldown'
import { build as vite } from 'vite'
import { afterAll, expect, it } from 'vitest'
import { applicationFolder } from '../support/application.ts'

/** Other bundlers and runtimes are tried by `npm run test:frameworks`. */
const app = applicationFolder()
const entry = join(app, 'app.js')
afterAll(() => rmSync(app, { recursive: true }))

const BUNDLERS: Readonly<Record<string, (out: string) => Promise<unknown>>> = {
  'esbuild.mjs': (outfile) =>
    esbuild({
      entryPoints: [entry],
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile,
      preserveSymlinks: true,
      logLevel: 'error',
    }),
  'esbuild.cjs': (outfile) =>
    esbuild({
      entryPoints: [entry],
      bundle: true,
      platform: 'node',
      format: 'cjs',
      outfile,
      preserveSymlinks: true,
      logLevel: 'error',
    }),
  'rolldown.mjs': async (file) => {
    const bundle = await rolldown({ input: entry, platform: 'node', resolve: { symlinks: false } })
    await bundle.write({ file, codeSplitting: false })
    await bundle.close()
  },
  'vite-ssr.mjs': (file) =>
    vite({
      root: app,
      configFile: false,
      logLevel: 'error',
      resolve: { preserveSymlinks: true },
      ssr: { noExternal: true },
      build: {
        ssr: entry,
        outDir: app,
        emptyOutDir: false,
        rolldownOptions: { output: { entryFileNames: file.slice(app.length + 1) } },
      },
    }),
}

it.each(Object.entries(BUNDLERS))(
  '%s bundles an application without optional packages, and it runs',
  async (name, build) => {
    const out = join(app, name)
    await build(out)
    expect(execFileSync(process.execPath, [out], { encoding: 'utf8', cwd: app })).toBe('Hello\n')
  },
  60_000,
)
