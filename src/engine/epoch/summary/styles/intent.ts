import type { Item } from '../../../../core/item.ts'
import { excerptOf } from '../transcript.ts'
import { LANGUAGE, type Style } from './style.ts'

/**
 * adk-code: what the user wants, in two or three sentences, from the user's messages. Where the folded part holds none, as in one long run
 * of tools, from what was done for the request that stands.
 */
export const intent: Style = {
  system: () =>
    `Summarize the user's intent in 2-3 sentences; where the transcript holds no words of the user, what was done for the request so far. ${LANGUAGE}`,
  reads: (items) => {
    const said = items.filter((item) => item.kind === 'user')
    return said.length > 0 ? said : items
  },
  prompt: ({ items, request }, transcript) =>
    items.some((item) => item.kind === 'user')
      ? transcript
      : `The user's request: ${excerptOf(request, 2_000)}\n\nWhat was done for it:\n${transcript}`,
  fallback: ({ items }) => {
    const said = items.filter((item) => item.kind === 'user').length
    const done = workDone(items)
    const parts = [
      ...(said > 0 ? [`The conversation so far had ${said} user messages.`] : []),
      ...(done === '' ? [] : [done]),
    ]
    return parts.join(' ')
  },
}

/** Which tools were called, how often, and how many of the calls failed. */
function workDone(items: readonly Item[]): string {
  const calls = new Map<string, number>()
  for (const { kind, toolName = 'unknown' } of items)
    if (kind === 'call') calls.set(toolName, (calls.get(toolName) ?? 0) + 1)
  if (calls.size === 0) return ''
  const failed = items.filter((item) => item.kind === 'result' && item.isError === true).length
  const total = [...calls.values()].reduce((sum, count) => sum + count, 0)
  const named = [...calls].sort((a, b) => b[1] - a[1]).slice(0, 8)
  const tools = named.map(([tool, count]) => `${tool} ${count}×`).join(', ')
  return `${total} tool calls were made since then: ${tools}${calls.size > named.length ? ' and others' : ''}${failed > 0 ? `; ${failed} failed` : ''}.`
}
