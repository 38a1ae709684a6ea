import { randomUUID } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { claudeFolder } from './working-folder.ts'

/** A session of two messages as a client keeps it: the handover, and that it was read. */
interface NewSession {
  readonly id: string
  readonly cwd: string
  /** An ISO date. */
  readonly at: string
  readonly prompt: string
  readonly read: string
}

/** Where a client keeps a session, its lines, and how the client is told to go on with it. */
interface ClientSession {
  readonly file: string
  readonly lines: readonly object[]
  readonly command: string
}

const READ = 'I have read the handover. Tell me to go on, or what to do instead.'

/** What each client resumes. A client without an entry gets the prompt. */
const CLIENTS: Readonly<Record<string, (session: NewSession) => ClientSession>> = {
  claude({ id, cwd, at, prompt, read }) {
    const ids = [randomUUID(), randomUUID()] as const
    const about = { isSidechain: false, userType: 'external', cwd, sessionId: id, version: '2.0.0', timestamp: at }
    const usage = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    const answer = { role: 'assistant', id: `msg_${id}`, type: 'message', model: '<synthetic>', usage }
    const content = [{ type: 'text', text: read }]
    return {
      file: join(claudeFolder(cwd), `${id}.jsonl`),
      lines: [
        { ...about, parentUuid: null, type: 'user', uuid: ids[0], message: { role: 'user', content: prompt } },
        {
          ...about,
          parentUuid: ids[0],
          type: 'assistant',
          uuid: ids[1],
          message: { ...answer, content, stop_reason: 'end_turn', stop_sequence: null },
        },
      ],
      command: `claude --resume ${id}`,
    }
  },
  codex({ id, cwd, at, prompt, read }) {
    const base = process.env['CODEX_HOME'] ?? join(homedir(), '.codex')
    const line = (type: string, payload: object): object => ({ timestamp: at, type, payload })
    const said = (role: string, type: string, text: string): object =>
      line('response_item', { type: 'message', role, content: [{ type, text }] })
    const meta = { id, timestamp: at, cwd, originator: 'plimsoll', cli_version: '0.100.0', source: 'cli' }
    return {
      file: join(
        base,
        'sessions',
        ...at.slice(0, 10).split('-'),
        `rollout-${at.slice(0, 19).replaceAll(':', '-')}-${id}.jsonl`,
      ),
      lines: [
        line('session_meta', meta),
        said('user', 'input_text', prompt),
        line('event_msg', { type: 'user_message', message: prompt, images: [] }),
        said('assistant', 'output_text', read),
        line('event_msg', { type: 'agent_message', message: read }),
      ],
      command: `codex resume ${id}`,
    }
  },
  pi({ id, cwd, at, prompt, read }) {
    const base = process.env['PI_CODING_AGENT_DIR'] ?? join(homedir(), '.pi/agent')
    const timestamp = Date.parse(at)
    const file = join(
      base,
      'sessions',
      `--${cwd.replace(/^[/\\]/, '').replaceAll(/[/\\:]/g, '-')}--`,
      `${at.replaceAll(/[:.]/g, '-')}_${id}.jsonl`,
    )
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
    const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost }
    const [first, second] = ['00000001', '00000002']
    const user = { role: 'user', content: [{ type: 'text', text: prompt }], timestamp }
    const answer = { role: 'assistant', content: [{ type: 'text', text: read }], stopReason: 'stop', usage, timestamp }
    const from = { api: 'plimsoll', provider: 'plimsoll', model: 'handover' }
    return {
      file,
      lines: [
        { type: 'session', version: 3, id, timestamp: at, cwd },
        { type: 'message', id: first, parentId: null, timestamp: at, message: user },
        { type: 'message', id: second, parentId: first, timestamp: at, message: { ...answer, ...from } },
      ],
      command: `pi --session ${file}`,
    }
  },
}

/** Whom a session can be handed to. */
export const SUCCESSORS: readonly string[] = ['markdown', ...Object.keys(CLIENTS), 'gemini', 'opencode']

/** A new session of a client that holds the handover; undefined for a client that gets the prompt. */
export const sessionFor = (
  client: string,
  cwd: string,
  prompt: string,
): (ClientSession & { id: string }) | undefined => {
  const id = randomUUID()
  const written = CLIENTS[client]?.({ id, cwd, at: new Date().toISOString(), prompt, read: READ })
  return written && { ...written, id }
}
