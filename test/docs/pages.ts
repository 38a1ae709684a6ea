import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

export interface Page {
  /** From the root of the project. */
  readonly file: string
  readonly text: string
}

const markdownIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name))

/** Every page that people read. */
export const PAGES: readonly Page[] = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...markdownIn('docs'),
  ...markdownIn('src'),
  ...markdownIn('bench'),
  'test/pains/pains.md',
  'test/policies/coverage.md',
]
  .map((file) => relative(ROOT, join(ROOT, file)))
  .sort()
  .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))

/** The text without blocks of code, line for line. */
export const withoutBlocks = (text: string): string =>
  text.replaceAll(/^( *)(`{3,})[^]*?^\1\2.*$/gm, (block) => block.replaceAll(/[^\n]/g, ''))
