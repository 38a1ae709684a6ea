import type { ToolDeclaration } from '../../../core/item.ts'
import type { Tokenizer } from '../../../ports/tokenizer.ts'
import { declaredTool, type LoadEstimator, messagesOf, utf8Length } from '../messages.ts'

const PER_MESSAGE = 4
const PER_CALL = 2
const SCHEMA_FACTOR = 2.09

/** Tools that answer the user rather than act; their schemas count only when nothing else is declared. */
const OWN_TOOLS = /(^|__)(final_report|task_status)$/

/** Math.ceil(characters / 4), which the design never goes below. */
const approximateTokens = (text: string): number => Math.ceil(text.length / 4)

/** The largest count that any target's tokenizer gives, and at least a token per four characters. */
function mostTokens(text: string, tokenizers: readonly Tokenizer[]): number {
  return Math.max(approximateTokens(text), ...tokenizers.map((tokenizer) => Math.ceil(tokenizer.count(text).tokens)))
}

/** Role line, content, calls as JSON and call id of each message; 4 per message and 2 per call on top; never below bytes / 4. */
export function aiAgentEstimator(tokenizers: readonly Tokenizer[]): LoadEstimator {
  return {
    name: 'ai-agent',
    estimate: ({ head, items }) =>
      [...messagesOf(head), ...messagesOf(items)].reduce((sum, message) => {
        const content = message
          .filter(({ kind }) => kind !== 'call')
          .map(({ text }) => text)
          .join('\n')
        const calls = message
          .filter(({ kind }) => kind === 'call')
          .map(({ callId, toolName, text }) => ({ id: callId, name: toolName, parameters: text }))
        const callId = message.find(({ kind }) => kind === 'result')?.callId
        const role = message[0]!.role
        const text = [
          role,
          content,
          ...(calls.length === 0 ? [] : [JSON.stringify(calls)]),
          ...(callId === undefined ? [] : [callId]),
        ].join('\n')
        const serialised = JSON.stringify({
          role,
          content,
          ...(calls.length > 0 && { toolCalls: calls }),
          ...(callId !== undefined && { toolCallId: callId }),
        })
        const tokens = Math.max(0, ...tokenizers.map((tokenizer) => Math.ceil(tokenizer.count(text).tokens)))
        const framed = tokens + PER_MESSAGE + PER_CALL * calls.length
        return sum + Math.max(framed, Math.ceil(utf8Length(serialised) / 4))
      }, 0),
  }
}

/** Schemas as the design counts them: name, description and schema as JSON, times 2.09, rounded up. */
export function aiAgentSchemaTokens(tools: readonly ToolDeclaration[], tokenizers: readonly Tokenizer[]): number {
  const acting = tools.filter(({ name }) => !OWN_TOOLS.test(name))
  const counted = acting.length > 0 ? acting : tools
  const total = counted.reduce(
    (sum, tool) => sum + mostTokens(JSON.stringify(declaredTool(tool.name, tool.text)), tokenizers),
    0,
  )
  return Math.ceil(total * SCHEMA_FACTOR)
}
