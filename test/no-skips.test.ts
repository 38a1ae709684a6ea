import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

// A test that is skipped because a service is missing would make a green run mean nothing.
const SKIP = /\b(?:it|test|describe)\.(?:skip|only|todo|fails|skipIf|runIf)\b|\bx(?:it|describe)\(/

it('no test is skipped, focused or left to do', () => {
  const root = resolve(import.meta.dirname)
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.test.ts') && file !== 'no-skips.test.ts',
  )
  expect(files.length).toBeGreaterThan(3)
  expect(files.filter((file) => SKIP.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
})
