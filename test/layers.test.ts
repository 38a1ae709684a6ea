import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const SRC = resolve(import.meta.dirname, '../src')

/** What each layer may import from. `node:` modules and packages are free everywhere but in the core. */
const ENGINE = ['core', 'util', 'meter', 'formats', 'ports', 'drivers', 'engine', 'settings', 'compose']
/** `.` holds `createPlimsoll`, which gives programs the engine and the gateway's `fetch` in one object. */
const PRODUCT = [...ENGINE, '.']
const ARROWS: Record<string, readonly string[]> = {
  util: ['util'],
  core: ['core'],
  meter: ['core', 'util', 'meter', 'ports'],
  formats: ['core', 'util', 'formats'],
  ports: ['core', 'util', 'ports'],
  drivers: ['core', 'util', 'ports', 'meter', 'drivers'],
  engine: ['core', 'util', 'ports', 'meter', 'engine'],
  settings: ['core', 'util', 'ports', 'meter', 'formats', 'drivers', 'engine', 'settings'],
  compose: ENGINE,
  gateway: [...ENGINE, 'gateway'],
  dashboard: [...PRODUCT, 'gateway', 'dashboard'],
  adapters: [...PRODUCT, 'adapters'],
  mcp: [...PRODUCT, 'gateway', 'mcp'],
  cli: [...PRODUCT, 'gateway', 'dashboard', 'adapters', 'mcp', 'lab', 'testing', 'cli'],
  lab: [...PRODUCT, 'dashboard', 'lab', 'testing'],
  testing: [...PRODUCT, 'lab', 'testing'],
  // What the package publishes beside its main entry and the adapters.
  public: [...PRODUCT, 'gateway', 'mcp', 'lab', 'testing'],
}

const IMPORT = /(?:from|import)\s*\(?\s*'([^']+)'/g

function sourceFiles(): string[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
}

const layerOf = (file: string): string => (file.includes('/') ? file.split('/')[0]! : '.')

/** What reads recordings is no part of what runs: the commands hand it in, and the testing kit publishes the simulator. */
const MAY_READ_RECORDINGS = ['cli', 'lab', 'public', 'testing']

describe('layers', () => {
  const files = sourceFiles()

  it('leave the lab out of the running product', () => {
    const rooms = Object.keys(ARROWS).filter((room) => ARROWS[room]!.includes('lab'))
    expect(rooms.sort()).toEqual(MAY_READ_RECORDINGS)
  })

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
