import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readyForNpm } from '../scripts/release.ts'

const ROOT = resolve(import.meta.dirname, '..')
const ADDRESS = 'https://git.example.org/someone/plimsoll'
const IMAGE = 'https://cdn.jsdelivr.net/npm/plimsoll@1.2.3/docs/images/a.svg'
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

describe('the package on npm', () => {
  it('gets its metadata, images and links from one address', () => {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-release-test-'))
    try {
      const files = {
        'package.json': '{ "name": "plimsoll", "version": "1.2.3" }',
        'README.md':
          '![a](docs/images/a.svg) <source srcset="docs/images/a.svg"> <img src="docs/images/a.svg"> [in](docs/page.md#part) [out](CONTRIBUTING.md) [web](https://example.org)',
        'docs/page.md': '[up](../README.md) [why](decisions/one.md#because) [here](#part)',
      }
      for (const [file, text] of Object.entries({ ...files, 'docs/images/a.svg': '<svg/>' })) {
        mkdirSync(dirname(join(folder, file)), { recursive: true })
        writeFileSync(join(folder, file), text)
      }
      readyForNpm(folder, ADDRESS)
      const after = (file: string): string => readFileSync(join(folder, file), 'utf8')
      expect(JSON.parse(after('package.json'))).toEqual({
        name: 'plimsoll',
        version: '1.2.3',
        author: { name: 'The authors of Plimsoll', url: ADDRESS },
        homepage: `${ADDRESS}#readme`,
        repository: { type: 'git', url: `git+${ADDRESS}.git` },
        bugs: { url: `${ADDRESS}/issues` },
      })
      expect(after('README.md')).toBe(
        `![a](${IMAGE}) <source srcset="${IMAGE}"> <img src="${IMAGE}"> [in](docs/page.md#part) ` +
          `[out](${ADDRESS}/blob/v1.2.3/CONTRIBUTING.md) [web](https://example.org)`,
      )
      expect(after('docs/page.md')).toBe(
        `[up](../README.md) [why](${ADDRESS}/blob/v1.2.3/docs/decisions/one.md#because) [here](#part)`,
      )
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('is not published from the folder, where nothing has checked it', () => {
    const { scripts, publishConfig } = JSON.parse(read('package.json')) as Record<string, Record<string, unknown>>
    expect(scripts!['prepublishOnly']).toMatch(/release:check.*exit 1$/)
    expect(publishConfig).toEqual({ access: 'public', provenance: true })
  })

  it('needs the Node that the README, the first page and doctor name', () => {
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
    const named = [...engines.node.matchAll(/(\d+\.\d+)\.0/g)].map((found) => found[1]).join(', ')
    for (const file of ['README.md', 'docs/getting-started.md', 'src/cli/commands/doctor.ts'])
      expect(read(file), file).toContain(`${named} or newer`)
  })
})
