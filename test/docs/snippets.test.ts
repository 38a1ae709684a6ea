import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PAGES } from './pages.ts'
import { checkSnippets, snippetsOf } from './snippets.ts'

/** Checked by `npm run test:frameworks`, where their packages are. */
const ELSEWHERE = ['aws-sdk', 'mastra', 'strands', 'google-adk', 'pi', 'opencode'].map(
  (name) => `docs/adapters/${name}.md`,
)

const folder = join(import.meta.dirname, '.snippets')

describe('TypeScript in README and docs', () => {
  // The reference is written from the sources, which are checked themselves.
  const pages = PAGES.map(({ file }) => file).filter(
    (page) => !ELSEWHERE.includes(page) && !page.startsWith('docs/reference/'),
  )
  const snippets = pages.flatMap(snippetsOf)

  it('compiles in a strict project', () => {
    expect(snippets.length).toBeGreaterThanOrEqual(30)
    expect(checkSnippets(snippets, folder)).toEqual([])
  })

  it('would not pass with a mistake in it', () => {
    const wrong = { page: 'README.md', line: 1, code: "const session = plimsoll.session({ name: 'run' })" }
    expect(checkSnippets([wrong], folder).join('\n')).toMatch(/TS2561|TS2353|TS2345|TS2741/)
  })
})
