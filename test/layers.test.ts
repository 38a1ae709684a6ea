import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const SRC = resolve(import.meta.dirname, '../src')

/** What each layer may import from. `node:` modules and packages are free everywhere but in the core. */
const ARROWS: Record<string, readonly string[]> = {
  lib: ['lib'],
  core: ['core'],
  meter: ['core', 'lib', 'meter', 'ports'],
  formats: ['core', 'lib', 'formats'],
  ports: ['core', 'lib', 'ports'],
  drivers: ['core', 'lib', 'ports', 'meter', 'drivers'],
  engine: ['core', 'lib', 'ports', 'meter', 'engine'],
  config: ['core', 'lib', 'ports', 'meter', 'formats', 'engine', 'config'],
  surfaces: [
    'core',
    'lib',
    'ports',
    'meter',
    'formats',
    'drivers',
    'engine',
    'config',
    'surfaces',
    'compose',
    '.',
    'testing',
  ],
  compose: ['core', 'lib', 'ports', 'meter', 'formats', 'drivers', 'engine', 'config', 'surfaces', 'compose', '.'],
  testing: [
    'core',
    'lib',
    'ports',
    'meter',
    'formats',
    'drivers',
    'engine',
    'config',
    'surfaces',
    'compose',
    'testing',
    '.',
  ],
}

const IMPORT = /(?:from|import)\s*\(?\s*'([^']+)'/g

function sourceFiles(): string[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
}

const layerOf = (file: string): string => (file.includes('/') ? file.split('/')[0]! : '.')

describe('layers', () => {
  const files = sourceFiles()

  it('has files in every layer', () => {
    const layers = new Set(files.map(layerOf))
    expect([...layers].sort()).toEqual(['.', ...Object.keys(ARROWS)].sort())
  })

  it.each(files.filter((file) => layerOf(file) !== '.'))('%s imports only downwards', (file) => {
    const layer = layerOf(file)
    const text = readFileSync(join(SRC, file), 'utf8')
    for (const [, target] of text.matchAll(IMPORT)) {
      if (!target!.startsWith('.')) {
        expect(layer === 'core' ? `core imports ${target}` : '').toBe('')
        continue
      }
      const imported = layerOf(relative(SRC, resolve(SRC, dirname(file), target!)))
      expect(ARROWS[layer], `${file} imports ${target}`).toContain(imported)
    }
  })
})
