import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkSnippets, snippetsOf } from '../test/docs/snippets.ts'

const PAGES = ['aws-sdk', 'mastra', 'strands', 'google-adk', 'pi', 'opencode'].map((name) => `docs/adapters/${name}.md`)

describe('TypeScript on the pages of frameworks', () => {
  it('compiles in a strict project', () => {
    const snippets = PAGES.flatMap(snippetsOf)
    expect(snippets).toHaveLength(PAGES.length)
    expect(checkSnippets(snippets, join(import.meta.dirname, '.snippets'))).toEqual([])
  })
})
