import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { filesOf, sharedTranscripts } from '../support/shared-data.ts'
import { FIXTURES, plimsoll, temporaryHome } from './support/binary.ts'
import { openTerminal } from './support/terminal.ts'

let home: string
let remove: () => Promise<void>
beforeAll(async () => {
  ;({ path: home, remove } = await temporaryHome())
})
afterAll(() => remove())

const SESSION = join(FIXTURES, 'claude-code.jsonl')
// Others build on these names.
const FIELDS = [
  'file',
  'format',
  'policy',
  'window',
  'limit',
  'calls',
  'messages',
  'overflows',
  'doubtful',
  'figures',
  'invalid',
  'lost',
  'refused',
  'fetchedAgain',
  'fixedLoad',
  'epochs',
  'summarizerCalls',
  'peakLoad',
  'quoteRecall',
  'nameRecall',
  'recoverableRecall',
  'handover',
  'costUsd',
  'unmanagedCostUsd',
  'cacheHitRate',
  'coldCalls',
  'requestsHash',
  'ms',
]

/** A chat with a tool step for each number. */
const longChat = (steps: number): object[] => [
  { role: 'user', content: 'Find the bug in the parser.' },
  ...Array.from({ length: steps }, (_, n) => [
    {
      role: 'assistant',
      content: `Reading part ${n} of the parser.`,
      tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 'read', arguments: `{"path":"src/${n}.ts"}` } }],
    },
    { role: 'tool', tool_call_id: `c${n}`, content: `const part_${n} = parse(${n})\n`.repeat(30) },
  ]).flat(),
  { role: 'assistant', content: 'It is in part 7.' },
]

type Result = Record<(typeof FIELDS)[number], number> & { readonly file: string; readonly format: string }
const linesOf = (out: string): Result[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Result)

describe('replay', () => {
  it('writes each record to a file of its own, and prints the same with --details', async () => {
    const folder = join(home, 'records')
    const session = join(home, 'long.json')
    writeFileSync(session, JSON.stringify({ messages: longChat(40) }))
    const { code, out } = await plimsoll(home, ['replay', session, '--window', '8k', '--dump', folder, '--details'])
    expect(code).toBe(0)
    const names = readdirSync(folder)
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) {
      expect(name).toMatch(/^long\.json\.plimsoll\.\d+\.call-\d{4}\.txt$/)
      const text = readFileSync(join(folder, name), 'utf8')
      expect(text).toContain('[Condensed record of')
      expect(out).toContain(text.split('\n')[0])
    }
  })

  it('prints one object per file, policy and window, with exactly the published fields', async () => {
    const { code, out, err } = await plimsoll(home, [
      'replay',
      SESSION,
      join(FIXTURES, 'codex-rollout.jsonl'),
      '--window',
      '16k,32k',
      '--json',
    ])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const results = linesOf(out)
    expect(results.map(({ format, window }) => [format, window])).toEqual([
      ['claude-code', 16_000],
      ['claude-code', 32_000],
      ['codex-rollout', 16_000],
      ['codex-rollout', 32_000],
    ])
    for (const result of results) {
      expect(Object.keys(result).sort()).toEqual(FIELDS.toSorted())
      expect(result).toMatchObject({ overflows: 0, invalid: 0, lost: 0, policy: 'plimsoll' })
    }
    expect(results[0]!.file).toBe(SESSION)
  })

  it('tells the recordings of one file apart', async () => {
    const { out } = await plimsoll(home, ['replay', join(FIXTURES, 'tau-bench.json'), '--json'])
    expect(linesOf(out).map(({ file }) => file.slice(file.indexOf('#')))).toEqual([
      '#task 2, trial 1',
      '#task 46, trial 3',
    ])
  })

  it('a window that holds nothing is told call by call, and --check makes it an exit code', async () => {
    const args = ['replay', SESSION, '--window', '400']
    const { code, out } = await plimsoll(home, args)
    expect(code).toBe(0)
    expect(out).toMatch(/call 1: The context needs [\d,]+ tokens and [\d,]+ fit/)
    expect(out).toMatch(/0 overflows, 0 invalid, 0 lost\n\d+ calls refused with an error: instructions and tools alone/)
    expect(await plimsoll(home, [...args, '--check', '--json'])).toMatchObject({ code: 3 })
    expect(await plimsoll(home, ['replay', SESSION, '--window', '32k', '--check', '--json'])).toMatchObject({ code: 0 })
  })

  it('compares windows in one table', async () => {
    const { out } = await plimsoll(home, ['replay', FIXTURES, '--window', '16k', '--no-readers'])
    expect(out).toMatch(/16 sessions, 54 calls/)
    expect(out).toContain('plimsoll 16k')
  })

  it.each([
    [140, /overflows {2}invalid/],
    [80, /plimsoll 16k {2}autosre 16k\n/],
    [30, /autosre 16k\n {2}overflows/],
  ])('lays the comparison of policies out for %i columns', async (columns, layout) => {
    const args = ['replay', SESSION, '--window', '16k', '--compare', 'autosre']
    const terminal = openTerminal(home, args, { columns, env: { NO_COLOR: '1' } })
    await terminal.ended
    expect(terminal.text()).toMatch(layout)
  })

  it('lives what can be read of a damaged file', async () => {
    const lines = readFileSync(SESSION, 'utf8').split('\n')
    const damaged = join(home, 'damaged.jsonl')
    writeFileSync(damaged, [...lines.slice(0, 2), 'not json', ...lines.slice(2)].join('\n'))
    const { code, out } = await plimsoll(home, ['replay', damaged, '--json'])
    expect(code).toBe(0)
    expect(linesOf(out)[0]).toMatchObject({ calls: 3, overflows: 0, invalid: 0, lost: 0 })
  })

  it('draws a progress bar on a terminal and takes it away again', async () => {
    const terminal = openTerminal(home, ['replay', SESSION, '--window', '16k'])
    await terminal.ended
    expect(terminal.raw()).toMatch(/█|░/)
    expect(terminal.text()).toContain('0 overflows, 0 invalid, 0 lost')
    const piped = await plimsoll(home, ['replay', SESSION, '--window', '16k'])
    expect(piped.err).toBe('')
  })

  // The whole corpus takes minutes: `npm run test:replay`. Here one larger session of each wire.
  const shared = sharedTranscripts()
  const SAMPLE: readonly (readonly [string, number])[] = [
    ['claude-code', 0],
    ['codex-rollout', 4],
    ['gemini-cli', 0],
    ['openai-chat', 0],
    ['copilot-cli', 1],
    ['openhands', 0],
  ]
  it.each(shared === undefined ? [] : SAMPLE)(
    '%s %i: nothing overflows, is invalid or gets lost in 16k and 32k',
    async (folder, index) => {
      const path = filesOf(shared!, folder)[index]!
      const { code, out } = await plimsoll(home, ['replay', path, '--window', '16k,32k', '--json'])
      expect(code).toBe(0)
      for (const result of linesOf(out)) {
        expect(result).toMatchObject({ overflows: 0, invalid: 0, lost: 0 })
        // Refused may only be what has no room: Codex brings 12.9k tokens of instructions to a limit of 14.7k.
        if (result['fixedLoad']! <= (2 / 3) * result['limit']!) expect(result['refused']).toBe(0)
        expect(result['refused']).toBeLessThan(result['calls']! / 8)
        expect(result['peakLoad']).toBeLessThanOrEqual(result['limit']!)
      }
    },
  )
})
