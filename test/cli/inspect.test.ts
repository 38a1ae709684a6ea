import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { filesOf, sharedTranscripts } from '../support/shared-data.ts'
import { FIXTURES, plimsoll, temporaryHome } from './support/binary.ts'

let home: string
let remove: () => Promise<void>
beforeAll(async () => {
  ;({ path: home, remove } = await temporaryHome())
})
afterAll(() => remove())

const SESSION = join(FIXTURES, 'claude-code.jsonl')
const file = (name: string, text: string): string => {
  const path = join(home, name)
  writeFileSync(path, text)
  return path
}

describe('inspect', () => {
  it('prints an array with one object per session', async () => {
    const { code, out } = await plimsoll(home, ['inspect', SESSION, join(FIXTURES, 'pi.jsonl'), '--json'])
    expect(code).toBe(0)
    const inspections = JSON.parse(out) as Record<string, unknown>[]
    expect(inspections.map(({ format }) => format)).toEqual(['claude-code', 'pi'])
    expect(inspections[0]).toMatchObject({ calls: 3, window: 200_000, problems: [] })
  })

  it('draws the window that is asked for', async () => {
    const { out } = await plimsoll(home, ['inspect', SESSION, '--window', '64k'])
    expect(out).toContain('of 64,000')
  })

  it('writes one page that needs nothing else', async () => {
    const { code, out } = await plimsoll(home, ['inspect', SESSION, '--html', 'report.html'])
    expect({ code, out }).toEqual({ code: 0, out: 'Wrote report.html.\n' })
    const page = readFileSync(join(home, 'report.html'), 'utf8')
    expect(page).toContain('Where the tokens went')
    expect(page).not.toMatch(/<(?:script|link|img)[^>]*(?:src|href)=/)
  })

  it('finds the sessions of clients by itself, newest first', async () => {
    const claude = join(home, '.claude/projects/one')
    const codex = join(home, '.codex/sessions/2026/01/02')
    mkdirSync(claude, { recursive: true })
    mkdirSync(codex, { recursive: true })
    copyFileSync(SESSION, join(claude, 'a.jsonl'))
    copyFileSync(join(FIXTURES, 'codex-rollout.jsonl'), join(codex, 'rollout-1.jsonl'))
    const listed = await plimsoll(home, ['inspect', '--list', '--json'])
    expect((JSON.parse(listed.out) as { client: string }[]).map(({ client }) => client).sort()).toEqual([
      'claude-code',
      'codex',
    ])
    const { code, out } = await plimsoll(home, ['inspect'])
    expect(code).toBe(0)
    expect(out).toContain('2 sessions')
  })

  it('names the line of what it cannot read, and reads the rest', async () => {
    const lines = readFileSync(SESSION, 'utf8').split('\n')
    const damaged = file('damaged.jsonl', [...lines.slice(0, 2), '{"broken": ', ...lines.slice(2)].join('\n'))
    const { code, out } = await plimsoll(home, ['inspect', damaged])
    expect(code).toBe(0)
    expect(out).toContain('line 3: The line is not JSON')
    expect(out).toContain('Where the tokens went')
  })

  it('reads a file that breaks off, and says where', async () => {
    const text = readFileSync(SESSION, 'utf8')
    const { code, out } = await plimsoll(home, ['inspect', file('torn.jsonl', text.slice(0, text.length - 200))])
    expect(code).toBe(0)
    expect(out).toMatch(/line \d+: The last line is incomplete/)
  })

  it('reads formats that were mixed up in one file as recordings of their own', async () => {
    const mixed = file(
      'mixed.jsonl',
      `${readFileSync(SESSION, 'utf8')}\n${readFileSync(join(FIXTURES, 'pi.jsonl'), 'utf8')}`,
    )
    const { code, out } = await plimsoll(home, ['inspect', mixed, '--json'])
    expect(code).toBe(0)
    const found = JSON.parse(out) as { format: string; problems: { message: string }[] }[]
    expect(found.map(({ format }) => format)).toEqual(['claude-code', 'pi'])
    expect(found[0]!.problems.some(({ message }) => message.includes('pi lines begin here'))).toBe(true)
  })

  it('says that a file is empty or something else, exits with 1, and still does the others', async () => {
    const empty = file('empty.jsonl', '')
    const other = file('other.jsonl', '{"hello": "world"}\n')
    const { code, out, err } = await plimsoll(home, ['inspect', empty, other, SESSION])
    expect(code).toBe(1)
    expect(err).toContain('empty.jsonl, line 1: The file is empty.')
    expect(err).toContain('other.jsonl, line 1: No known transcript format')
    expect(out).toContain('Where the tokens went')
  })

  const shared = sharedTranscripts()
  const FOLDERS = [
    'claude-code',
    'codex-rollout',
    'gemini-cli',
    'copilot-cli',
    'pi',
    'cline',
    'openhands',
    'swe-agent',
    'tau-bench',
    'tau2-bench',
    'openai-chat',
  ]
  it.each(shared === undefined ? [] : FOLDERS)('inspects every transcript of %s', async (folder) => {
    const files = filesOf(shared!, folder)
    const { code, out, err } = await plimsoll(home, ['inspect', ...files, '--json'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const found = JSON.parse(out) as { file: string; calls: number; sentTokens: number }[]
    expect(new Set(found.map((one) => one.file)).size).toBe(files.length)
    expect(found.filter(({ calls, sentTokens }) => calls > 0 && sentTokens <= 0)).toEqual([])
  })
})
