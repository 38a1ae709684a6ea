import { createHash, randomBytes } from 'node:crypto'
import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { join } from 'node:path'
import { PlimsollError } from '../../core/errors.ts'
import type { Entry } from '../../formats/wire/chat.ts'

interface Head {
  readonly v: 1
  readonly id: string
  readonly cwd: string
  readonly at: number
}

interface ChatInfo {
  readonly id: string
  readonly cwd: string
  readonly changedAt: number
  /** The beginning of the first message. */
  readonly title: string
}

/** The transcript of a chat on disk, one line per entry. An entry is written to disk before the chat continues. */
export interface Journal {
  readonly id: string
  readonly entries: readonly Entry[]
  /** The last budget that was set for the session. */
  readonly budgetUsd: number | undefined
  add(entry: Entry): void
  setBudget(usd: number): void
}

/** A fact about the session that is not part of the conversation. */
interface Setting {
  readonly type: 'setting'
  readonly budgetUsd: number
}

/** The file name is a hash of the id, because an id may contain any characters. */
const fileOf = (folder: string, id: string): string =>
  join(folder, `${createHash('sha256').update(id).digest('hex').slice(0, 32)}.jsonl`)

export const newChatId = (now = new Date()): string =>
  `chat-${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}-${randomBytes(2).toString('hex')}`

/**
 * Opens or creates a journal. Removes a last line that a killed process did not finish. Entries pass through `redact` before they are written, so a
 * continued chat contains the redacted text.
 */
export function openJournal(
  folder: string,
  id: string,
  cwd: string,
  redact: (text: string) => string = (text) => text,
): Journal {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = fileOf(folder, id)
  const lines = existsSync(file) ? readLines(file) : []
  if (!existsSync(file)) appendLine(file, { v: 1, id, cwd, at: Date.now() } satisfies Head)
  const entries = lines.filter((line) => line.type !== 'setting')
  let budgetUsd = lines.findLast((line) => line.type === 'setting')?.budgetUsd
  return {
    id,
    entries,
    get budgetUsd() {
      return budgetUsd
    },
    add(entry) {
      entries.push(entry)
      appendText(file, redact(JSON.stringify(entry)))
    },
    setBudget(usd) {
      if (usd === budgetUsd) return
      budgetUsd = usd
      appendLine(file, { type: 'setting', budgetUsd: usd } satisfies Setting)
    },
  }
}

const appendLine = (file: string, value: object): void => appendText(file, JSON.stringify(value))

function appendText(file: string, line: string): void {
  const handle = openSync(file, 'a', 0o600)
  try {
    appendFileSync(handle, `${line}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function readLines(file: string): (Entry | Setting)[] {
  const text = readFileSync(file, 'utf8')
  const end = text.lastIndexOf('\n') + 1
  if (end < text.length) truncateSync(file, Buffer.byteLength(text.slice(0, end)))
  return text
    .slice(0, end)
    .split('\n')
    .slice(1)
    .flatMap((line, index): (Entry | Setting)[] => {
      if (line === '') return []
      try {
        return [JSON.parse(line) as Entry | Setting]
      } catch (cause) {
        throw new PlimsollError('corrupt', `${file}, line ${index + 2} cannot be read.`, {
          cause,
          advice: 'Take the line out, or begin a new chat.',
        })
      }
    })
}

/** Newest first. */
export function listChats(folder: string): readonly ChatInfo[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name): ChatInfo[] => {
      const file = join(folder, name)
      const [first = '', ...rest] = readFileSync(file, 'utf8').split('\n')
      try {
        const { id, cwd } = JSON.parse(first) as Head
        const asked = rest.find((line) => line.startsWith('{"type":"user"'))
        const title = asked === undefined ? '' : (JSON.parse(asked) as { text: string }).text
        return [{ id, cwd, changedAt: statSync(file).mtimeMs, title: title.split('\n', 1)[0] ?? '' }]
      } catch {
        return []
      }
    })
    .sort((a, b) => b.changedAt - a.changedAt)
}
