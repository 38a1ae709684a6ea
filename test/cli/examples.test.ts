import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plimsoll, ROOT } from './support/binary.ts'
import { copyHome, seedHome, type SeededHome } from './support/seeded-home.ts'
import { runLine } from './support/shell.ts'

let seeded: SeededHome
beforeAll(async () => {
  seeded = await seedHome()
})
afterAll(() => seeded.remove())

const TOP = [
  'inspect',
  'replay',
  'demo',
  'chat',
  'proxy',
  'run',
  'simulate',
  'sessions',
  'artifacts',
  'store',
  'count',
  'models',
  'config',
  'doctor',
  'completion',
]

/** Every command, from the help of the one above it. */
async function commandsBelow(path: readonly string[]): Promise<readonly (readonly string[])[]> {
  const { code, out } = await plimsoll(seeded.path, [...path, '--help'])
  expect(code, `${path.join(' ')} --help`).toBe(0)
  const list = /\nCommands:\n([^]*?)(?:\n\n|$)/.exec(out)?.[1] ?? ''
  const names = [...list.matchAll(/^  ([a-z]+)\b/gm)].map((found) => found[1]!).filter((name) => name !== 'help')
  const below = await Promise.all(names.map((name) => commandsBelow([...path, name])))
  return [...(path.length > 0 ? [path] : []), ...below.flat()]
}

const examplesIn = (text: string): readonly string[] =>
  [...text.matchAll(/^ +\$ (.+)$/gm)].map((found) => found[1]!).filter((line) => /^(?:npx )?plimsoll\b/.test(line))

async function runAll(lines: readonly string[]): Promise<void> {
  const home = await copyHome(seeded)
  try {
    for (const line of lines) {
      const { code, output } = await runLine(home, line)
      expect(code, `$ ${line}\n${output.slice(-2_000)}`).toBe(0)
    }
  } finally {
    await home.remove()
  }
}

describe('examples in --help', () => {
  it('every command that does something has one', async () => {
    const commands = await commandsBelow([])
    expect([...new Set(commands.map(([first]) => first))].sort()).toEqual(TOP.toSorted())
    const without: string[] = []
    for (const path of commands) {
      const { out } = await plimsoll(seeded.path, [...path, '--help'])
      const isGroup = /\nCommands:\n/.test(out)
      if (!isGroup && examplesIn(out).length === 0) without.push(path.join(' '))
    }
    // The demo is its own example.
    expect(without).toEqual(['demo'])
  })

  it.each(TOP)('those of %s work as they stand', async (top) => {
    for (const path of await commandsBelow([top])) {
      const { out } = await plimsoll(seeded.path, [...path, '--help'])
      await runAll(examplesIn(out))
    }
  })
})

describe('commands in the documentation', () => {
  const documents = [
    join(ROOT, 'README.md'),
    ...readdirSync(join(ROOT, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(ROOT, 'docs', name)),
  ]
  it.each(documents.filter((file) => existsSync(file)).map((file) => [file.slice(ROOT.length + 1), file]))(
    '%s',
    async (_name, file) => {
      const blocks = [...readFileSync(file, 'utf8').matchAll(/^```(?:sh|bash|console)\n([^]*?)^```/gm)].map(
        (found) => found[1]!,
      )
      for (const block of blocks) {
        const lines = block.split('\n').map((line) =>
          line
            .replace(/^\$ /, '')
            .replace(/\s+#.*$/, '')
            .trim(),
        )
        await runAll(lines.filter((line) => /^(?:npx )?plimsoll\b/.test(line)))
      }
    },
  )
})
