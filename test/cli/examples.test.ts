import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Command } from 'commander'
import { createProgram } from '../../src/cli/program.ts'
import { ROOT } from './support/binary.ts'
import { copyHome, seedHome, type SeededHome } from './support/seeded-home.ts'
import { runLine } from './support/shell.ts'

let seeded: SeededHome
beforeAll(async () => {
  seeded = await seedHome()
})
afterAll(() => seeded.remove())

/** Every command that does something, with what its help says. */
function commandsOf(
  command: Command,
  path: readonly string[] = [],
): readonly (readonly [name: string, help: string])[] {
  const below = command.commands.flatMap((sub) => commandsOf(sub, [...path, sub.name()]))
  // A command with others below it does something by itself only if it takes arguments (`models`).
  if (below.length > 0 && command.registeredArguments.length === 0) return below
  let help = ''
  command.configureOutput({ writeOut: (text) => void (help += text) })
  command.outputHelp()
  return [[path.join(' '), help], ...below]
}

const COMMANDS = commandsOf(await createProgram())

// A document runs dozens of processes one after another.
const PATIENCE_MS = 240_000

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
  it('every command has one', () => {
    const without = COMMANDS.filter(([, help]) => examplesIn(help).length === 0).map(([name]) => name)
    // The demo is its own example.
    expect(without).toEqual(['demo'])
  })

  it.each(COMMANDS)('those of %s work as they stand', (_name, help) => runAll(examplesIn(help)), PATIENCE_MS)
})

/** The commands in one block of shell lines, as a reader would copy them. */
const commandsIn = (block: string): readonly string[] =>
  block
    .split('\n')
    .map((line) =>
      line
        .replace(/^\$ /, '')
        .replace(/\s+#.*$/, '')
        .trim(),
    )
    .filter((line) => /^(?:npx )?plimsoll\b/.test(line))

const SHELL = ['', 'sh', 'bash', 'console']

function blocksIn(file: string): readonly (readonly string[])[] {
  // Every other piece between fences is a block; its first line is the language.
  const pieces = readFileSync(join(ROOT, file), 'utf8').split(/^```/m)
  const blocks = pieces.filter((piece, index) => index % 2 === 1 && SHELL.includes(piece.split('\n', 1)[0]!.trim()))
  // Whole commands that stand in a sentence or a table; `plimsoll chat` alone would wait for a person.
  const inline = pieces
    .filter((_, index) => index % 2 === 0)
    .flatMap((prose) => [...prose.matchAll(/`((?:npx )?plimsoll [a-z]+ [^`…<[|]+)`/g)].map((found) => found[1]!))
  return [...blocks.map(commandsIn), ...inline.map((line) => [line])].filter((lines) => lines.length > 0)
}

describe('commands in the documentation', () => {
  // The reference is written from --help, whose examples are run above.
  const documents = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.startsWith('reference'))
    .map((name) => `docs/${name}`)
  const blocks = ['README.md', ...documents]
    .filter((file) => file.endsWith('.md') && existsSync(join(ROOT, file)))
    .flatMap((file) => blocksIn(file).map((lines) => [file, lines[0]!, lines] as const))

  it.each(blocks)('%s: %s …', (_file, _first, lines) => runAll(lines), PATIENCE_MS)
})
