import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { inDark } from '../../src/meter/session/card.ts'
import { plimsoll, ROOT, temporaryHome } from './support/binary.ts'

it('README shows the demo as it is: `npm run screenshots` draws its card anew', async () => {
  const home = await temporaryHome()
  const file = join(home.path, 'card.svg')
  expect(await plimsoll(home.path, ['demo', '--fast', '--png', file])).toMatchObject({ code: 0, err: '' })
  const drawn = readFileSync(file, 'utf8')
  await home.remove()
  const kept = (name: string): string => readFileSync(join(ROOT, 'docs/images', name), 'utf8')
  expect(kept('card-light.svg')).toBe(drawn)
  expect(kept('card-dark.svg')).toBe(inDark(drawn))
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toMatch(
    /<source media="\(prefers-color-scheme: dark\)" srcset="docs\/images\/card-dark.svg">/,
  )
}, 60_000)
