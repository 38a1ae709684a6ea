import type { Item } from '../../../core/item.ts'
import { turnsOf } from '../../../core/turns.ts'
import { type Fields, isRecord, recordOf, stringOf } from '../../../core/values.ts'
import type { Draft } from '../../epoch/cascade/draft.ts'
import { LANGUAGE, newestWithin, type Style } from '../../epoch/cascade/summarise.ts'
import { callLine } from '../../epoch/record/calls.ts'
import { parseStructure } from '../../intake/json/json-view.ts'
import { pick } from '../../intake/templates/template.ts'
import { cutHead } from '../../intake/text.ts'
import { answerIn, asText } from '../shared.ts'

type DescribeResult = Draft['describeResult']

/** An account of what happened, written by code, tool by tool. */
export const story: Style = {
  system: () => `Tell what happened in this investigation so far, findings first. ${LANGUAGE}`,
  fallback: ({ items, describeResult }, capTokens, countText) =>
    newestWithin(narrative(items, describeResult), capTokens, countText),
}

/** AutoSRE's limits per event, in characters; the dots count. */
const LIMITS = { user: 200, assistant: 150, other: 100, output: 200, error: 100, finding: 100 } as const

/** One line per event of an investigation, then what was found. Calls of one tool in a row are told together. */
function narrative(items: readonly Item[], describe: DescribeResult): string[] {
  const { answers } = turnsOf(items)
  const answered = new Set(answers.values())
  const lines: string[] = []
  let row: Done[] = []
  const close = (): void => {
    lines.push(...rowLines(row))
    row = []
  }
  for (const [index, item] of items.entries()) {
    const answer = answers.get(index)
    if (item.kind === 'call') {
      if (row.length > 0 && row[0]!.call.toolName !== item.toolName) close()
      row.push({ call: item, outcome: answer === undefined ? undefined : resultLine(items[answer]!, describe) })
      continue
    }
    const line = answered.has(index) ? undefined : lineOf(item, describe)
    if (line === undefined) continue
    close()
    lines.push(line)
  }
  close()
  const findings = items.flatMap((item) => (item.kind === 'result' ? findingsIn(item) : []))
  return findings.length === 0 ? lines : [...lines, 'Key findings:', ...findings.slice(-10).map((one) => `- ${one}`)]
}

interface Done {
  readonly call: Item
  readonly outcome: string | undefined
}

const ABOUT_CHARACTERS = 80
/** Of calls with the same outcome so many are named, the last among them. */
const NAMED = 4

/** Each outcome once, with what the calls that had it were about. */
function rowLines(row: readonly Done[]): string[] {
  if (row.length === 0) return []
  const { toolName = 'unknown' } = row[0]!.call
  const about = new Map<string, string[]>()
  for (const { call, outcome = `${toolName}: no result` } of row) {
    const own = callLine(call, toolName.length + 1 + ABOUT_CHARACTERS).slice(toolName.length + 1)
    about.set(outcome, [...(about.get(outcome) ?? []), own])
  }
  return [
    `Called tool: ${toolName}${row.length > 1 ? ` ${row.length} times` : ''}`,
    ...[...about].map(([outcome, calls]) => {
      const named = [...new Set(calls)].filter((call) => call !== '')
      const some = named.length > NAMED ? [...named.slice(0, NAMED - 1), '…', named.at(-1)!] : named
      const times = calls.length > 1 ? [`${calls.length} times`] : []
      const note = [...times, ...(some.length > 0 ? [some.join(', ')] : [])].join(': ')
      return note === '' ? outcome : `${outcome} (${note})`
    }),
  ]
}

function lineOf(item: Item, describe: DescribeResult): string | undefined {
  if (item.kind === 'result') return resultLine(item, describe)
  if (item.text.trim() === '') return undefined
  if (item.kind === 'user') return `User: ${clip(item.text, LIMITS.user)}`
  if (item.kind === 'assistant' || item.kind === 'reasoning') return `Thought: ${clip(item.text, LIMITS.assistant)}`
  return clip(item.text, LIMITS.other)
}

export function resultLine({ toolName = 'unknown', text, isError }: Item, describe: DescribeResult): string {
  const response = parseStructure(text)
  const failure = failureIn(response) ?? (isError === true ? text : undefined)
  if (failure !== undefined) return `${toolName} failed: ${clip(failure, LIMITS.error)}`
  if (response === undefined) return `${toolName}: ${clip(text, LIMITS.output)}`
  const line = clip(describe(toolName, response), LIMITS.output)
  return line.startsWith(toolName) ? line : `${toolName}: ${line}`
}

const FAILED = /^(?:error|failed|failure)$/i

/** What a tool says of its own failure, in its answer or in what it found. What our guard cut did not fail. */
function failureIn(response: unknown): string | undefined {
  for (const fields of [recordOf(response), recordOf(answerIn(response)?.found)]) {
    if (fields === undefined || 'preview' in fields) continue
    const error = pick(fields, 'error', 'error_message', 'errorMessage')
    const said = stringOf(isRecord(error) ? error['message'] : error)
    const told = FAILED.test(asText(fields['status'] ?? '')) ? stringOf(pick(fields, ...REASONS)) : undefined
    const reason = said ?? told
    if (reason !== undefined && reason.trim() !== '') return reason
  }
  return undefined
}

const REASONS = ['message', 'detail', 'details', 'reason'] as const

function findingsIn({ text, toolName = 'unknown' }: Item): string[] {
  const response = parseStructure(text)
  const result: Fields | undefined = recordOf(answerIn(response)?.found) ?? recordOf(response)
  if (result === undefined) return []
  const named = ['root_cause', 'bottleneck'].flatMap((key) =>
    result[key] === undefined || result[key] === null
      ? []
      : [`${key.replace('_', ' ')}: ${clip(asText(result[key]), LIMITS.finding)} (${toolName})`],
  )
  const anomalies = result['anomalies']
  return Array.isArray(anomalies) && anomalies.length > 0
    ? [...named, `${anomalies.length} anomalies (${toolName})`]
    : named
}

/** Cut inside the limit, dots included. */
export const clip = (text: string, characters: number): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= characters ? line : `${cutHead(line, characters - 3)}...`
}
