import { choose, type Script, type ScriptStep, type Turn } from './script.ts'

type Json = Record<string, unknown>

/** Renders a script as a body of Ollama's own chat, in the forms that its clients use. */
export function ollamaChatBody({ system, turns, tools, maxTokens, style }: Script): Json {
  let ids = 0
  const messages: Json[] = system.map((content) => ({ role: 'system', content }))
  for (const turn of turns) {
    messages.push(userMessage(turn))
    for (const step of turn.steps) messages.push(...stepMessages(step, () => `call_${ids++}`))
    if (turn.answer !== undefined) messages.push({ role: 'assistant', content: turn.answer })
    if (choose(turn.style, 3, 9)) messages.push({ role: 'system', content: 'Mind the time.' })
  }
  const options = {
    ...(choose(style, 2) && { num_ctx: 8_192 }),
    ...(maxTokens !== undefined && { num_predict: maxTokens }),
    temperature: 0.5,
  }
  return {
    model: 'qwen3:8b',
    messages,
    ...(tools.length > 0 && {
      tools: tools.map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })),
    }),
    ...(choose(style, 1, 3) && { stream: false }),
    options,
    ...(choose(style, 2, 3) && { vendor_key: { 10: 'ten', 9: 'nine', deep: [[[[1]]]] } }),
  }
}

function userMessage({ user, style }: Turn): Json {
  const images = user.flatMap((part) => (part.part === 'image' && part.data !== undefined ? [part.data] : []))
  const said = user.flatMap((part) => (part.part === 'text' ? [part.text] : [])).join('\n')
  // What is neither text nor the bytes of a picture cannot be sent: clients name it.
  const content = said === '' && images.length === 0 ? 'an attachment' : said
  return { role: 'user', content, ...(images.length > 0 && { images }), ...(choose(style, 1, 4) && { name: 'pilot' }) }
}

function stepMessages(step: ScriptStep, nextId: () => string): Json[] {
  const withIds = choose(step.style, 0)
  const calls = step.calls.map(({ name, args }, index) => ({
    ...(withIds && { id: nextId() }),
    function: { ...(choose(step.style, 2) && { index }), name, arguments: args },
  }))
  const results = step.calls.map(({ name, result }, i) => ({
    role: 'tool',
    tool_name: name,
    ...(withIds && { tool_call_id: calls[i]!.id }),
    content: result,
  }))
  return [
    {
      role: 'assistant',
      content: step.text ?? '',
      ...(step.reasoning !== undefined && { thinking: step.reasoning }),
      tool_calls: calls,
    },
    ...results,
  ]
}
