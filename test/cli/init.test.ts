import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KNOWN_PACKAGES } from '../../src/adapters/known-packages.ts'
import { plimsoll, ROOT, temporaryHome } from './support/binary.ts'

let home: Awaited<ReturnType<typeof temporaryHome>>
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-init-test-'))
beforeAll(async () => {
  home = await temporaryHome()
})
afterAll(async () => {
  await home.remove()
  rmSync(folder, { recursive: true, force: true })
})

const project = (name: string, manifest: object): string => {
  const path = join(folder, name, 'src')
  mkdirSync(path, { recursive: true })
  writeFileSync(join(folder, name, 'package.json'), JSON.stringify(manifest))
  return path
}

describe('plimsoll init', () => {
  it('prints three lines for each SDK and framework of the project, also from a folder inside it', async () => {
    const path = project('two', { dependencies: { langchain: '^1' }, devDependencies: { openai: '^6' } })
    const { code, out } = await plimsoll(home.path, ['init', path])
    expect(code).toBe(0)
    expect(out).toContain('LangChain (langchain)')
    expect(out).toContain('middleware: [plimsollMiddleware(plimsoll)]')
    expect(out).toContain('new OpenAI({ fetch: plimsoll.fetch })')
    expect(out).not.toContain('Mastra')
  })

  it('says what to do where it knows nothing', async () => {
    const { code, out } = await plimsoll(home.path, ['init', project('none', {})])
    expect([code, out.includes('plimsoll proxy')]).toEqual([0, true])
  })

  it('has the same for programs', async () => {
    const path = project('json', { dependencies: { ai: '^7' } })
    const { out } = await plimsoll(home.path, ['init', path, '--json'])
    const { found } = JSON.parse(out) as { found: { package: string; lines: string[] }[] }
    expect(found.map((one) => [one.package, one.lines.length])).toEqual([['ai', 3]])
  })
})

it.each(KNOWN_PACKAGES)(
  'init prints for $package what $page shows first',
  ({ package: name, page, lines, note = '' }) => {
    const blocks = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/```ts\n([^]*?)```/g)].map((found) => found[1]!)
    // A page about several SDKs has a block for each.
    const shown = page.endsWith('sdks.md') ? blocks.filter((block) => block.includes(`from '${name}'`)) : blocks
    const printed = [...lines, note].join('\n')
    const ours = [...shown[0]!.matchAll(/(?<![.\w])(?:plimsoll\w+|createPlimsoll)(?=\()|plimsoll\.fetch/g)].map(
      ([call]) => call,
    )
    expect(ours.length).toBeGreaterThan(1)
    for (const call of ours) expect(printed).toContain(call)
  },
)
