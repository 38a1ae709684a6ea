import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { recorded, SHARED } from '../support/shared-data.ts'

const root = resolve(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'test/policies/coverage.md'), 'utf8')
const documents = join(SHARED, 'spec/sources')

/** `area/file: words of a title` */
const references = [...page.matchAll(/`((?:[a-z-]+\/)+[a-z0-9-]+): ([^`]+)`/g)].map(
  ([, file, title]) => [file!, title!] as const,
)

describe('test/policies/coverage.md', () => {
  it('has many references', () => expect(references.length).toBeGreaterThan(100))

  it.each(references)('%s: %s', (file, title) => {
    const path = join(root, 'test', `${file}.test.ts`)
    expect(existsSync(path), `${path} is there`).toBe(true)
    const titles = readFileSync(path, 'utf8').replaceAll("\\'", "'")
    expect(titles.includes(title), `${file} has a title with "${title}"`).toBe(true)
  })

  it('gives every line a test or a reason', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| Statement'))
    const bare = rows.filter(
      (row) => !/`(?:[a-z-]+\/)+[a-z0-9-]+: |\*\*Deviation\*\*|this page|outside this project|plans of/.test(row),
    )
    expect(bare).toEqual([])
  })
})

/** What a document names: headings, variables and constants, debug topics, tests. */
function namesIn(text: string): string[] {
  const headings = [...text.matchAll(/^##+ (.+)$/gm)].map(([, heading]) => heading!)
  const constants = text.match(/\b(?:SRE_AGENT_[A-Z_]+|CYBER_[A-Z_]+|CONTEXT_DEBUG|[A-Z]{3,}_[A-Z_]{3,})\b/g) ?? []
  const topics = text.match(/context-guard\/[a-z-]+/g) ?? []
  const tests = text.match(/\bTest[A-Z][A-Za-z]+_[A-Za-z0-9_]+/g) ?? []
  return [...new Set([...headings, ...constants, ...topics, ...tests])]
}

describe('the documents', () => {
  const files = existsSync(documents) ? readdirSync(documents).filter((file) => file.endsWith('.md')) : []

  it.each(recorded)('are five', () => expect(files).toHaveLength(5))

  for (const file of files) {
    it.each(namesIn(readFileSync(join(documents, file), 'utf8')))(`${file}: %s`, (name) => {
      expect(page.includes(name), `test/policies/coverage.md mentions "${name}"`).toBe(true)
    })
  }
})
