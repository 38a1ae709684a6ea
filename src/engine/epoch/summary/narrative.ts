import type { Item } from '../../../core/item.ts'
import { isRecord } from '../../../core/values.ts'
import { cutHead } from '../../intake/text.ts'

/** One sentence about a tool's result, from its parsed value. */
export type DescribeResult = (tool: string, response: unknown) => string

/** AutoSRE's limits per event, in characters; the dots count. */
const LIMITS = { user: 200, assistant: 150, other: 100, output: 200, error: 100, finding: 100 } as const

/** One line per event of an investigation, then what was found. */
export function narrative(items: readonly Item[], describe: DescribeResult): string[] {
  const lines = items.map((item) => lineOf(item, describe)).filter((line) => line !== undefined)
  const findings = items.flatMap((item) => (item.kind === 'result' ? findingsIn(item) : []))
  return findings.length === 0 ? lines : [...lines, 'Key findings:', ...findings.slice(-10).map((one) => `- ${one}`)]
}

function lineOf(item: Item, describe: DescribeResult): string | undefined {
  if (item.kind === 'call') return `Called tool: ${item.toolName ?? 'unknown'}`
  if (item.kind === 'result') return resultLine(item, describe)
  if (item.text.trim() === '') return undefined
  if (item.kind === 'user') return `User: ${clip(item.text, LIMITS.user)}`
  if (item.kind === 'assistant' || item.kind === 'reasoning') return `Thought: ${clip(item.text, LIMITS.assistant)}`
  return clip(item.text, LIMITS.other)
}

export function resultLine({ toolName = 'unknown', text, isError }: Item, describe: DescribeResult): string {
  if (isError === true) return `${toolName} failed: ${clip(text, LIMITS.error)}`
  const response = parse(text)
  if (response === undefined) return `${toolName}: ${clip(text, LIMITS.output)}`
  const line = clip(describe(toolName, response), LIMITS.output)
  return line.startsWith(toolName) ? line : `${toolName}: ${line}`
}

function findingsIn({ text, toolName = 'unknown' }: Item): string[] {
  const response = parse(text)
  const result = isRecord(response) && isRecord(response['result']) ? response['result'] : response
  if (!isRecord(result)) return []
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

function parse(text: string): unknown {
  const first = text.trimStart()[0]
  if (first !== '{' && first !== '[') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** Cut inside the limit, dots included. */
export const clip = (text: string, characters: number): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= characters ? line : `${cutHead(line, characters - 3)}...`
}
