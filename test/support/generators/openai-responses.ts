import { choose, type Script, type ScriptCall, type ScriptStep, type Turn, type UserPart } from './script.ts'

type Json = Record<string, unknown>

/** Renders a script as a Responses body: messages, reasoning items, client and server tools, compaction, references. */
export function openaiResponsesBody(script: Script): Json {
  const { style } = script
  let ids = 0
  const nextId = (): number => ids++
  const input: Json[] = []
  if (script.system[1] !== undefined) input.push({ role: 'developer', content: script.system[1] })
  for (const turn of script.turns) {
    if (choose(turn.style, 4, 9)) input.push({ type: 'compaction', id: 'cmp_1', encrypted_content: 'Y29tcGFjdA==' })
    input.push(userMessage(turn))
    for (const step of turn.steps) input.push(...stepItems(step, nextId))
    if (turn.answer !== undefined) input.push(...answerItems(turn, turn.answer))
    if (choose(turn.style, 3, 9))
      input.push({ role: 'system', content: [{ type: 'input_text', text: 'Mind the time.' }] })
  }
  const only = script.turns.length === 1 && input.length === 1 ? script.turns[0]!.user : []
  const [sole] = only
  const asString = only.length === 1 && sole?.part === 'text' && choose(style, 0)
  return {
    model: 'gpt-5.1',
    ...(script.system[0] !== undefined && { instructions: script.system[0] }),
    input: asString ? sole.text : input,
    ...(script.tools.length > 0 && {
      tools: [
        ...script.tools.map((name) => ({ type: 'function', name, parameters: { type: 'object' }, strict: null })),
        { type: 'web_search' },
      ],
    }),
    ...(script.maxTokens !== undefined && { max_output_tokens: script.maxTokens }),
    ...(choose(style, 1, 3) && {
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low' },
    }),
    ...(choose(style, 2, 5) && { previous_response_id: 'resp_0' }),
    ...(choose(style, 3, 5) && { conversation: { id: 'conv_1' } }),
    ...(choose(style, 4, 3) && { metadata: { 2: 'b', 1: 'a' } }),
  }
}

function userMessage({ user, style }: Turn): Json {
  const only = user.length === 1 ? user[0] : undefined
  const content = only?.part === 'text' && choose(style, 0) ? only.text : user.map(userPart)
  return { ...(choose(style, 1) && { type: 'message' }), role: 'user', content }
}

function userPart(part: UserPart): Json {
  switch (part.part) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'image':
      return part.data === undefined
        ? { type: 'input_image', detail: 'auto', file_id: 'file-1' }
        : { type: 'input_image', detail: 'low', image_url: `data:image/png;base64,${part.data}` }
    case 'document':
      return part.data === undefined
        ? { type: 'input_file', file_url: 'https://example.test/log.pdf' }
        : { type: 'input_file', filename: 'log.pdf', file_data: `data:application/pdf;base64,${part.data}` }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: 'mp3' } }
    case 'unknown':
      return { type: 'input_hologram', beam: part.value }
  }
}

function stepItems(step: ScriptStep, nextId: () => number): Json[] {
  const { style } = step
  const out: Json[] = []
  if (step.reasoning !== undefined) {
    out.push({
      type: 'reasoning',
      id: `rs_${nextId()}`,
      summary: choose(style, 0) ? [] : [{ type: 'summary_text', text: step.reasoning }],
      ...(choose(style, 1) && { encrypted_content: 'Z0FBQUE=' }),
    })
  }
  if (choose(style, 2, 5)) out.push(serverRun(style, nextId()))
  if (step.text !== undefined) out.push(assistantMessage(step.text, style))
  const calls = step.calls.map((call) => callItems(call, style, `call_${nextId()}`))
  return [...out, ...calls.map(([call]) => call), ...calls.map(([, result]) => result)]
}

function serverRun(style: number, id: number): Json {
  if (choose(style, 3))
    return { type: 'web_search_call', id: `ws_${id}`, status: 'completed', action: { type: 'search' } }
  if (choose(style, 4))
    return { type: 'mcp_call', id: `mcp_${id}`, server_label: 'dock', name: 'berth', arguments: '{}', output: 'B4' }
  return {
    type: 'code_interpreter_call',
    id: `ci_${id}`,
    code: '1+1',
    container_id: 'c',
    outputs: null,
    status: 'completed',
  }
}

function callItems({ name, args, result, picture, failed }: ScriptCall, style: number, call_id: string): [Json, Json] {
  const input = JSON.stringify(args)
  if (choose(style, 3, 7))
    return [
      { type: 'custom_tool_call', call_id, name, input },
      { type: 'custom_tool_call_output', call_id, output: result },
    ]
  if (choose(style, 4, 7))
    return [
      { type: 'shell_call', call_id, action: { commands: ['ls'], ...args }, status: 'completed' },
      {
        type: 'shell_call_output',
        call_id,
        output: [{ stdout: result, stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
    ]
  if (choose(style, 2, 7))
    return [
      {
        type: 'apply_patch_call',
        call_id,
        operation: { type: 'update_file', path: 'a', diff: 'd' },
        status: 'completed',
      },
      { type: 'apply_patch_call_output', call_id, status: failed ? 'failed' : 'completed', output: result },
    ]
  const parts = [
    { type: 'input_text', text: result },
    ...(picture ? [{ type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AAAA' }] : []),
  ]
  return [
    { type: 'function_call', id: `fc_${call_id}`, call_id, name, arguments: input, status: 'completed' },
    { type: 'function_call_output', call_id, output: choose(style, 1) ? result : parts },
  ]
}

function assistantMessage(text: string, style: number): Json {
  if (choose(style, 0)) return { role: 'assistant', content: text }
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content }
}

function answerItems({ style }: Turn, answer: string): Json[] {
  if (choose(style, 2, 7)) return [{ type: 'item_reference', id: 'msg_7' }]
  if (choose(style, 2, 6))
    return [{ type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: answer }] }]
  if (choose(style, 2, 5)) return [{ type: 'image_generation_call', id: 'ig_1', result: 'AAAA', status: 'completed' }]
  return [assistantMessage(answer, style)]
}
