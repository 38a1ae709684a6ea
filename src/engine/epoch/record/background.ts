import type { Item } from '../../../core/item.ts'
import { cutHead } from '../../intake/text.ts'
import { callLine } from './calls.ts'

/** Something that was started and goes on beside the conversation: a shell, a watcher, another agent. */
interface Running {
  readonly id: string
  readonly what: string
  /** Where its output is written, as its start said. */
  readonly output?: string
  /** How it was looked at last. */
  read?: string
}

const STARTS =
  /\b(?:running in (?:the )?background|started in (?:the )?background|process running with|(?:async )?agent (?:launched|started)|task (?:launched|started)|still running)\b[\s\S]{0,200}?\b(?:session[ _]?id|shell[ _]?id|agent[ _]?id|task[ _]?id|process[ _]?id|id)\b["']?\s*[:=]?\s*["'<]?([\w-]*\d[\w-]*)/i
const OUTPUT =
  /\boutput(?:[ _]file)?(?: is being written to| will be written to)?["']?\s*[:=]\s*["']?((?:\/|[A-Za-z]:\\)[^\s"'<]+)/i
const ENDS =
  /\b(?:exited with|exit(?:ed)?[ _]?code|completed|finished|killed|terminated|stopped|failed|cancell?ed|no longer running|not found|does not exist|no (?:background )?(?:task|shell|process|session))\b/i
const LOOKED_AT = 600
/** The newest of so many that were started. */
const MOST = 100

/** What was started in a history and has not ended, as far as its results say: its id, what it is, and how to read it. */
export function runningIn(items: readonly Item[]): readonly string[] {
  const running = new Map<string, Running>()
  const calls = new Map<string, Item>()
  for (const item of items) {
    if (item.kind === 'call' && item.callId !== undefined) calls.set(item.callId, item)
    if (item.kind !== 'result' && item.kind !== 'user') continue
    const report =
      item.text.length <= 2 * LOOKED_AT ? item.text : `${item.text.slice(0, LOOKED_AT)}\n${item.text.slice(-LOOKED_AT)}`
    const call = item.kind === 'result' ? calls.get(item.callId ?? '') : undefined
    const started = call === undefined ? undefined : STARTS.exec(report)?.[1]
    if (started !== undefined && call !== undefined && !running.has(started) && !namesAny(call.text, running)) {
      running.set(started, { id: started, what: callLine(call), output: OUTPUT.exec(report)?.[1] })
      if (running.size > MOST) running.delete(running.keys().next().value!)
      continue
    }
    for (const one of running.values()) {
      const asks = call !== undefined && call.text.includes(one.id)
      if (!asks && !(item.kind === 'user' && report.includes(one.id))) continue
      if (ENDS.test(report) && !STARTS.test(report)) running.delete(one.id)
      else if (asks) one.read = call.toolName
    }
  }
  return [...running.values()].map(({ id, what, output, read }) => {
    const how = [
      output === undefined ? '' : `output in ${output}`,
      read === undefined ? '' : `read with ${read}`,
    ].filter((part) => part !== '')
    return `${id}: ${cutHead(what, 200)}${how.length === 0 ? '' : ` (${how.join('; ')})`}`
  })
}

const namesAny = (text: string, running: ReadonlyMap<string, Running>): boolean =>
  [...running.keys()].some((id) => text.includes(id))
