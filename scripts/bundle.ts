/**
 * Joins the modules behind each entry of the package into a few files. Node takes about half a millisecond of processor time for every file of
 * a program, and there are more than six hundred.
 *
 *   tsx scripts/bundle.ts             after tsc: entries are replaced, the other files of tsc stay beside them
 *   tsx scripts/bundle.ts --publish   brings along parts of other packages, and removes the JavaScript and JSON that no entry needs
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const root = resolve(import.meta.dirname, '..')
const dist = join(root, 'dist')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { default: string }>
  bin: Record<string, string>
}

/** Threads begin in a file of their own. */
const workers = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('-worker.ts'))
  .map((file) => file.replace(/\.ts$/, ''))
const published = [...Object.values(manifest.exports), ...Object.values(manifest.bin)]
  .map((entry) => (typeof entry === 'string' ? entry : entry.default))
  .filter((file) => file.endsWith('.js'))
  .map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, '$1'))
const entries = [...published, ...workers]

rmSync(join(dist, 'chunks'), { recursive: true, force: true })
const bundle = await rolldown({
  input: Object.fromEntries(entries.map((entry) => [entry, join(root, 'src', `${entry}.ts`)])),
  platform: 'node',
  // Packages stay packages: some are optional and found, or not, where they are used. The stemmers are many, and few of them are used.
  external: [/^(?!@orama\/stemmers)[^./]/],
})
const { output } = await bundle.write({
  dir: dist,
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name]-[hash].js',
})
await bundle.close()

if (process.argv.includes('--publish')) {
  await bringAlong()
  const needed = new Set(output.map(({ fileName }) => join(dist, fileName)))
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  // Data is part of the files that were joined.
  for (const file of files.filter((name) => /\.(js(\.map)?|json)$/.test(name) && !name.startsWith('page/')))
    if (!needed.has(join(dist, file))) rmSync(join(dist, file))
}

/** What an installation needs of packages that it does not install. */
async function bringAlong(): Promise<void> {
  /** libsql's own JavaScript: its package would bring the native parts of every C library there is. */
  const libsql = await rolldown({
    input: createRequire(import.meta.url).resolve('libsql'),
    platform: 'node',
    external: [/^@libsql\//],
  })
  await libsql.write({ file: join(dist, 'libsql.cjs'), format: 'cjs' })
  await libsql.close()

  const vocabulary = readFileSync(createRequire(import.meta.url).resolve('gpt-tokenizer/data/o200k_base.tiktoken'))
  writeFileSync(join(dist, 'o200k_base.tiktoken.br'), brotliCompressSync(vocabulary))

  const notices = ['@orama/stemmers', 'libsql', '@neon-rs/load', 'detect-libc', 'gpt-tokenizer'].map((name) => {
    const folder = join(root, 'node_modules', name)
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
    if (file === undefined) throw new Error(`${name} brings no text of its licence.`)
    return `${name}\n\n${readFileSync(join(folder, file), 'utf8')}`
  })
  writeFileSync(join(dist, 'third-party-licences.txt'), notices.join('\n\n----\n\n'))
}
