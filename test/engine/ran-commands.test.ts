import { describe, expect, it } from 'vitest'
import type { Item } from '../../src/core/item.ts'
import { ranCommands, factsOf } from '../../src/engine/epoch/record/facts.ts'

let n = 0
function ran(args: object | string, result: string, isError?: boolean): Item[] {
  const callId = `c${n++}`
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  return [
    { id: `${callId}.call`, kind: 'call', role: 'assistant', text, message: n, callId, toolName: 'bash' },
    {
      id: `${callId}.result`,
      kind: 'result',
      role: 'tool',
      text: result,
      message: n,
      callId,
      toolName: 'bash',
      ...(isError !== undefined && { isError }),
    },
  ]
}

describe('commands with their exit codes', () => {
  it.each([
    ['a line of prose', { command: 'npm test' }, 'FAIL a.test.ts\nError: expected 1\nExit code 1', 'npm test', 1],
    ['Codex', { cmd: ['bash', '-lc', 'ls'] }, 'Process exited with code 0\nOutput:\nsrc', 'bash -lc ls', 0],
    ['JSON', { command: 'make' }, '{"output":"","metadata":{"exit_code":2}}', 'make', 2],
    ['an error flag alone', { command: 'cat x' }, 'No such file', 'cat x', 1],
  ])('are read from %s', (name, args, result, command, exit) => {
    const [found] = ranCommands(ran(args, result, name === 'an error flag alone' ? true : undefined))
    expect(found).toMatchObject({ command, exit })
  })

  it('are left out where no result says how they ended; calls that are no command are named by their line', () => {
    expect(
      ranCommands([
        ...ran({ command: 'ls' }, 'src test'),
        ...ran('not json', 'exit code 1'),
        ...ran({ x: 1 }, '#!/bin/bash\nexit 1'),
      ]),
    ).toMatchObject([{ command: 'bash not json', exit: 1 }])
  })

  it('stand once, by their last run, with the line that says what went wrong', () => {
    const items = [
      ...ran({ command: 'npm test' }, 'error TS2322: wrong\nfurther on\nexit code: 2'),
      ...ran({ command: 'npm run build' }, 'done\nexit code: 0'),
      ...ran({ command: 'npm test' }, 'AssertionError: 3 failed\nexit code: 1'),
    ]
    expect(ranCommands(items)).toMatchObject([
      { command: 'npm run build', exit: 0 },
      { command: 'npm test', exit: 1, error: 'AssertionError: 3 failed' },
    ])
    expect(factsOf(items).map(({ heading, text }) => `${heading}: ${text}`)).toEqual([
      'Commands that failed last: $ npm test (exit 1): AssertionError: 3 failed',
      'Commands that passed last: $ npm run build',
    ])
  })

  it('say what was wrong before they passed', () => {
    const items = [
      ...ran({ command: 'npm test' }, 'AssertionError: 3 failed\nexit code: 1'),
      ...ran({ command: 'npm test' }, 'ok\nexit code: 0'),
    ]
    expect(factsOf(items).map(({ text }) => text)).toEqual(['$ npm test (failed before: AssertionError: 3 failed)'])
  })

  it('are passed again where a client states failures only, and where less of them was run', () => {
    const items = [
      ...ran({ command: 'npm test -- login' }, 'Exit code 1\nAssertionError: 3 failed', true),
      ...ran({ command: 'npm run lint' }, 'Exit code 2\nerror: no-unused-vars', true),
      ...ran({ command: 'npm test' }, 'all 40 passed'),
    ]
    expect(factsOf(items).map(({ heading, text }) => `${heading}: ${text}`)).toEqual([
      'Commands that failed last: $ npm run lint (exit 2): error: no-unused-vars',
      'Commands that passed last: $ npm test (failed before: AssertionError: 3 failed)',
    ])
  })

  it.each([
    ['a read of a file that is not there', { file_path: 'src/none.ts' }, 'File does not exist.', true],
    ['a refusal by the user', { command: 'rm -rf build' }, "The user doesn't want to proceed with this.", true],
    ['a search without a match', { command: 'cat a.ts | grep -n missing' }, 'Exit code 1', true],
    ['a command in the background', { command: 'npm start' }, 'Command running in background with ID: b1', false],
  ])('do not count %s as failed', (_, args, result, isError) => {
    const facts = factsOf(ran(args, result, isError))
    expect(facts.filter(({ heading }) => heading.startsWith('Commands'))).toEqual([])
  })

  it('are told with the line that names the error', () => {
    const items = ran({ command: 'npm test' }, 'Exit code 1\nAssertionError: timeout after 30s', true)
    expect(factsOf(items).map(({ text }) => text)).toEqual(['$ npm test (exit 1): AssertionError: timeout after 30s'])
  })

  it('that failed long ago are told with their age', () => {
    const since = Array.from({ length: 40 }, (_, n) => ran({ file_path: `src/${n}.ts` }, 'text')).flat()
    const items = [...ran({ command: 'npm test' }, 'Exit code 1', true), ...since]
    expect(factsOf(items).map(({ text }) => text)).toContain('$ npm test (exit 1, 40 calls ago)')
  })

  it('that passed behind the part that a record stands for are not called failed', () => {
    const folded = [
      ...ran({ command: 'npm test' }, 'Exit code 1', true),
      ...ran({ command: 'make' }, 'Exit code 2', true),
    ]
    const history = [...folded, ...ran({ command: 'npm test' }, 'ok')]
    expect(factsOf(folded, history).map(({ text }) => text)).toEqual(['$ make (exit 2)'])
  })
})
