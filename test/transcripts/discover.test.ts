import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { discoverSessions } from '../../src/lab/transcripts/discover.ts'
import { loadFile } from '../../src/lab/transcripts/load.ts'
import { fixtureText } from './fixtures.ts'

let home: string

const FILES: readonly (readonly [path: string, text: string])[] = [
  ['.claude/projects/-work-demo/5f1c.jsonl', fixtureText('claude-code.jsonl')],
  ['.claude/settings.json', '{}'],
  ['.codex/sessions/2026/06/22/rollout-2026-06-22T12-11-14-019eef3d.jsonl', fixtureText('codex-rollout.jsonl')],
  ['.codex/history.jsonl', '{}'],
  ['.gemini/tmp/9f2a/chats/session-2026-05-02-5d1c.jsonl', fixtureText('gemini-cli.jsonl')],
  ['.gemini/tmp/9f2a/logs.json', '[]'],
  ['.pi/agent/sessions/--work-demo--/2025-12-09.jsonl', fixtureText('pi.jsonl')],
]

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'home-'))
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(home, path)), { recursive: true })
    await writeFile(join(home, path), text)
  }
  for (const [path, text] of FILES) await write(path, text)
  const { info, messages } = JSON.parse(fixtureText('opencode.json')) as {
    info: unknown
    messages: { info: { id: string }; parts: { id: string }[] }[]
  }
  const storage = '.local/share/opencode/storage'
  await write(`${storage}/session/global/ses_1.json`, JSON.stringify(info))
  for (const message of messages) {
    await write(`${storage}/message/ses_1/${message.info.id}.json`, JSON.stringify(message.info))
    for (const part of message.parts)
      await write(`${storage}/part/${message.info.id}/${part.id}.json`, JSON.stringify(part))
  }
})

afterAll(() => rm(home, { recursive: true }))

describe('discoverSessions', () => {
  it('finds the sessions of each client, and nothing else', async () => {
    const found = await discoverSessions({ home, env: {} })
    expect(found.map(({ client }) => client).sort()).toEqual(['claude-code', 'codex', 'gemini-cli', 'opencode', 'pi'])
  })

  it('puts the newest first and keeps to the limit', async () => {
    const path = join(home, FILES[2]?.[0] ?? '')
    await utimes(path, new Date('2040-01-01'), new Date('2040-01-01'))
    const found = await discoverSessions({ home, env: {}, limit: 2 })
    expect(found).toHaveLength(2)
    expect(found[0]).toMatchObject({ client: 'codex', path })
  })

  it('goes where the environment says', async () => {
    const found = await discoverSessions({ home: join(home, 'nobody'), env: { CODEX_HOME: join(home, '.codex') } })
    expect(found.map(({ client }) => client)).toEqual(['codex'])
  })

  it('finds nothing in a home without clients', async () => {
    expect(await discoverSessions({ home: join(home, 'nobody'), env: {} })).toEqual([])
  })

  it('finds files that the loaders read, OpenCode’s scattered ones included', async () => {
    for (const { path, client } of await discoverSessions({ home, env: {} })) {
      const { recordings } = await loadFile(path)
      expect(recordings[0]?.calls.length, client).toBeGreaterThan(0)
    }
  })
})
