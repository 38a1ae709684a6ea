import { mkdirSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { displayWidth } from '../../src/cli/kit/figures.ts'
import { ESCAPE, plimsoll, temporaryHome } from './support/binary.ts'
import { CTRL_C, CTRL_D, ENTER, openTerminal, type Terminal } from './support/terminal.ts'

let home: string
let remove: () => Promise<void>
const open: Terminal[] = []

beforeEach(async () => {
  ;({ path: home, remove } = await temporaryHome())
})
afterEach(async () => {
  for (const terminal of open.splice(0)) {
    terminal.kill('SIGKILL')
    await terminal.ended
  }
  await remove()
})

function chat(...args: string[]): Terminal {
  const terminal = openTerminal(home, ['chat', '--provider', 'demo', ...args])
  open.push(terminal)
  return terminal
}

const metrics = /[\d,]+ \/ [\d,]+ tokens \([\d.]+ %\)/

describe('chat in a terminal', () => {
  it('answers, shows the metrics line after the turn, and leaves with Ctrl-D', async () => {
    const terminal = chat()
    await terminal.waitFor('> ')
    terminal.send(`echo the quick brown fox${ENTER}`)
    await terminal.waitFor('the quick brown fox')
    await terminal.waitFor(/last [\d,]+ in, [\d,]+ out ·\savg [\d,]+ ·\scompacts at [\d,]+ ·\s[^$]*\$[\d.]+/)
    await terminal.waitFor('> ')
    terminal.send(CTRL_D)
    await terminal.waitFor('plimsoll chat --continue continues it')
    expect(await terminal.ended).toMatchObject({ code: 0 })
  })

  it('Ctrl-C in the middle of a stream stops the turn and keeps the session', async () => {
    const terminal = chat('--session', 'stopped')
    await terminal.waitFor('> ')
    terminal.send(`count 900${ENTER}`)
    await terminal.waitFor('1 2 3 4')
    terminal.send(CTRL_C)
    await terminal.waitFor('Stopped; what had arrived is kept.')
    await terminal.waitFor(metrics)
    expect(terminal.text()).not.toContain('899 900')
    await terminal.waitFor('> ')
    terminal.send(`echo still here${ENTER}`)
    await terminal.waitFor('still here')
    await terminal.waitFor(metrics)
    terminal.send(`/session${ENTER}`)
    await terminal.waitFor('stopped: 4 entries')
  })

  it('goes on after kill -9 in the middle of a stream, with what was said before', async () => {
    const first = chat()
    await first.waitFor('> ')
    first.send(`echo remember the number 4711${ENTER}`)
    await first.waitFor(metrics)
    await first.waitFor('> ')
    first.send(`count 900${ENTER}`)
    await first.waitFor('1 2 3 4')
    first.kill('SIGKILL')
    await first.ended
    const second = chat('--continue')
    await second.waitFor('Continuing after 3 entries.')
    await second.waitFor('> ')
    second.send(`echo and on${ENTER}`)
    await second.waitFor(metrics)
    await second.waitFor('> ')
    second.send(`/recall 4711${ENTER}`)
    await second.waitFor('remember the number 4711')
  })

  it('a journal whose last line was torn by a crash opens without it', async () => {
    expect(
      await plimsoll(home, ['chat', '--provider', 'demo', '--session', 's', '--prompt', 'echo one']),
    ).toMatchObject({ code: 0 })
    const folder = join(home, 'plimsoll/chats')
    const file = join(folder, readdirSync(folder)[0]!)
    writeFileSync(file, `${readFileSync(file, 'utf8')}{"type":"user","te`)
    const { code, out } = await plimsoll(home, [
      'chat',
      '--provider',
      'demo',
      '--session',
      's',
      '--prompt',
      'echo two',
      '--json',
    ])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ session: 's', text: 'two' })
    expect(
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { type?: string }).type),
    ).toEqual([undefined, 'user', 'assistant', 'user', 'assistant'])
  })

  it('asks before it runs a program, and no means no', async () => {
    const terminal = chat()
    await terminal.waitFor('> ')
    terminal.send(`run touch made-by-chat${ENTER}`)
    await terminal.waitFor('Allow run_shell touch made-by-chat? [y]es, [n]o, [a]lways in this session:')
    terminal.send(`n${ENTER}`)
    await terminal.waitFor('The user did not allow this call')
    await terminal.waitFor(metrics)
    expect(readdirSync(home)).not.toContain('made-by-chat')
    await terminal.waitFor('> ')
    terminal.send(`run touch made-by-chat${ENTER}`)
    await terminal.waitFor('[a]lways in this session:')
    terminal.send(`a${ENTER}`)
    await terminal.waitFor('[exit code 0]')
    await terminal.waitFor(metrics)
    expect(readdirSync(home)).toContain('made-by-chat')
    await terminal.waitFor('> ')
    // Allowed for the session: no question any more.
    terminal.send(`run echo second${ENTER}`)
    await terminal.waitFor('begins with: second')
  })

  it('Ctrl-C stops a running program together with its children', async () => {
    const terminal = chat('--allow', 'run_shell')
    await terminal.waitFor('> ')
    terminal.send(`run sleep 600 & echo started > flag; wait${ENTER}`)
    await terminal.waitFor('⏵ run_shell')
    await appears(home, 'flag')
    terminal.send(CTRL_C)
    // The turn ends when nobody holds the program's output any more, `sleep` included.
    await terminal.waitFor('Stopped.')
    await terminal.waitFor('> ')
  })

  it('every command answers', async () => {
    const terminal = chat('--session', 'commands', '--allow', 'all')
    await terminal.waitFor('> ')
    writeFileSync(join(home, 'notes.txt'), 'alpha\nbeta\n')
    terminal.send(`read notes.txt${ENTER}`)
    await terminal.waitFor('begins with: alpha')
    await terminal.waitFor(metrics)
    const answers: readonly (readonly [string, RegExp | string])[] = [
      ['/tokens', /used +[\d,]+ of [\d,]+ tokens/],
      ['/context', 'read_file results'],
      ['/compaction', 'policy plimsoll: from 97 %'],
      ['/pin', /1 +user +read notes\.txt/],
      ['/pin 1', 'Item 1 is pinned.'],
      ['/pin 1 off', 'Item 1 is no longer pinned.'],
      ['/recall beta', /alpha beta|beta/],
      ['/cost', /\$[\d.]+ for 2 calls/],
      ['/budget 2.50', /of \$2\.50 spent/],
      ['/budget', 'left'],
      ['/model', 'claude-sonnet-4-5 at http://127.0.0.1'],
      ['/policy', 'plimsoll (known:'],
      ['/undo', 'No compaction is in force.'],
      ['/session', 'commands: 4 entries, 2 calls'],
      ['/sessions', 'read notes.txt'],
      ['/help', 'Ctrl-C stops a turn and keeps the session.'],
      ['/nonsense', 'There is no command /nonsense'],
      ['/policy nonsense', 'There is no policy "nonsense"'],
      ['/new other', 'New session other.'],
      ['/exit', 'continues it'],
    ]
    for (const [command, answer] of answers.slice(0, -1)) {
      await terminal.waitFor('> ')
      terminal.send(command + ENTER)
      await terminal.waitFor(answer)
    }
    await terminal.waitFor('> ')
    terminal.send(`/exit${ENTER}`)
    expect(await terminal.ended).toMatchObject({ code: 0 })
  })

  it('compacts by itself when the window is full, says so, and takes it back', async () => {
    const text = Array.from(
      { length: 400 },
      (_, line) => `line ${line}: the service svc-${line} answered in ${line} ms`,
    ).join('\n')
    for (const name of ['a', 'b', 'c', 'd']) writeFileSync(join(home, `${name}.txt`), `${name}\n${text}`)
    const terminal = chat('--window', '20000')
    for (const name of ['a', 'b', 'c', 'd']) {
      await terminal.waitFor('> ')
      terminal.send(`read ${name}.txt${ENTER}`)
      await terminal.waitFor(metrics)
    }
    expect(terminal.text()).toMatch(/▼ (compacted: [\d,]+ → [\d,]+ tokens|[\d.]+kB shown as)/)
    await terminal.waitFor('> ')
    terminal.send(`/compact keep the numbers${ENTER}`)
    await terminal.waitFor(/[\d,]+ → [\d,]+ tokens \(\d+ % less\); \/undo reverts it\./)
    await terminal.waitFor('> ')
    terminal.send(`/undo${ENTER}`)
    await terminal.waitFor(/ep_[0-9a-f]+ is undone/)
    await terminal.waitFor('> ')
    terminal.send(`/compaction${ENTER}`)
    await terminal.waitFor(/ep_[0-9a-f]+ +[\d,]+ → [\d,]+ tokens, \d+ items covered/)
  })

  it('with --approve shows record and receipt before a compaction, and a no stops the turn with nothing changed', async () => {
    const text = Array.from({ length: 150 }, (_, line) => `line ${line}: the service answered in ${line} ms`).join('\n')
    writeFileSync(join(home, 'long.txt'), text)
    const terminal = chat('--approve', '--window', '12000', '--session', 'asked')
    await terminal.waitFor('> ')
    for (let turn = 0; turn < 10 && !terminal.text().includes('Compact like this?'); turn++) {
      terminal.send(`read long.txt${ENTER}`)
      await terminal.waitFor(/Compact like this\?|> $/)
    }
    expect(terminal.text()).toContain('[Condensed record of')
    expect(terminal.text()).toMatch(/what people wrote, by lines +\d+/)
    terminal.send(`n${ENTER}`)
    await terminal.waitFor('Stopped before the compaction; nothing was sent.')
    await terminal.waitFor('> ')
    terminal.send(`/compaction${ENTER}`)
    await terminal.waitFor('Nothing was removed yet.')
    await terminal.waitFor('> ')
    terminal.send(`/compact --preview${ENTER}`)
    await terminal.waitFor('Nothing was changed.')
    terminal.send(`and on${ENTER}`)
    await terminal.waitFor('Compact like this? [y]es, [n]o:')
    terminal.send(`y${ENTER}`)
    await terminal.waitFor(/▼ compacted: [\d,]+ → [\d,]+ tokens/)
    terminal.send(CTRL_D)
    await terminal.ended
    const preview = await plimsoll(home, ['compact', 'asked', '--preview', '--window', '12000', '--json'])
    expect(JSON.parse(preview.out)).toMatchObject({ status: 'preview', receipt: { demands: { missing: 0 } } })
    const shown = await plimsoll(home, ['receipt', 'asked', '--markdown'])
    expect(shown.out).toContain('| files | 1 | 0 | 0 | 0 |')
  })

  it('hands a session on as one that Claude Code, Codex and pi resume', async () => {
    await plimsoll(home, ['chat', '--provider', 'demo', '--session', 's', '--prompt', 'echo never touch migrations'])
    for (const [client, resumes] of [
      ['claude', /^claude --resume [0-9a-f-]{36}$/],
      ['codex', /^codex resume [0-9a-f-]{36}$/],
      ['pi', /^pi --session .*\.jsonl$/],
    ] as const) {
      const { out } = await plimsoll(home, ['handoff', 's', '--to', client, '--json'])
      const { file, command } = JSON.parse(out) as { file: string; command: string }
      expect(command).toMatch(resumes)
      expect(file.startsWith(home)).toBe(true)
      const lines = readFileSync(file, 'utf8').trim().split('\n')
      expect(lines.map((line) => JSON.parse(line) as object).length).toBeGreaterThan(1)
      expect(lines.join('\n')).toContain('never touch migrations')
    }
    const { out } = await plimsoll(home, ['handoff', 's', '--to', 'gemini'])
    expect(out).toMatch(/^You take over a conversation/)
  })

  it('lets the model of the chat write the summary where a settings file says so', async () => {
    const text = Array.from({ length: 150 }, (_, line) => `line ${line}: the service answered in ${line} ms`).join('\n')
    writeFileSync(join(home, 'long.txt'), text)
    writeFileSync(
      join(home, 'mine.yaml'),
      'policies: { mine: { override: { summaries: { via: in-band } } } }\npolicy: mine\n',
    )
    const input = [...Array.from({ length: 10 }, () => 'read long.txt'), '/policy', '/cost', '/exit'].join('\n')
    const { code, out, err } = await plimsoll(
      home,
      ['chat', '--provider', 'demo', '--session', 'm', '--config', 'mine.yaml', '--window', '12000'],
      { input: `${input}\n` },
    )
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/▼ compacted: [\d,]+ → [\d,]+ tokens/)
    expect(out).toMatch(/mine \(known: plimsoll, .*, mine\)/)
    expect(out).toMatch(/\$[\d.]+ of it for summaries/)
  })

  it('takes a paste of several lines for one message', async () => {
    const terminal = chat('--session', 'paste')
    await terminal.waitFor('> ')
    terminal.send(`echo one${ENTER}two${ENTER}`)
    await terminal.waitFor(metrics)
    await terminal.waitFor('> ')
    terminal.send(`/session${ENTER}`)
    await terminal.waitFor('paste: 2 entries')
  })

  it('is usable in forty columns with wide characters', async () => {
    const terminal = openTerminal(home, ['chat', '--provider', 'demo'], { columns: 40 })
    open.push(terminal)
    await terminal.waitFor('> ')
    terminal.send(`echo 日本語 한국어 👩‍👩‍👧 é${ENTER}`)
    await terminal.waitFor('日本語 한국어')
    await terminal.waitFor(/tokens/)
    await terminal.waitFor('> ')
    terminal.send(`/cost${ENTER}`)
    await terminal.waitFor('for 1 calls')
    await terminal.waitFor('> ')
    terminal.send(`/context${ENTER}`)
    await terminal.waitFor('instructions and tools')
    for (const command of ['/tokens', '/sessions', '/compaction', '/help']) {
      await terminal.waitFor('> ')
      terminal.send(command + ENTER)
    }
    await terminal.waitFor('next.')
    // Nothing of ours is left to the terminal to break; what the model says is not ours.
    const lines = terminal
      .text()
      .split('\n')
      .map((line) => line.split('\r').at(-1)!)
    expect(lines.filter((line) => displayWidth(line) > 40 && !line.includes('日本語'))).toEqual([])
  })
})

describe('chat in a pipe', () => {
  it('answers each line without colours, spinner or questions', async () => {
    const { code, out, err } = await plimsoll(home, ['chat', '--provider', 'demo'], {
      input: 'echo first\nrun touch x\necho last\n',
    })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('first')
    expect(out).toContain('The user did not allow this call')
    expect(out).toContain('last')
    expect(out).not.toContain(ESCAPE)
    expect(readdirSync(home)).not.toContain('x')
  })

  it('reads AGENTS.md of the user, the project and the folder, in this order', async () => {
    const project = join(home, 'project')
    const folder = join(project, 'packages/one')
    mkdirSync(join(home, 'plimsoll'), { recursive: true })
    mkdirSync(join(project, '.git'), { recursive: true })
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(home, 'plimsoll/AGENTS.md'), 'user rule')
    writeFileSync(join(project, 'AGENTS.md'), 'project rule')
    writeFileSync(join(folder, 'AGENTS.md'), 'folder rule')
    const { out } = await plimsoll(home, ['chat', '--provider', 'demo'], { cwd: folder, input: '/exit\n' })
    const places = out.split('\n').filter((line) => line.startsWith('instructions from'))
    expect(places.map((line) => line.slice(line.indexOf(home) + home.length))).toEqual([
      '/plimsoll/AGENTS.md',
      '/project/AGENTS.md',
      '/project/packages/one/AGENTS.md',
    ])
  })

  it('reads AGENTS.md of the repository from inside one of its packages', async () => {
    const project = join(home, 'mono')
    const folder = join(project, 'packages/x')
    mkdirSync(join(project, '.git'), { recursive: true })
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{}')
    writeFileSync(join(project, 'AGENTS.md'), 'repository rule')
    writeFileSync(join(folder, 'AGENTS.md'), 'package rule')
    const places = async (...args: string[]): Promise<string[]> => {
      const { out } = await plimsoll(home, ['chat', '--provider', 'demo', ...args], { cwd: folder, input: '/exit\n' })
      const lines = out.split('\n').filter((line) => line.startsWith('instructions from'))
      return lines.map((line) => line.slice(line.indexOf(home) + home.length))
    }
    expect(await places()).toEqual(['/mono/AGENTS.md', '/mono/packages/x/AGENTS.md'])
    mkdirSync(join(home, '.adk-code'))
    writeFileSync(join(home, '.adk-code/AGENTS.md'), 'user rule')
    // As its document says: a global file of its own, and the nearest marker.
    expect(await places('--policy', 'adk-code')).toEqual(['/.adk-code/AGENTS.md', '/mono/packages/x/AGENTS.md'])
    const untrusted = join(home, 'untrusted.yaml')
    writeFileSync(untrusted, `instructions: { trustProject: false, globalDir: ${join(home, '.adk-code')} }\n`)
    expect(await places('--config', untrusted)).toEqual(['/.adk-code/AGENTS.md'])
  })

  it('says what to do without a key, and with a flag that makes no sense', async () => {
    const noKey = await plimsoll(home, ['chat', '--provider', 'openai', '-p', 'hello'])
    expect(noKey).toMatchObject({ code: 2, out: '' })
    expect(noKey.err).toContain('Set OPENAI_API_KEY')
    const noPrompt = await plimsoll(home, ['chat', '--json'])
    expect(noPrompt).toMatchObject({ code: 2 })
    expect(noPrompt.err).toContain('--json needs --prompt')
  })

  it('a budget that was set in a session goes on with it', async () => {
    const lines = (...args: string[]) => ['chat', '--provider', 'demo', ...args]
    const first = await plimsoll(home, lines('--session', 'b'), { input: 'echo one\n/budget 2.50\n/exit\n' })
    expect(first.out).toContain('of $2.50 spent')
    for (const args of [['--continue'], ['--session', 'b']]) {
      const { out } = await plimsoll(home, lines(...args), { input: '/budget\n/exit\n' })
      expect(out).toContain('of $2.50 spent')
      expect(out).toContain('Continuing after 2 entries.')
    }
    // A flag says it anew, and that stays too.
    await plimsoll(home, lines('--session', 'b', '--budget', '0.000001', '-p', 'echo two'))
    const halted = await plimsoll(home, lines('--session', 'b', '-p', 'echo three'))
    expect(halted).toMatchObject({ code: 1 })
    expect(halted.err).toContain('budget')
    // Another session has none, also in the same process.
    const other = await plimsoll(home, lines('--session', 'b'), { input: '/new c\n/budget\n/exit\n' })
    expect(other.out).toContain('No budget')
  })

  it('a budget that is used up ends in a sentence, not in a request', async () => {
    await plimsoll(home, ['chat', '--provider', 'demo', '--session', 'b', '-p', 'echo one'])
    const { code, err, out } = await plimsoll(home, [
      'chat',
      '--provider',
      'demo',
      '--session',
      'b',
      '--budget',
      '0.000001',
      '-p',
      'echo two',
    ])
    expect(code).toBe(1)
    expect(out).not.toContain('two')
    expect(err).toContain('budget')
  })
})

/** The terminal has nothing to show while a program runs; the file system has. */
function appears(folder: string, name: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(folder)
    const check = (): void => {
      if (!readdirSync(folder).includes(name)) return
      watcher.close()
      resolve()
    }
    watcher.on('change', check)
    check()
  })
}
