import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const SRC = resolve(import.meta.dirname, '../src')

/** What each layer may import from. `node:` modules and packages are free everywhere but in the core. */
const ARROWS: Record<string, readonly string[]> = {
  core: ['core'],
  meter: ['core', 'meter', 'ports'],
  formats: ['core', 'formats'],
  ports: ['core', 'ports'],
  drivers: ['core', 'ports', 'meter', 'drivers'],
  engine: ['core', 'ports', 'meter', 'engine'],
  config: ['core', 'ports', 'meter', 'formats', 'engine', 'config'],
  surfaces: ['core', 'ports', 'meter', 'formats', 'drivers', 'engine', 'config', 'surfaces', 'compose', '.', 'testing'],
  compose: ['core', 'ports', 'meter', 'formats', 'drivers', 'engine', 'config', 'surfaces', 'compose', '.'],
  testing: ['core', 'ports', 'meter', 'formats', 'drivers', 'engine', 'config', 'surfaces', 'compose', 'testing', '.'],
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
