import { choose, type Script, type ScriptStep, type Turn, type UserPart } from './script.ts'

type Json = Record<string, unknown>

/** Renders a script as an Anthropic messages body, cache marks, thinking and server tools included. */
export function anthropicMessagesBody(script: Script): Json {
  const { style } = script
  let ids = 0
  const nextId = (): string => `toolu_${ids++}`
  const messages: Json[] = []
  for (const turn of script.turns) {
    messages.push(userMessage(turn))
    for (const step of turn.steps) messages.push(...stepMessages(step, nextId))
    if (turn.answer !== undefined) messages.push(answerMessage(turn, turn.answer))
  }
  return {
    model: 'claude-sonnet-4-5',
    max_tokens: script.maxTokens ?? 1024,
    ...(script.system.length > 0 && {
      system: choose(style, 0)
        ? script.system[0]
        : script.system.map((text) => ({ type: 'text', text, ...mark(style, 1, 3) })),
    }),
    messages,
    ...(script.tools.length > 0 && {
      tools: script.tools.map((name) => ({ name, description: name, input_schema: { type: 'object' } })),
    }),
    ...(choose(style, 2, 3) && { thinking: { type: 'enabled', budget_tokens: 1024 } }),
    ...(choose(style, 3, 3) && { vendor_key: { 2: 'b', 1: 'a' } }),
  }
}

const mark = (style: number, at: number, of: number): Json =>
  choose(style, at, of) ? { cache_control: { type: 'ephemeral' } } : {}

function userMessage({ user, style }: Turn): Json {
  const only = user.length === 1 ? user[0] : undefined
  if (only?.part === 'text' && choose(style, 0)) return { role: 'user', content: only.text }
  return { role: 'user', content: user.map((part) => ({ ...userBlock(part), ...mark(style, 1, 3) })) }
}

function userBlock(part: UserPart): Json {
  switch (part.part) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image':
    case 'document': {
      const mime = part.part === 'image' ? 'image/png' : 'application/pdf'
      const source =
        part.data === undefined
          ? { type: 'url', url: 'https://example.test/ship' }
          : { type: 'base64', media_type: mime, data: part.data }
      return { type: part.part, source }
    }
    case 'audio':
      return { type: 'audio', source: { type: 'base64', media_type: 'audio/wav', data: part.data } }
    case 'unknown':
      return { type: 'container_upload', file_id: part.value }
  }
}

function stepMessages(step: ScriptStep, nextId: () => string): Json[] {
  const { style, calls } = step
  const ids = calls.map(nextId)
  const blocks: Json[] = []
  if (step.reasoning !== undefined) {
    blocks.push(
      choose(style, 0, 4)
        ? { type: 'redacted_thinking', data: 'b3BhcXVl' }
        : { type: 'thinking', thinking: step.reasoning, signature: 'c2ln' },
    )
  }
  if (step.text !== undefined) blocks.push({ type: 'text', text: step.text })
  if (choose(style, 1, 5)) {
    blocks.push({ type: 'server_tool_use', id: `srv${ids[0]}`, name: 'web_search', input: { query: 'tide' } })
    blocks.push({ type: 'web_search_tool_result', tool_use_id: `srv${ids[0]}`, content: [{ encrypted_content: 'x' }] })
  }
  for (const [i, call] of calls.entries())
    blocks.push({ type: 'tool_use', id: ids[i], name: call.name, input: call.args })
  const results = calls.map((call, i) => ({
    type: 'tool_result',
    tool_use_id: ids[i],
    content: choose(style, 2)
      ? call.result
      : [
          { type: 'text', text: call.result },
          ...(call.picture
            ? [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }]
            : []),
        ],
    ...(call.failed && { is_error: true }),
    ...mark(style, 3, 4),
  }))
  return [
    { role: 'assistant', content: blocks },
    { role: 'user', content: results },
  ]
}

function answerMessage({ style }: Turn, answer: string): Json {
  if (choose(style, 2)) return { role: 'assistant', content: answer }
  const citations = [{ type: 'char_location', cited_text: 'x', document_index: 0 }]
  return { role: 'assistant', content: [{ type: 'text', text: answer, ...(choose(style, 3) && { citations }) }] }
}
