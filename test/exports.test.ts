import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as face from '../src/index.ts'

const root = resolve(import.meta.dirname, '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { default: string }>
  bin: Record<string, string>
}

/** The source file behind a built one. */
const sourceOf = (built: string): string => join(root, built.replace('./dist/', 'src/').replace(/\.js$/, '.ts'))

/** The file that a subpath leads to: its own entry first, then the longest pattern, as Node does it. */
function fileOf(subpath: string): string | undefined {
  const exact = manifest.exports[subpath]
  if (typeof exact === 'object') return sourceOf(exact.default)
  const patterns = Object.keys(manifest.exports).filter(
    (key) => key.endsWith('*') && subpath.startsWith(key.slice(0, -1)),
  )
  const best = patterns.sort((a, b) => b.length - a.length)[0]
  const entry = best === undefined ? undefined : manifest.exports[best]
  if (best === undefined || typeof entry !== 'object') return undefined
  return sourceOf(entry.default.replaceAll('*', subpath.slice(best.length - 1)))
}

describe('the public face', () => {
  it('exports these values and no others', () => {
    expect(Object.keys(face).sort()).toEqual(['PlimsollError', 'createPlimsoll', 'isPlimsollError'])
  })

  it('has these subpaths and one command', () => {
    expect(Object.keys(manifest.exports)).toEqual([
      '.',
      './config',
      './drivers/artifacts/s3',
      './drivers/catalogue',
      './drivers/sessions/sqlite',
      './drivers/tokenizers',
      './drivers/*',
      './formats',
      './formats/transcripts',
      './formats/*',
      './instructions',
      './intake',
      './meter',
      './policies',
      './proxy',
      './readers',
      './testing',
      './package.json',
    ])
    expect(Object.keys(manifest.bin)).toEqual(['plimsoll'])
  })

  it.each(Object.keys(manifest.exports).filter((key) => !key.includes('*') && key !== './package.json'))(
    '%s leads to a module',
    (key) => {
      expect(existsSync(fileOf(key)!)).toBe(true)
    },
  )

  it('has every path that the documents import', () => {
    const pages = [
      'README.md',
      ...readdirSync(join(root, 'docs'))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `docs/${name}`),
    ]
    const imported = pages.flatMap((page) =>
      [...readFileSync(join(root, page), 'utf8').matchAll(/from '(plimsoll(?:\/[^']*)?)'/g)].map((match) => ({
        page,
        path: match[1]!,
      })),
    )
    expect(imported.length).toBeGreaterThan(3)
    const missing = imported.filter(({ path }) => {
      const file = fileOf(path === 'plimsoll' ? '.' : path.replace('plimsoll', '.'))
      return file === undefined || !existsSync(file)
    })
    expect(missing).toEqual([])
  })
})
