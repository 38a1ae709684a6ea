import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { referencePages } from '../../scripts/generate-docs.ts'
import { FOREIGN_VARIABLES } from '../../scripts/docs/foreign-variables.ts'
import { SETTINGS } from '../../src/settings/settings.ts'
import { PRESET_VARIABLES, VARIABLES, variablesOf } from '../../src/settings/variables.ts'
import { ROOT } from './pages.ts'

const pages = await referencePages()
const folder = join(ROOT, 'docs/reference')

it('the reference has these pages and no others', () => {
  expect(readdirSync(folder).sort()).toEqual(Object.keys(pages).sort())
})

it.each(Object.keys(pages))('%s is what `npm run docs:generate` writes', (name) => {
  expect(readFileSync(join(folder, name), 'utf8')).toBe(pages[name])
})

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('testing') && file !== 'settings/settings.ts')
  .map((file) => readFileSync(join(ROOT, 'src', file), 'utf8'))

it('lists every environment variable that the sources read', () => {
  const read = new Set(
    sources.flatMap((text) => [
      ...[...text.matchAll(/\b(?:env|environment)\[?\.?\[?'([A-Z][A-Z0-9_]+)'\]/g)].map((found) => found[1]!),
      ...[...text.matchAll(/\bPLIMSOLL_[A-Z_]+\b/g)].map((found) => found[0]),
    ]),
  )
  const listed = [...variablesOf(SETTINGS), ...FOREIGN_VARIABLES]
    .map(({ name, about }) => `${name} ${about}`)
    .join('\n')
  const known = `${listed}\n${Object.values(PRESET_VARIABLES).flat().join('\n')}`
  // What `plimsoll chat` reads of providers stands in their table, what `run` hands on is the agent's.
  const elsewhere = new Set(['OPENAI_API_KEY', 'OPENCODE_CONFIG_CONTENT'])
  expect([...read].filter((name) => !elsewhere.has(name) && !new RegExp(`\\b${name}\\b`).test(known))).toEqual([])
  expect(VARIABLES.map(({ name }) => name).filter((name) => !read.has(name))).toEqual([])
})
