import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { grouped, short } from '../../inspect/figures.ts'
import { fitWidth, plainText } from '../../inspect/width.ts'
import { when } from '../../kit/print.ts'
import { renderTable } from '../../kit/table.ts'
import { TENANT } from '../chat.ts'
import { listChats, newChatId } from '../journal.ts'
import { safeText } from '../safe-text.ts'
import type { Entry } from '../../../formats/wire/chat.ts'
import { say, type Slash } from './slash.ts'

const PREVIEW_CHARACTERS = 2_000

export const artifacts: Slash = {
  name: 'artifacts',
  takes: '[handle]',
  about: 'what is stored outside the window',
  async run(rest, slash) {
    const { stores } = slash.chat.setup
    if (rest !== '') {
      const bytes = await stores.artifacts.read(TENANT, rest)
      if (bytes === undefined) return say(slash, `There is no artifact ${rest}.`)
      const text = Buffer.from(bytes).toString('utf8')
      const more =
        text.length > PREVIEW_CHARACTERS
          ? `\n[${grouped(text.length - PREVIEW_CHARACTERS)} characters more: plimsoll artifacts show ${rest}]`
          : ''
      // Content is shown as it is; only the terminal breaks it.
      return slash.console.write(`${safeText(text.slice(0, PREVIEW_CHARACTERS)) + more}\n`)
    }
    const found = await stores.artifacts.list(TENANT, { session: slash.chat.state().journal.id, limit: 50 })
    if (found.length === 0) return say(slash, 'Nothing of this session is stored outside the window.')
    const rows = found.map(({ handle, bytes, tool, createdAt }) => [
      handle,
      `${short(bytes)}B`,
      tool ?? '',
      when(createdAt),
    ])
    say(
      slash,
      renderTable(
        [
          { head: 'handle' },
          { head: 'size', align: 'right' },
          { head: 'tool', gives: 'start' },
          { head: 'made', optional: true },
        ],
        rows,
        slash.console.screen,
      ),
    )
  },
}

export const recall: Slash = {
  name: 'recall',
  takes: '<words>',
  about: 'search everything that was said, also what is no longer in view',
  async run(rest, slash) {
    if (rest === '') return say(slash, '/recall needs words to look for.')
    const { journal } = slash.chat.state()
    const hits = await slash.chat.setup.stores.sessions.search(TENANT, rest, { session: journal.id, limit: 10 })
    say(
      slash,
      hits.length === 0
        ? 'Nothing was found.'
        : hits
            .map(({ version, excerpt }) =>
              fitWidth(`${version}: ${plainText(excerpt)}`, slash.console.screen.width * 2),
            )
            .join('\n'),
    )
  },
}

export const session: Slash = {
  name: 'session',
  takes: '[name]',
  about: 'which session this is; with a name: continue that one',
  async run(rest, slash) {
    if (rest !== '') {
      const known = listChats(slash.chat.setup.chatsFolder).some(({ id }) => id === rest)
      if (!known) return say(slash, `There is no session ${rest}; /sessions lists them, /new begins one.`)
      await slash.chat.change({ sessionId: rest })
    }
    const { journal, provider, policy, session: own } = slash.chat.state()
    const { spent } = await own.status()
    say(
      slash,
      `${journal.id}: ${grouped(journal.entries.length)} entries, ${grouped(spent.calls)} calls, ${provider.name} ${provider.model}, policy ${policy}`,
    )
  },
}

export const sessions: Slash = {
  name: 'sessions',
  about: 'chats on this machine, newest first',
  run(_rest, slash) {
    const chats = listChats(slash.chat.setup.chatsFolder).slice(0, 20)
    say(
      slash,
      renderTable(
        [{ head: 'session' }, { head: 'last change', optional: true }, { head: 'began with', gives: 'start' }],
        chats.map(({ id, changedAt, title }) => [id, when(changedAt), title]),
        slash.console.screen,
      ),
    )
  },
}

export const fresh: Slash = {
  name: 'new',
  takes: '[name]',
  about: 'begin a new session; this one stays',
  async run(rest, slash) {
    await slash.chat.change({ sessionId: rest === '' ? newChatId() : rest })
    say(slash, `New session ${slash.chat.state().journal.id}.`)
  },
}

export const exporting: Slash = {
  name: 'export',
  takes: '[file]',
  about: 'write the conversation as Markdown',
  async run(rest, slash) {
    const { journal } = slash.chat.state()
    const file = resolve(slash.chat.setup.cwd, rest === '' ? `${journal.id.replaceAll(/[^\w.-]/g, '_')}.md` : rest)
    await writeFile(file, markdownOf(journal.id, journal.entries), { flag: 'wx', mode: 0o600 })
    say(slash, `Wrote ${file}.`)
  },
}

function markdownOf(id: string, entries: readonly Entry[]): string {
  const blocks = entries.map((entry) => {
    if (entry.type === 'user') return `## You\n\n${entry.text}`
    if (entry.type === 'result')
      return `### Result of ${entry.name}${entry.isError ? ' (failed)' : ''}\n\n${fenced(entry.text)}`
    const calls = entry.calls.map(
      ({ name, input }) => `### Call of ${name}\n\n${fenced(JSON.stringify(input, null, 2))}`,
    )
    return [`## Assistant\n\n${entry.text}`.trimEnd(), ...calls].join('\n\n')
  })
  return `# ${id}\n\n${blocks.join('\n\n')}\n`
}

/** A fence longer than any inside keeps data data. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map((fence) => fence.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}
