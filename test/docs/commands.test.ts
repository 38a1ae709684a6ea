import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { baseUrlsAt, endpoints } from '../../src/formats/endpoints.ts'
import { PAGES, ROOT } from './pages.ts'

// Commands of `plimsoll` itself are run by test/cli/examples.test.ts. Here: what else a reader would type.

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

const typed = PAGES.flatMap(({ file, text }) =>
  [...text.matchAll(/\bnpm (run )?(?:--silent )?([a-z][\w:-]*)/g)].map(([, run, name]) => ({ file, run, name: name! })),
)

it('every script that a page names is there', () => {
  const scriptsNamed = typed.filter(({ run, name }) => run !== undefined || name === 'start' || name === 'test')
  expect(scriptsNamed.length).toBeGreaterThan(20)
  expect(scriptsNamed.filter(({ name }) => !(name in scripts))).toEqual([])
})

it('every file that a page runs is there', () => {
  const files = PAGES.flatMap(({ file, text }) =>
    [...text.matchAll(/\b(?:npx tsx|npx vitest run) ((?:bench|examples|scripts|test)\/[\w./-]+\.\w+)/g)].map(
      (found) => ({
        file,
        path: found[1]!,
      }),
    ),
  )
  expect(files.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([])
})

it('every base URL that a page sets leads to a prefix of the proxy, as the proxy itself prints it', () => {
  const printed = new Map(baseUrlsAt('http://127.0.0.1:4141', true))
  const set = PAGES.flatMap(({ file, text }) =>
    [...text.matchAll(/\b([A-Z_]+)=(http:\/\/127\.0\.0\.1:4141\S*)/g)].map(([, name, url]) => ({
      file,
      name: name!,
      url: url!,
    })),
  )
  expect(set.length).toBeGreaterThan(5)
  const prefixes = endpoints.map(({ name }) => name)
  const wrong = set.filter(({ name, url }) =>
    printed.has(name) ? printed.get(name) !== url : !prefixes.includes(new URL(url).pathname.split('/')[1]!),
  )
  expect(wrong).toEqual([])
})
