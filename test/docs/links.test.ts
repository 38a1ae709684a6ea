import { existsSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { PAGES, ROOT, withoutBlocks } from './pages.ts'

/** As GitHub and npm make them of headings; a repeated one gets a number. */
function anchorsIn(text: string): ReadonlySet<string> {
  const seen = new Map<string, number>()
  const anchors = [...withoutBlocks(text).matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, heading]) => {
    const words = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '')
    const anchor = words
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const times = seen.get(anchor) ?? 0
    seen.set(anchor, times + 1)
    return times === 0 ? anchor : `${anchor}-${times}`
  })
  return new Set(anchors)
}

const anchors = new Map(PAGES.map(({ file, text }) => [file, anchorsIn(text)]))

const linksIn = (text: string): readonly string[] =>
  [
    ...withoutBlocks(text)
      .replaceAll(/`[^`]*`/g, '')
      .matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g),
  ]
    .map((found) => (found[1] ?? found[2])!)
    .filter((link) => !/^[a-z]+:/.test(link))

const problemWith = (file: string, link: string): string | undefined => {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? file : relative(ROOT, join(ROOT, dirname(file), decodeURIComponent(path)))
  if (target.startsWith('..') || !existsSync(join(ROOT, target))) return `${link}: there is no such file`
  if (anchor === undefined || statSync(join(ROOT, target)).isDirectory()) return undefined
  return anchors.get(target)?.has(anchor) === true ? undefined : `${link}: there is no such heading`
}

it.each(PAGES)('every link in $file leads somewhere', ({ file, text }) => {
  const problems = linksIn(text).flatMap((link) => problemWith(file, link) ?? [])
  expect(problems).toEqual([])
})

it('reads links at all', () => {
  expect(PAGES.flatMap(({ text }) => linksIn(text)).length).toBeGreaterThan(50)
})
