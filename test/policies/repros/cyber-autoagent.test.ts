import { execFileSync } from 'node:child_process'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createPlimsoll, type Plimsoll, type PlimsollOptions } from '../../../src/plimsoll.ts'
import { artifactAddress } from '../../../src/drivers/artifacts/artifact.ts'
import { memoryArtifacts } from '../../../src/drivers/artifacts/memory.ts'
import { shellFiles } from '../../../src/drivers/artifacts/shell-files.ts'
import type { PlimsollEvent } from '../../../src/core/events.ts'
import { cyberAutoagent } from '../../../src/engine/presets/index.ts'
import { open, step, type ChatMessage } from './chat.ts'

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

/** An operation with files in a folder of its own, as `outputs/<target>/<operation>` would be. */
async function operation(more: Partial<PlimsollOptions> = {}) {
  const root = await mkdtemp(join(tmpdir(), 'plimsoll-files-'))
  const folder = join(root, 'outputs/example.com/op-1/artifacts')
  const policy = cyberAutoagent()
  const events: PlimsollEvent[] = []
  const plimsoll: Plimsoll = createPlimsoll({
    policy: { ...policy, intake: { ...policy.intake, guard: { ...policy.intake.guard, files: folder } } },
    store: 'memory:',
    artifacts: 'memory:',
    onEvent: (event) => events.push(event),
    ...more,
  })
  opened.push(
    () => plimsoll.close(),
    () => rm(root, { recursive: true }),
  )
  const show = (tool: string, output: string, tenant?: string) =>
    plimsoll.session({ id: 'op', tenant }).toolResult({ tool, callId: 'c1', output, model: 'claude-sonnet-4-5' })
  return { root, folder, plimsoll, events, show }
}

const OUTPUT = '22/tcp open ssh\n'.repeat(7_840)

describe('the file of a large output', () => {
  it('is named in header and footer, and a shell that opens it gets every byte', async () => {
    const { folder, show } = await operation()
    const { text, artifact } = await show('nmap', OUTPUT)
    const path = /^\[Tool output: 125,440 chars total \| Preview: 10,000 chars below \| Full: (\S+)\]/.exec(text)![1]!
    expect(path).toMatch(new RegExp(`^${folder}/nmap_\\d{8}_\\d{6}_[0-9a-f]{6}\\.log$`))
    expect(text).toContain(`[Complete output saved to: ${path}]\n[Stored as ${artifact}]`)
    expect(execFileSync('cat', [path], { encoding: 'utf8' }) === OUTPUT).toBe(true)
  })

  it('lies below the working directory unless configured', () => {
    expect(cyberAutoagent().intake.guard?.files).toBe('artifacts')
  })

  it('is named in a request as well, and keeps its name when the request comes again', async () => {
    const { folder, plimsoll } = await operation()
    const messages = [
      { role: 'user', content: 'Assess example.com.' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'nmap', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'a', content: OUTPUT },
    ] // prettier-ignore
    const send = async () =>
      (
        await plimsoll
          .session({ id: 'op' })
          .prepare({ format: 'openai-chat', body: { model: 'gpt-4.1', messages }, targets: [{ model: 'gpt-4.1' }] })
      ).text
    const first = await send()
    expect(await send()).toBe(first)
    const [name] = await readdir(folder)
    expect(first).toContain(`Full: ${join(folder, name!)}]`)
    expect((await readFile(join(folder, name!), 'utf8')) === OUTPUT).toBe(true)
  })

  it('is readable for its owner alone, and of the tool’s name only plain characters are in its path', async () => {
    const { root, folder, show } = await operation()
    await show('../../etc/cron.d/x; rm -rf $HOME', OUTPUT)
    const [name] = await readdir(folder)
    expect(name).toMatch(/^_etc_cron_d_x_rm_-rf_HOME_\d{8}_\d{6}_[0-9a-f]{6}\.log$/)
    expect((await lstat(join(folder, name!))).mode & 0o777).toBe(0o600)
    expect((await lstat(folder)).mode & 0o777).toBe(0o700)
    expect(await readdir(root)).toEqual(['outputs'])
  })

  it.each([
    ['another tenant’s', {}, 'other'],
    ['a driver of the program’s own', 'driver', undefined],
  ])('%s: there is none, and the handle stands in its place', async (_, more, tenant) => {
    const secret = new Uint8Array(32)
    const { root, show } = await operation(more === 'driver' ? { secret, artifacts: memoryArtifacts({ secret }) } : {})
    const { text, artifact } = await show('nmap', OUTPUT, tenant)
    expect(text).toContain(`| Full: ${artifact}]`)
    expect(await readdir(root)).toEqual([])
  })

  it('a folder that is a link gets none, and that is said', async () => {
    const { root, folder, show, events } = await operation()
    await mkdir(join(folder, '..'), { recursive: true })
    await symlink(root, folder)
    const { text, artifact } = await show('nmap', OUTPUT)
    expect(text).toContain(`| Full: ${artifact}]`)
    expect(await readdir(root)).toEqual(['outputs'])
    expect(events).toContainEqual(expect.objectContaining({ type: 'warning', topic: 'artifacts' }))
  })

  it('goes with its artifact', async () => {
    const { folder } = await operation()
    const secret = new Uint8Array(32)
    const { store, fileFor } = shellFiles(memoryArtifacts({ secret }), { now: () => 0 }, () => {})
    for (const output of ['one', 'two']) {
      const bytes = Buffer.from(output)
      const file = fileFor(folder, 'nmap', artifactAddress(secret)('local', bytes))
      await store.put('local', bytes, { file, session: output === 'two' ? 'live' : undefined })
    }
    expect(await readdir(folder)).toHaveLength(2)
    expect(await store.prune('local', { keep: 0 })).toHaveLength(1)
    const [left, ...more] = await readdir(folder)
    expect(more).toEqual([])
    expect(await readFile(join(folder, left!), 'utf8')).toBe('two')
  })
})

describe('lines of the estimate', () => {
  const linesOf = (events: readonly PlimsollEvent[]): string[] =>
    events.flatMap((event) => (event.type === 'warning' && event.topic === 'cyber-autoagent' ? [event.message] : []))

  it.each([
    [null, 'TOKEN ESTIMATION FAILED: agent.messages is None'],
    ['text', 'TOKEN ESTIMATION FAILED: agent.messages is not a list'],
    [[7], 'TOKEN ESTIMATION ERROR: Exception during estimation'],
  ])('messages %j: what failed, and what the budget goes by', async (messages, failed) => {
    const { plimsoll, events } = open({ policy: 'cyber-autoagent' })
    const session = plimsoll.session({ id: 'a' })
    const prepare = (given: unknown) =>
      session.prepare({
        format: 'openai-chat',
        body: { model: 'gpt-4.1', messages: given },
        targets: [{ model: 'gpt-4.1' }],
      })
    await expect(prepare(messages)).rejects.toMatchObject({ code: 'bad-input' })
    expect(linesOf(events)).toEqual([failed, 'BUDGET CHECK ABORT: No estimation and no telemetry'])
    const turn = await prepare([{ role: 'user', content: 'Assess example.com.' }])
    const usage = { input: 12_345, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0 }
    await session.record({ turn: turn.id, usage })
    events.splice(0)
    await expect(prepare(messages)).rejects.toMatchObject({ code: 'bad-input' })
    expect(linesOf(events)).toEqual([failed, 'BUDGET CHECK FALLBACK: Using telemetry tokens (12345)'])
  })
})

describe('an unlisted model with 32k', () => {
  it('asks for a summary only where the threshold is reached, and each after the first lasts for 15 % of the window', async () => {
    let asks = 0
    const account = 'OPS-4412: the tests of services/checkout/main.go were run with bash and still fail.'
    const { messages, events } = open({
      policy: 'cyber-autoagent',
      summarizer: async () => {
        asks++
        return account
      },
    })
    const history: ChatMessage[] = [{ role: 'user', content: 'OPS-4412: fix services/checkout/main.go.' }]
    for (let n = 0; n < 60; n++) {
      history.push(
        ...step(
          `s${n}`,
          'bash',
          { command: 'go test ./services/checkout' },
          `${n} ${'the server answered and no new port was open there. '.repeat(50)}`,
        ),
      )
      await messages({ messages: history }, [{ model: 'a-model-of-our-own', window: 32_000 }])
    }
    const text = events.flatMap((event) => ('message' in event ? [event.message] : []))
    const exceeded = text.filter((message) => message?.startsWith('THRESHOLD EXCEEDED')).length
    const added = history.reduce((sum, { content }) => sum + 50 + JSON.stringify(content).length / 3.7, 0)
    expect(asks).toBeGreaterThan(0)
    expect(asks).toBe(exceeded)
    expect(asks).toBeLessThanOrEqual(added / (0.15 * 32_000) + 2)
  })
})
