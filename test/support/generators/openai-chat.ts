import { choose, type Script, type ScriptStep, type Turn, type UserPart } from './script.ts'

type Json = Record<string, unknown>

/** Renders a script as a chat completions body, in the forms that OpenAI and compatible vendors use. */
export function openaiChatBody(script: Script): Json {
  const { style } = script
  const legacy = choose(style, 0, 8)
  let ids = 0
  const nextId = (): string => `call_${ids++}`
  const messages: Json[] = script.system.map((text, i) => ({
    role: choose(style, 1) ? 'system' : 'developer',
    content: choose(style, i) ? text : [{ type: 'text', text }],
  }))
  for (const turn of script.turns) {
    messages.push(userMessage(turn))
    for (const step of turn.steps) messages.push(...(legacy ? legacyStep(step) : stepMessages(step, nextId)))
    if (turn.answer !== undefined) messages.push(answerMessage(turn))
    if (choose(turn.style, 3, 9)) messages.push({ role: 'system', content: 'Mind the time.' })
  }
  const declare = script.tools.map((name) => ({ name, description: `Runs ${name}`, parameters: { type: 'object' } }))
  return {
    ...(choose(style, 2) && { model: 'gpt-4o-mini' }),
    messages,
    ...(declare.length > 0 &&
      (legacy ? { functions: declare } : { tools: declare.map((tool) => ({ type: 'function', function: tool })) })),
    ...(script.maxTokens !== undefined && {
      [choose(style, 3) ? 'max_tokens' : 'max_completion_tokens']: script.maxTokens,
    }),
    ...(choose(style, 1, 3) && { stream: true, stream_options: { include_usage: true } }),
    ...(choose(style, 2, 3) && { vendor_key: { 10: 'ten', 9: 'nine', deep: [[[[1]]]] } }),
  }
}

function userMessage({ user, style }: Turn): Json {
  const only = user.length === 1 ? user[0] : undefined
  const content = only?.part === 'text' && choose(style, 0) ? only.text : user.map(userPart)
  return { role: 'user', content, ...(choose(style, 1, 4) && { name: 'pilot' }) }
}

function userPart(part: UserPart): Json {
  switch (part.part) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image': {
      const url = part.data === undefined ? 'https://example.test/ship.png' : `data:image/png;base64,${part.data}`
      return { type: 'image_url', image_url: { url, detail: 'low' } }
    }
    case 'document':
      return part.data === undefined
        ? { type: 'file', file: { file_id: 'file-1' } }
        : { type: 'file', file: { filename: 'log.pdf', file_data: `data:application/pdf;base64,${part.data}` } }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: 'wav' } }
    case 'unknown':
      return { type: 'hologram', hologram: { beam: part.value } }
  }
}

function reasoningFields({ reasoning, style }: ScriptStep): Json {
  if (reasoning === undefined) return {}
  if (choose(style, 0, 3)) return { reasoning_content: reasoning }
  if (choose(style, 1)) return { reasoning, reasoning_content: reasoning }
  return {
    reasoning,
    reasoning_details: [{ type: 'reasoning.text', text: reasoning, signature: 'c2ln', index: 0 }],
  }
}

function stepMessages(step: ScriptStep, nextId: () => string): Json[] {
  const ids = step.calls.map(nextId)
  const content = step.text ?? (choose(step.style, 2) ? null : '')
  const calls = step.calls.map((call, i) =>
    choose(step.style, 3, 5)
      ? { id: ids[i], type: 'custom', custom: { name: call.name, input: JSON.stringify(call.args) } }
      : { id: ids[i], type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } },
  )
  const assistant = {
    role: 'assistant',
    ...(content === null && choose(step.style, 1) ? {} : { content }),
    ...reasoningFields(step),
    tool_calls: calls,
    annotations: [],
  }
  const results = step.calls.map((call, i) => ({
    role: 'tool',
    tool_call_id: ids[i],
    content: choose(step.style, 4) ? call.result : resultParts(call.result, call.picture),
  }))
  return [assistant, ...(choose(step.style, 4) ? results : results.toReversed())]
}

const resultParts = (text: string, picture: boolean): Json[] => [
  { type: 'text', text },
  ...(picture ? [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] : []),
]

function legacyStep(step: ScriptStep): Json[] {
  return step.calls.flatMap((call) => [
    {
      role: 'assistant',
      content: step.text ?? null,
      function_call: { name: call.name, arguments: JSON.stringify(call.args) },
    },
    { role: 'function', name: call.name, content: call.result },
  ])
}

function answerMessage({ answer, style }: Turn): Json {
  if (choose(style, 2, 7)) return { role: 'assistant', content: null, refusal: answer }
  if (choose(style, 2, 6)) return { role: 'assistant', content: null, audio: { id: 'audio_1' } }
  if (choose(style, 2, 5)) return { role: 'assistant', content: [{ type: 'text', text: answer }] }
  return { role: 'assistant', content: answer, refusal: null }
}
