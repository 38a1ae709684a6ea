import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { displayWidth } from '../../src/cli/kit/figures.ts'
import { ESCAPE, FIXTURES, plimsoll, ROOT, temporaryHome } from './support/binary.ts'
import { openTerminal } from './support/terminal.ts'

let home: string
let remove: () => Promise<void>
beforeAll(async () => {
  ;({ path: home, remove } = await temporaryHome())
})
afterAll(() => remove())

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const SESSION = join(FIXTURES, 'claude-code.jsonl')

async function drawn(
  args: readonly string[],
  options: Parameters<typeof openTerminal>[2] = {},
): Promise<{ raw: string; text: string; code: number }> {
  const terminal = openTerminal(home, args, options)
  const { code } = await terminal.ended
  return { raw: terminal.raw(), text: terminal.text(), code }
}

describe('the command line', () => {
  it('says its version and its commands', async () => {
    expect(await plimsoll(home, ['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
    const { code, out } = await plimsoll(home, ['--help'])
    expect(code).toBe(0)
    for (const command of [
      'inspect',
      'replay',
      'chat',
      'proxy',
      'run',
      'demo',
      'simulate',
      'count',
      'models',
      'sessions',
      'artifacts',
      'store',
      'config',
      'doctor',
      'completion',
    ])
      expect(out).toMatch(new RegExp(`^  ${command}\\b`, 'm'))
  })

  it('helps in a terminal as it helps in a pipe', async () => {
    const inTerminal = await drawn(['inspect', '--help'])
    expect(inTerminal.code).toBe(0)
    expect(inTerminal.text).toContain('Usage: plimsoll inspect')
  })

  it('colours a terminal and nothing else', async () => {
    const args = ['inspect', SESSION]
    expect((await drawn(args)).raw).toContain(`${ESCAPE}[1m`)
    expect((await plimsoll(home, args)).out).not.toContain(ESCAPE)
    expect((await drawn(args, { env: { NO_COLOR: '1' } })).raw).not.toContain(`${ESCAPE}[1m`)
    expect((await drawn(args, { env: { TERM: 'dumb' } })).raw).not.toContain(`${ESCAPE}[1m`)
  })

  it.each([30, 44, 60, 80, 132])('no line of a report is wider than %i columns', async (columns) => {
    for (const args of [
      ['inspect', FIXTURES, '--details'],
      ['replay', SESSION, '--window', '16k', '--details'],
      ['replay', SESSION, '--window', '16k,32k'],
      ['models', 'sonnet'],
    ]) {
      const { text, code } = await drawn(args, { columns })
      expect(code).toBe(0)
      // What is drawn over (the progress bar) ends in a carriage return and is gone.
      const lines = text.split('\n').map((line) => line.split('\r').at(-1)!)
      const tooWide = lines.filter((line) => displayWidth(line) > columns)
      expect(tooWide).toEqual([])
    }
  })

  it.each([
    [['inspekt'], 2, '(Did you mean inspect?)'],
    [['inspect', '--windo', '3'], 2, '(Did you mean --window?)'],
    [['inspect', 'no-such-file.jsonl'], 2, 'Check the path'],
    [['inspect', '--html', 'session.jsonl'], 2, 'should end in .html'],
    [['replay'], 2, "missing required argument 'paths'"],
    [['replay', SESSION, '--policy', 'nonsense'], 2, 'Known policies: plimsoll'],
    [['replay', SESSION, '--window', 'big'], 2, 'tokens like 128000 or 128k'],
    [['models', 'no-such-model-anywhere'], 1, '--window sets another'],
    [['sessions', 'ls'], 1, 'use --store for another address'],
    [['sessions', 'ls', '--store', 'redis://x'], 2, 'Use memory:'],
    [['inspect'], 1, 'Name a file or folder'],
  ])('%j fails with %i and says what to do', async (args, code, advice) => {
    const ran = await plimsoll(home, args)
    expect({ code: ran.code, out: ran.out }).toEqual({ code, out: '' })
    expect(ran.err).toContain(advice)
    expect(ran.err).not.toMatch(/\n\s+at /)
  })

  it('completes commands and options by the words before the cursor', async () => {
    const words = async (...before: string[]): Promise<string[]> =>
      (await plimsoll(home, ['completion', 'words', '--', ...before])).out.trim().split('\n')
    expect(await words()).toEqual(expect.arrayContaining(['inspect', 'sessions', '--help']))
    expect(await words('sessions', 'ls')).toEqual(expect.arrayContaining(['--limit', '--json']))
  })

  it('a closed pipe is no error', async () => {
    const { code, out } = await plimsoll(home, ['completion', 'bash'])
    expect(code).toBe(0)
    expect(out).toContain('complete -o default -F _plimsoll plimsoll')
  })
})
