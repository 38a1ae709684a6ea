import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const SAYS: Readonly<Record<string, RegExp>> = {
  mastra: /The disk of node 7 is full\.\n0 overflows, 0 invalid/,
  strands: /0 overflows, 0 invalid; 42 messages, all whole/,
  'google-adk': /The disk of node 7 is full\.\n0 overflows, 0 invalid/,
}

describe('examples of frameworks', () => {
  it.each(Object.keys(SAYS))('%s runs and says what it should', (name) => {
    const file = join(import.meta.dirname, 'examples', `${name}.ts`)
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', file], { encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    expect(stdout).toMatch(SAYS[name]!)
  })
})
