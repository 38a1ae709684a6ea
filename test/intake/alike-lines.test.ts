import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDrain, sanitise, show } from '../../src/engine/intake/index.ts'
import { shapeReader } from '../../src/engine/intake/logs/drain.ts'
import { parseLogLine } from '../../src/engine/intake/logs/log-line.ts'
import { grouped } from '../../src/engine/intake/text.ts'
import { property } from '../support/property.ts'
import { options } from './helpers.ts'

/** Lines that are alike are read once. These hold that nothing shows it: each line counts as if it were the only one. */

const digit = fc.integer({ min: 0, max: 9 }).map(String)
/** A form of a word in which every `#` becomes some digit: from one form come words that are alike. */
const filled = (form: string): fc.Arbitrary<string> =>
  fc.array(digit, { minLength: 24, maxLength: 24 }).map((digits) => {
    let used = 0
    return form.replaceAll('#', () => digits[used++ % digits.length]!)
  })

const HEADERS = [
  '2025-06-2# 1#:37:0#.113Z [INFO] svc-# - ',
  '2025-06-2# 1#:37:0# ERROR worker[##]: ',
  'Jun 1# 15:16:0# combo sshd(pam_unix)[####]: ',
  '[1#:2#:3#] ',
  'I010# 1#:10:10.123456 7 main.go:#] ',
  '10.0.0.# - - [20/Jun/2025:10:37:0# +0000] "GET /a/# HTTP/1.1" #00 ## ',
  'time="2025-06-2#" level=warn msg="request # done" took=#',
  '<1#>',
  'note # ',
]
const COUNTS = ['# errors', 'errors: #', 'failed=#', '1# failures', 'FooError', 'panic:', 'warning', 'request', 'done']
const DATES = [
  'Jun 1# 15:16:0#',
  'Jun a# 15:16:0#',
  'a#Jun 1# 15:16:0#',
  'Mon Jun 1# 15:16:0# 200#',
  'Jun 1## 15:16:0#',
]
const PATHS = ['/a/b#.', '/a/b#', 'src:/10.0.0.#:8#', 'src#:/x']
const NAMES = [
  'node-#',
  'x#y-z#',
  '#-#',
  '_#',
  'dead#beef',
  'dead',
  '#.# KB',
  '##B,',
  'user bob#',
  'user bob',
  'for user',
]
const SIGNS = ['name=#', 'k:v:#', '(h#.x)', '(h.x)', '()', '"#"', "'a'", '[#]', '<*>', '{"a":#}']
const CODES = ['\u001b[3#mred\u001b[0m', '\u001b[3#', 'x\b#', '\ud83d', 'é#', '日本#', '\t#']
const WORDS = [COUNTS, DATES, PATHS, NAMES, SIGNS, CODES].flat()
const someOf = (forms: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...forms)
const message = fc.array(someOf(WORDS), { minLength: 1, maxLength: 5 }).map((words) => words.join(' '))

/** Few forms and many lines of each, so that most lines are like one before. */
const log = fc
  .array(
    fc.tuple(someOf(HEADERS), message).map((parts) => parts.join('')),
    { minLength: 1, maxLength: 6 },
  )
  .chain((forms) => fc.array(someOf(forms).chain(filled), { minLength: 40, maxLength: 80 }))

describe('lines that are alike', () => {
  it('have the shape that each has by itself', () => {
    property(
      fc
        .array(message, { minLength: 1, maxLength: 3 })
        .chain((forms) => fc.array(someOf(forms).chain(filled), { minLength: 2, maxLength: 12 })),
      (messages) => {
        const shapeOf = shapeReader()
        for (const each of messages) expect(shapeOf(each), each).toEqual(shapeReader()(each))
      },
    )
  })

  it.each([
    ['a date and what only looks like one', ['at Jun 14 15:16:01 x', 'at Jun 1a4 15:16:01 x']],
    ['a path with a full stop behind it', ['open /a/b1.', 'open /a/b1', 'open /a/b22.']],
    ['a word that holds a digit and one that does not', ['node x1 up', 'node xy up', 'node x1z up']],
    ['a word that goes on', ['got a1', 'got a12', 'got a12-b', 'got a']],
    ['signs behind a number', ['took 5 ms', 'took 5, ms', 'took 55; ms']],
  ])('are told apart: %s', (_, messages) => {
    const shapeOf = shapeReader()
    for (const each of [...messages, ...messages]) expect(shapeOf(each), each).toEqual(shapeReader()(each))
  })

  it('count in a view as if each were read by itself', () => {
    let logs = 0
    property(
      log,
      (lines) => {
        const shown = show(lines.join('\n'), options(700))
        if (shown.kind !== 'log' || !shown.truncated) return
        logs++
        expect(shown.body).toContain(firstFact(lines))
      },
      300,
    )
    expect(logs).toBeGreaterThan(100)
  })

  it('count by their numbers where they are JSON behind a terminal code', () => {
    const lines = Array.from({ length: 90 }, (_, i) => `\u001b[0m{"level":"info","msg":"done","took":${10 + i}}`)
    expect(show(lines.join('\n'), options(700)).body).toMatch(/Numbers in 90 JSON lines:\n {2}took: .*min 10,.*max 99/)
  })

  it('are mined as if each were read by itself', () => {
    property(
      fc.array(message.chain(filled), { minLength: 1, maxLength: 30 }),
      (messages) => {
        const [alike, alone] = [createDrain(), createDrain({ shapeOf: (each) => shapeReader()(each) })]
        for (const [i, each] of [...messages, ...messages].entries())
          for (const drain of [alike, alone]) drain.add(each, i)
        expect(alike.groups()).toEqual(alone.groups())
      },
      200,
    )
  })

  it('are few among lines of prose, and those after them are still found', () => {
    const prose = Array.from(
      { length: 1_500 },
      (_, i) => `word ${String.fromCharCode(97 + (i % 26), 97 + (i >> 7), 97 + ((i >> 3) % 26))} said`,
    )
    const shapeOf = shapeReader()
    for (const each of [...prose, ...prose]) expect(shapeOf(each)).toEqual(shapeReader()(each))
  })
})

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'unknown'] as const

/** The first line of the summary of a log, from every line read by itself. */
function firstFact(lines: readonly string[]): string {
  const read = lines.map((line) => parseLogLine(sanitise(line)))
  const levels = LEVELS.map((level) => ({ level, count: read.filter((line) => line.level === level).length }))
  const times = read.flatMap(({ time }) => (time === undefined ? [] : [time]))
  const range = times.length === 0 ? '' : `; time ${times[0]} to ${times.at(-1)}`
  const counts = levels.filter(({ count }) => count > 0).map(({ level, count }) => `${level} ${grouped(count)}`)
  return `${grouped(lines.length)} lines; levels: ${counts.join(', ')}${range}`
}
