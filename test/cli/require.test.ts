import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from './support/binary.ts'

const { engines, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  engines: { node: string }
  exports: Record<string, unknown>
}

describe('require()', () => {
  it('loads the package and its subpaths as they are published', () => {
    const subpaths = Object.keys(exports).filter((key) => key !== './package.json')
    const names = subpaths.map((key) => key.replace(/^\./, 'plimsoll'))
    const program = `for (const name of ${JSON.stringify(names)}) console.log(name, Object.keys(require(name)).length > 0)`
    const said = execFileSync(process.execPath, ['-e', program], { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' })
    expect(said.trim().split('\n')).toEqual(names.map((name) => `${name} true`))
  })

  it('works from the versions on that engines say', () => {
    // Node loads ES modules by require() without a flag from these on.
    expect(engines.node).toBe('^20.19.0 || >=22.12.0')
  })
})
