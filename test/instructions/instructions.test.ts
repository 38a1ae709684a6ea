import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contextguard, policies } from '../../src/engine/presets/index.ts'
import {
  globalDirOf,
  loadInstructions,
  projectRoot,
  ROOT_MARKERS,
  rootRuleOf,
  sessionInstructions,
} from '../../src/engine/instructions/index.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

let dir: string
let globalDir: string
let root: string
let workDir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'instructions-'))
  globalDir = join(dir, 'home', '.plimsoll')
  root = join(dir, 'project')
  workDir = join(root, 'packages', 'core')
  await mkdir(globalDir, { recursive: true })
  await mkdir(workDir, { recursive: true })
  await writeFile(join(root, 'package.json'), '{}')
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const write = (at: string, text: string): Promise<void> => writeFile(join(at, 'AGENTS.md'), text)
const load = (more: object = {}) => loadInstructions({ workDir, globalDir, trustProject: true, ...more })

describe('AGENTS.md', () => {
  it('does not follow a link that leads out of the project, unless it is told to', async () => {
    const outside = join(dir, 'secrets.txt')
    await writeFile(outside, 'token: 123')
    await symlink(outside, join(root, 'AGENTS.md'))
    await writeFile(join(root, 'RULES.md'), 'inside')
    await symlink(join(root, 'RULES.md'), join(workDir, 'AGENTS.md'))
    expect(await load()).toMatchObject({ merged: 'inside', unreadable: [join(root, 'AGENTS.md')] })
    expect((await load({ followLinks: true })).merged).toBe('token: 123\n\ninside')
  })

  it('follows links of the global file, which is the user’s own', async () => {
    const dotfiles = join(dir, 'dotfiles.md')
    await writeFile(dotfiles, 'mine')
    await symlink(dotfiles, join(globalDir, 'AGENTS.md'))
    expect((await load()).merged).toBe('mine')
  })

  it('joins global, project and every directory down to the working one, in this order', async () => {
    await write(globalDir, 'global')
    await write(root, 'project')
    await write(join(root, 'packages'), 'nested')
    await write(workDir, 'working')
    expect(await load()).toEqual({
      merged: 'global\n\nproject\n\nnested\n\nworking',
      sources: [globalDir, root, join(root, 'packages'), workDir].map((at) => join(at, 'AGENTS.md')),
      unreadable: [],
      bytes: 32,
      truncated: false,
    })
  })

  it('reads the working directory once when it is the root', async () => {
    await write(root, 'project')
    expect((await load({ workDir: root })).merged).toBe('project')
  })

  it.each(ROOT_MARKERS)('finds the root by %s', async (marker) => {
    await rm(join(root, 'package.json'))
    await writeFile(join(root, marker), '')
    expect(await projectRoot(workDir)).toBe(root)
  })

  it.each(['.git', '.hg'])('in a monorepo the root is where %s is, not the nearest package', async (marker) => {
    await mkdir(join(dir, marker))
    await writeFile(join(workDir, 'package.json'), '{}')
    await write(dir, 'repository')
    await write(root, 'project')
    await write(workDir, 'package')
    expect(await projectRoot(workDir)).toBe(dir)
    expect((await load()).merged).toBe('repository\n\nproject\n\npackage')
  })

  it('of two repositories the inner one is the project', async () => {
    await mkdir(join(dir, '.git'))
    await mkdir(join(root, '.git'))
    await writeFile(join(workDir, 'go.mod'), '')
    expect(await projectRoot(workDir)).toBe(root)
  })

  it('takes the nearest marker where there is no repository, and as adk-code does it everywhere', async () => {
    await writeFile(join(workDir, 'Cargo.toml'), '')
    expect(await projectRoot(workDir)).toBe(workDir)
    await mkdir(join(dir, '.git'))
    expect(await projectRoot(workDir, 'nearest')).toBe(workDir)
    await write(dir, 'repository')
    await write(workDir, 'crate')
    expect((await load({ root: rootRuleOf('adk-code') })).merged).toBe('crate')
    expect((await load({ root: rootRuleOf('plimsoll') })).merged).toBe('repository\n\ncrate')
  })

  it('reads nothing of a project without a root, and nothing of one that is not trusted', async () => {
    await write(globalDir, 'global')
    await write(root, 'project')
    await write(workDir, 'working')
    expect((await load({ trustProject: false })).merged).toBe('global')
    await rm(join(root, 'package.json'))
    expect((await load()).merged).toBe('global')
  })

  it.each([
    [32_768, false],
    [32_769, true],
  ])('with %i bytes: cut %s, and a cut says so within the limit', async (size, truncated) => {
    await write(root, 'é'.repeat(Math.floor(size / 2)).padEnd(Math.floor(size / 2) + (size % 2), 'x'))
    const { merged, bytes, truncated: cut } = await load()
    expect(cut).toBe(truncated)
    expect(bytes).toBe(Buffer.byteLength(merged))
    expect(bytes).toBeLessThanOrEqual(32_768)
    expect(merged.includes('[Instructions cut: 32769 bytes, and 32768 fit.]')).toBe(truncated)
    expect(merged).not.toContain('\uFFFD')
  })

  it('goes on without a file that cannot be read, and names it', async () => {
    await write(globalDir, 'global')
    await mkdir(join(root, 'AGENTS.md'))
    await write(workDir, 'working')
    await chmod(join(root, 'AGENTS.md'), 0o000)
    expect(await load()).toMatchObject({ merged: 'global\n\nworking', unreadable: [join(root, 'AGENTS.md')] })
  })

  it('ends on a loop of links', async () => {
    await symlink(join(root, 'AGENTS.md'), join(root, 'AGENTS.md'))
    await symlink(join(workDir, 'loop'), join(workDir, 'loop'))
    await write(globalDir, 'global')
    const loaded = await load({ workDir: join(workDir, 'loop') })
    expect(loaded.merged).toBe('global')
    expect(loaded.unreadable).toEqual([join(root, 'AGENTS.md'), join(workDir, 'loop', 'AGENTS.md')])
  })

  it('has a global place for each preset', () => {
    expect(globalDirOf('adk-code', '/h')).toBe(join('/h', '.adk-code'))
    expect(globalDirOf('plimsoll', '/h')).toBe(join('/h', '.plimsoll'))
  })

  it('leaves the head of the prompt alone when a file is edited, and says so once at the end', async () => {
    await write(root, 'first')
    const session = await sessionInstructions({ workDir, globalDir, trustProject: true })
    expect(await session.changes()).toBeUndefined()
    await write(root, 'second')
    expect(await session.changes()).toMatch(/have changed[^]*second$/)
    expect(await session.changes()).toBeUndefined()
    expect(session.atStart.merged).toBe('first')
  })
})

describe('instructions in a session', () => {
  const instructions = 'Always use hooks.\n\tNever "class" components — verify packages.'

  it.each([...policies.values()].filter(({ name }) => name !== 'ai-agent'))(
    '$name keeps them byte for byte through 100 compactions',
    async (policy) => {
      const engine = testEngine({ policy })
      const session = engine.session()
      let epochs = 0
      for (let steps = 30; epochs < 100 && steps < 400; steps++) {
        await session.compact()
        const { tools: _, ...loop } = toolLoop({ steps, resultLength: 300 })
        const body = { ...loop, system: instructions }
        const turn = await session.prepare({
          format: 'anthropic-messages',
          body,
          targets: [{ model: 'm', window: 16_000 }],
        })
        expect((turn.body as { system: string }).system).toBe(instructions)
        if (turn.report.newEpoch !== undefined) epochs++
      }
      expect(epochs).toBe(100)
    },
  )

  it('keeps a pinned note about a change through compactions', async () => {
    const engine = testEngine({ policy: contextguard })
    const session = engine.session()
    const changed = 'The instruction files have changed: use tabs.'
    const bodyOf = (steps: number) => {
      const { tools: _, messages, ...loop } = toolLoop({ steps, resultLength: 300 })
      return { ...loop, messages: [messages[0]!, { role: 'user', content: changed }, ...messages.slice(1)] }
    }
    const prepare = (steps: number) =>
      session.prepare({ format: 'anthropic-messages', body: bodyOf(steps), targets: [{ model: 'm', window: 16_000 }] })
    await prepare(5)
    const { identity } = (await session.items()).find(({ excerpt }) => excerpt === changed)!
    await session.pin(identity)
    await session.compact()
    const { text, report } = await prepare(30)
    expect(report.newEpoch).toBeDefined()
    expect(text).toContain(changed)
  })
})
