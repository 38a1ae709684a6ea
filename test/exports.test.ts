import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as face from '../src/index.ts'

const root = resolve(import.meta.dirname, '..')
const manifest = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | Record<string, string>>
  bin: Record<string, string>
}

describe('the public face', () => {
  it('exports these values and no others', () => {
    expect(Object.keys(face).sort()).toEqual(['PlimsollError', 'createPlimsoll', 'isPlimsollError'])
  })

  it('has these subpaths and one command', () => {
    expect(Object.keys(manifest.exports)).toEqual([
      '.',
      './drivers/*',
      './formats/*',
      './policies',
      './proxy',
      './testing',
      './package.json',
    ])
    expect(Object.keys(manifest.bin)).toEqual(['plimsoll'])
  })
})
