import { setTimeout as pause } from 'node:timers/promises'
import {
  call,
  say,
  startReferee,
  type Answer,
  type BrainTurn,
  type RunningReferee,
} from '../../testing/referee/index.ts'
import { listOf, recordOf, textOf } from '../../core/values.ts'
import { DEMO_FORMAT } from '../../formats/demo.ts'
import { endpoints, speakers } from '../../formats/endpoints.ts'

/** A terminal shows a stream as a stream; a pipe does not wait. */
const PACE_MS = 20

/** A scripted model behind the real wire: it refuses what the vendor refuses, and needs no key. */
export function startDemoModel(window: number, watched: boolean): Promise<RunningReferee> {
  return startReferee({
    wire: DEMO_FORMAT,
    window,
    script: demoAnswer,
    cache: { minimumTokens: 1 },
    ...(watched && { pace: () => pause(PACE_MS) }),
  })
}

/** What makes a real model answer. */
const WANTED = [
  ...endpoints.flatMap(({ keys }) => keys.slice(0, 1)),
  ...speakers.flatMap(({ endpoint }) => (endpoint.keys.length === 0 ? [endpoint.modelVariable] : [])),
]

const HELP = `This is the demo model: it needs no key and understands a few words. Try "read package.json", "list", "search TODO", "run git status", "write notes.txt", "count", "recall timeout", or /help. Set ${WANTED.slice(0, -1).join(', ')} or ${WANTED.at(-1)} to talk to a real one.`

/** Answers the newest message: words become tool calls, results become a sentence. */
function demoAnswer({ body, tools }: Pick<BrainTurn, 'body' | 'tools'>): Answer {
  const newest = listOf(recordOf(listOf(body['messages']).at(-1))?.['content']).flatMap((block) => {
    const fields = recordOf(block)
    return fields === undefined ? [] : [fields]
  })
  const results = newest.filter((block) => block['type'] === 'tool_result')
  if (results.length > 0) return say(results.map(({ content }) => sentenceAbout(textOf(content))).join(' '))
  const asked = textOf(newest.at(-1)?.['text']).trim()
  if (asked.startsWith(SUMMARY_ASKED)) return say(accountOf(body))
  const [word = '', ...rest] = asked.split(/\s+/)
  const about = rest.join(' ')
  const found = COMMANDS[word.toLowerCase()]?.(about)
  if (found === undefined) return say(HELP)
  return found.parts.every((part) => part.type !== 'call' || tools.includes(part.name) || part.name === 'uname')
    ? found
    : say(HELP)
}

/** How a summary in band is asked for. */
const SUMMARY_ASKED = 'Stop working for one answer'

/** What the user asked for so far, the newest few. */
function accountOf(body: BrainTurn['body']): string {
  const asked = listOf(body['messages']).flatMap((message) => {
    const { role, content } = recordOf(message) ?? {}
    const blocks = listOf(content).map((block) => textOf(recordOf(block)?.['text']))
    return role === 'user' ? blocks.filter((text) => text !== '' && text.length < 100) : []
  })
  return `The user tried the demo model and asked: ${asked.slice(-10).join('; ')}.`
}

const COMMANDS: Readonly<Record<string, (about: string) => Answer>> = {
  read: (path) => call('read_file', { path }, `I will read ${path}.`),
  list: (path) => call('list_files', path === '' ? {} : { path }),
  search: (pattern) => call('search_files', { pattern }),
  run: (command) => call('run_shell', { command }),
  write: (path) => call('edit_file', { path, old: '', new: 'Written by the demo model.\n' }),
  recall: (query) => call('recall', { query }),
  // No tool of ours: what an unknown name leads to.
  uname: (args) => call('uname', { args: args === '' ? [] : args.split(' ') }),
  count: (to) => say(Array.from({ length: Number(to) > 0 ? Number(to) : 300 }, (_, i) => `${i + 1}`).join(' ')),
  echo: (text) => say(text),
}

function sentenceAbout(result: string): string {
  const lines = result.split('\n')
  return `The result has ${lines.length} line${lines.length === 1 ? '' : 's'} and begins with: ${lines[0]!.slice(0, 100)}`
}
