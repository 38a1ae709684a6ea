import { describe, expect, it } from 'vitest'
import { testEngine } from '../../support/engine.ts'
import { plainBody, type PlainTurn } from '../../pains/support/plain-bodies.ts'

/** Work that needs no place in a record, but fills the window. */
const filler = (count: number): PlainTurn['steps'] =>
  Array.from({ length: count }, (_, n) => ({
    calls: [{ name: 'look', args: { page: `p${n}` }, result: `page ${n} `.repeat(700) }],
  }))
const call = (name: string, args: Record<string, unknown>, result: string): PlainTurn['steps'][number] => ({
  calls: [{ name, args, result }],
})

async function record(turns: readonly PlainTurn[], window = 16_000): Promise<string> {
  const text = JSON.stringify(
    plainBody('anthropic-messages', [{ user: 'Do the work.', steps: [], answer: 'Yes.' }, ...turns]),
  )
  const { edits } = await testEngine()
    .session()
    .prepare({ format: 'anthropic-messages', body: text, targets: [{ model: 'm', window }] })
  const [inserted] = edits.flatMap((edit) => (edit.op === 'insert' ? [edit.text] : []))
  return inserted!
}
const after = (steps: PlainTurn['steps'], ...turns: readonly PlainTurn[]): Promise<string> =>
  record([{ user: 'Begin.', steps, answer: 'Done.' }, ...turns, { user: 'Now the rest.', steps: filler(14) }])
const before = (text: string): string => text.split('\nExcerpts,')[0]!

describe('an edit stands in a record with its change, before any excerpt,', () => {
  it.each([
    [
      'Claude Code',
      'Edit',
      { file_path: 'src/a.ts', old_string: 'const tide = "low"', new_string: 'const tide = "high"' },
    ],
    ['pi', 'edit', { path: 'src/a.ts', oldText: 'const tide = "low"', newText: 'const tide = "high"' }],
    [
      'OpenHands',
      'str_replace_editor',
      { command: 'str_replace', path: 'src/a.ts', old_str: 'const tide = "low"', new_str: 'const tide = "high"' },
    ],
    ['OpenCode', 'edit', { filePath: 'src/a.ts', oldString: 'const tide = "low"', newString: 'const tide = "high"' }],
    [
      'several at once',
      'MultiEdit',
      { file_path: 'src/a.ts', edits: [{ old_string: 'const tide = "low"', new_string: 'const tide = "high"' }] },
    ],
    [
      'Codex',
      'apply_patch',
      {
        input:
          '*** Begin Patch\n*** Update File: src/a.ts\n@@\n const sea = 1\n-const tide = "low"\n+const tide = "high"\n*** End Patch',
      },
    ],
    [
      'Cline',
      'replace_in_file',
      { path: 'src/a.ts', diff: '------- SEARCH\nconst tide = "low"\n=======\nconst tide = "high"\n+++++++ REPLACE' },
    ],
    [
      'code',
      'run_ipython',
      {
        code: 'edit_file_by_replace(\n\'src/a.ts\',\nto_replace="""const tide = "low" """,\nnew_content="""const tide = "high" """)',
      },
    ],
  ])('as %s writes it', async (_, tool, args) => {
    const text = before(await after([call(tool, args, 'ok')]))
    expect(text).toContain('“const tide = "low"” → “const tide = "high"”')
    expect(text).toMatch(/src\/a\.ts changed 1×.*no command ran since/)
  })

  it.each([
    ['a text that is not there', 'ERROR:\nNo replacement was performed, old_str did not appear verbatim in src/a.ts.'],
    ['a syntax error', '[Your proposed edit has introduced new syntax error(s). Please understand the errors.]'],
    ['a patch that does not fit', 'apply_patch verification failed: Failed to find expected lines in src/a.ts'],
  ])('and not as made after %s', async (_, result) => {
    const text = await after([
      call('edit', { path: 'src/a.ts', old_string: 'one line', new_string: 'two lines' }, result),
    ])
    expect(text).toMatch(/» edit src\/a\.ts.* → not made: /)
    expect(text).not.toContain('changed 1×')
  })

  it('and as made where the changed text speaks of an error', async () => {
    const result =
      'The file src/a.ts has been updated. Here is a snippet:\n1\tthrow new Error("could not find the berth")'
    const text = await after([
      call('edit', { path: 'src/a.ts', old_string: 'one line', new_string: 'two lines' }, result),
    ])
    expect(text).toContain('src/a.ts changed 1×')
    expect(text).not.toContain('not made')
  })

  it('with what was run after it, and once where it was made again and again', async () => {
    const same = call('edit', { path: 'src/a.ts', old_string: 'tide = 1', new_string: 'tide = 2' }, 'ok')
    const text = await after([same, same, same, call('bash', { command: 'make' }, 'built\nexit code: 0')])
    expect(text).toMatch(/src\/a\.ts changed 3×, last: “tide = 1” → “tide = 2”$/m)
    expect(text).toMatch(/» edit src\/a\.ts: .* ×3$/m)
  })

  it('marked where the user had it undone, and where git put the file back', async () => {
    const edit = (path: string) => call('edit', { path, old_string: 'one', new_string: 'two' }, 'ok')
    const text = await after([edit('src/a.ts')], {
      user: 'Please revert that.',
      steps: [edit('src/b.ts'), call('bash', { command: 'git checkout -- src/b.ts' }, 'ok')],
      answer: 'So it is.',
    })
    expect(text).toMatch(/» edit src\/a\.ts.*\(undone by the user, message 2\)/)
    expect(text).toMatch(/» edit src\/b\.ts.*\(undone with git\)/)
  })
})

describe('a record says', () => {
  it('what the user refused, and why', async () => {
    const text = await after([
      call(
        'bash',
        { command: 'rm -rf build' },
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nkeep the build folder",
      ),
    ])
    expect(text).toContain('Refused by the user:\nbash rm -rf build — the user: keep the build folder')
  })

  it('an argument that all calls have once', async () => {
    const text = await after(
      Array.from({ length: 8 }, (_, n) =>
        call('exec', { cmd: `make part${n}`, workdir: '/srv/app', yield_time_ms: 10_000 }, 'ok'),
      ),
    )
    expect(text).toContain('» exec make part3\n')
    expect(text.split('yield_time_ms=10000').length).toBe(2)
  })

  it('no failure that a later success ended, whatever filter shows its output and whoever else states a code', async () => {
    const run = (command: string, result: string) => call('bash', { command }, result)
    const text = await after([
      run('make', 'exit code: 0'),
      run('npm test 2>&1 | head -40', 'src/a.test.ts\nFAIL\n[test] ERROR task failed'),
      run('cargo build', 'error: aborting due to 2 previous errors'),
      run('cd src && npx tsc', 'a.ts(1,1): error TS2304: Cannot find name'),
      run('cd src\nls', 'a.ts'),
      run('npm test 2>&1 | tail -5', 'all 12 tests passed'),
      run('cat build.log', 'TypeError: not ours'),
      run('npm run e2e', '2 failed\nexit code: 1'),
      run('npm run e2e', 'Process running with session ID 58265'),
    ])
    const failed = /Commands that failed last:\n([^]*?)\n\n/.exec(text)![1]
    expect(failed).toBe(
      '$ cargo build (failed): error: aborting due to 2 previous errors\n$ cd src && npx tsc (failed): a.ts(1,1): error TS2304: Cannot find name',
    )
  })

  it('what was started and has not ended, with its id and how to read it', async () => {
    const text = await after([
      call('exec_command', { cmd: 'npm run watch' }, 'Process running with session ID 4711\nOutput:\n'),
      call('write_stdin', { session_id: 4711, chars: '' }, 'Process running with session ID 4711\nOutput:\nready'),
      call(
        'Bash',
        { command: 'npm run dev', run_in_background: true },
        'Command running in background with ID: b7f3a2. Output is being written to: /tmp/tasks/b7f3a2.output',
      ),
      call('exec_command', { cmd: 'npm test' }, 'Process running with session ID 4712\nOutput:\n'),
      call('write_stdin', { session_id: 4712, chars: '' }, 'Process exited with code 0\nOutput:\nok'),
    ])
    expect(text).toContain('Started and not ended:\n4711: exec_command npm run watch (read with write_stdin)\nb7f3a2: ')
    expect(text).toContain('(output in /tmp/tasks/b7f3a2.output)')
    expect(text).not.toMatch(/^4712: /m)
  })

  it('what clients attach by its name and not as what the user said', async () => {
    const rule = 'HARD RULE, NO EXCEPTIONS: do NOT explore the code base.'
    const text = await after(
      [],
      {
        user: `Base directory for this skill: /home/me/.skills/plan-first\n\n# Plan first\n\n${rule}\n${'More of the skill. '.repeat(60)}`,
        steps: [],
        answer: 'Planned.',
      },
      {
        user: '<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the parser</command-args>',
        steps: [],
        answer: 'Reviewed.',
      },
      {
        user: '<system-reminder>Your list is empty.</system-reminder>\nGo on with the lexer, please.',
        steps: [],
        answer: 'Yes.',
      },
    )
    const said = text.slice(text.indexOf('What the user said'), text.indexOf('Attached by the client'))
    expect(said).not.toContain('HARD RULE')
    expect(said).toContain('/review the parser')
    expect(said).toContain('Go on with the lexer, please.')
    expect(said).not.toContain('Your list is empty.')
    expect(text).toMatch(/Attached by the client, not said by the user:\n(?:.*\n)*?skill plan-first/)
  })

  it('rules of instruction files word for word', async () => {
    const text = await after([], {
      user: '# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\nThe house style.\nNever touch the migrations folder.\n</INSTRUCTIONS>',
      steps: [],
      answer: 'Read.',
    })
    expect(text).toContain('Rules in longer texts, as they stand there:\nNever touch the migrations folder.')
  })

  it.each([
    [
      'an amount',
      'Book a berth; the cap is $800.',
      'Make it $500.',
      '“$800” no longer holds; message 3: “Make it $500.”',
    ],
    [
      'a name',
      'Call the service harbour-api.',
      'Actually, rename harbour-api to quay-api.',
      '“harbour-api” no longer holds; message 3',
    ],
    [
      'a duration',
      'Time out after 30 seconds.',
      'Lower that to 10 seconds, please.',
      '“30 seconds” no longer holds; message 3',
    ],
  ])('which of two values holds: %s', async (_, first, later, note) => {
    const text = await after(
      [],
      { user: first, steps: [], answer: 'Yes.' },
      { user: later, steps: [], answer: 'Done.' },
    )
    expect(text).toContain(first)
    expect(text).toContain(note)
  })

  it('nothing of the kind where it is open which value is meant', async () => {
    const text = await after(
      [],
      { user: 'Wait 30 seconds, then 60 seconds.', steps: [], answer: 'Yes.' },
      { user: 'Make it 10 seconds.', steps: [], answer: 'Done.' },
    )
    expect(text).not.toContain('no longer holds')
  })
})
