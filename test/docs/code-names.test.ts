import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PAGES, ROOT, withoutBlocks } from './pages.ts'

/** Pages about other people's code, by their own names, and the page that names what is gone. */
const FOREIGN = /^CHANGELOG|^docs\/(adapters|comparison|decisions|reference|presets\/)|^test\/|^bench\//

const sources = ['src', 'test', 'bench', 'scripts', 'dashboard/src', 'examples', 'frameworks']
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      // `.snippets` comes and goes beside this test, and holds the names that the pages say themselves.
      .filter((file) => /\.(ts|tsx)$/.test(file) && !/node_modules|\.snippets/.test(file))
      .map((file) => join(folder, file)),
  )
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
const words = new Set(sources.flatMap((text) => text.match(/[A-Za-z_$][\w$]*/g) ?? []))

/** `name(…)`, `camelCase` and `UPPER_CASE` in running text are names of code. */
const NAME = /^(?:([A-Za-z_$][\w$.]*)\(.*\)|([a-z]+[A-Z]\w*)|([A-Z][A-Z0-9_]{3,}))$/
const PATH = /^(?:src|test|bench|scripts|docs)\/[\w./-]+$/

const codeIn = (text: string): readonly string[] =>
  [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!)

it.each(PAGES.filter(({ file }) => !FOREIGN.test(file)))('what $file calls by name is there', ({ text }) => {
  const missing = codeIn(text).filter((code) => {
    // What a run puts there is not part of the project.
    if (PATH.test(code)) return !code.includes('/.') && !existsSync(join(ROOT, code))
    const [, called, camel, upper] = NAME.exec(code) ?? []
    const name = (called ?? camel ?? upper)?.split('.').at(-1)
    return name !== undefined && name !== '' && !words.has(name)
  })
  expect(missing).toEqual([])
})
