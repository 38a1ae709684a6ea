import { choose, type Script, type ScriptStep, type Turn, type UserPart } from './script.ts'

type Json = Record<string, unknown>

/** Renders a script as a Converse body: cache points, signed and encrypted thinking, tools that the provider runs. */
export function bedrockConverseBody(script: Script): Json {
  const { style } = script
  let ids = 0
  const nextId = (): string => `tooluse_${ids++}`
  const messages: Json[] = []
  for (const turn of script.turns) {
    messages.push({ role: 'user', content: [...turn.user.map(userBlock), ...point(turn.style, 1, 3)] })
    for (const step of turn.steps) messages.push(...stepMessages(step, nextId))
    if (turn.answer !== undefined) messages.push({ role: 'assistant', content: answerBlocks(turn, turn.answer) })
  }
  const tools = script.tools.map((name) => ({
    toolSpec: { name, description: name, inputSchema: { json: { type: 'object' } } },
  }))
  return {
    messages,
    ...(script.system.length > 0 && { system: [...script.system.map((text) => ({ text })), ...point(style, 1, 3)] }),
    ...(tools.length > 0 && {
      toolConfig: {
        tools: [...tools, ...point(style, 4, 3)],
        ...(choose(style, 0, 4) && { toolChoice: { auto: {} } }),
      },
    }),
    ...(script.maxTokens !== undefined && { inferenceConfig: { temperature: 0.5, maxTokens: script.maxTokens } }),
    ...(choose(style, 2, 3) && {
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1024 }, 2: 'b', 1: 'a' },
    }),
    ...(choose(style, 3, 3) && { requestMetadata: { team: 'blue' } }),
  }
}

const point = (style: number, at: number, of: number): Json[] =>
  choose(style, at, of) ? [{ cachePoint: { type: 'default' } }] : []

function userBlock(part: UserPart): Json {
  const sourceOf = (data: string | undefined): Json =>
    data === undefined ? { s3Location: { uri: 's3://bucket/key' } } : { bytes: data }
  switch (part.part) {
    case 'text':
      return { text: part.text }
    case 'image':
      return { image: { format: 'png', source: sourceOf(part.data) } }
    case 'document':
      return { document: { format: 'pdf', name: 'paper', source: sourceOf(part.data) } }
    case 'audio':
      return { audio: { format: 'wav', source: { bytes: part.data } } }
    case 'unknown':
      return { guardContent: { text: { text: part.value } } }
  }
}

function stepMessages(step: ScriptStep, nextId: () => string): Json[] {
  const { style, calls } = step
  const ids = calls.map(nextId)
  const content: Json[] = []
  if (step.reasoning !== undefined)
    content.push({
      reasoningContent: choose(style, 0, 4)
        ? { redactedContent: 'b3BhcXVl' }
        : { reasoningText: { text: step.reasoning, signature: 'c2ln' } },
    })
  if (step.text !== undefined) content.push({ text: step.text })
  if (choose(style, 1, 5)) {
    const toolUseId = `srv_${ids[0]}`
    content.push({ toolUse: { toolUseId, name: 'nova_grounding', input: { query: 'tide' }, type: 'server_tool_use' } })
    content.push({ toolResult: { toolUseId, content: [{ json: { found: 'tide' } }], type: 'nova_grounding_result' } })
  }
  for (const [i, { name, args }] of calls.entries()) content.push({ toolUse: { toolUseId: ids[i], name, input: args } })
  const results = calls.map((call, i) => ({
    toolResult: {
      toolUseId: ids[i],
      content: [
        choose(style, 2) ? { text: call.result } : { json: { result: call.result, 2: 'b', 1: 'a' } },
        ...(call.picture ? [{ image: { format: 'png', source: { bytes: 'AAAA' } } }] : []),
      ],
      ...(call.failed && { status: 'error' }),
    },
  }))
  return [
    { role: 'assistant', content },
    { role: 'user', content: [...results, ...point(style, 3, 4)] },
  ]
}

const answerBlocks = ({ style }: Turn, answer: string): Json[] =>
  choose(style, 2, 4) ? [{ citationsContent: { content: [{ text: answer }], citations: [] } }] : [{ text: answer }]
