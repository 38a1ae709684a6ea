import type { WireName } from '../../support/generators/index.ts'

/** A conversation in the plainest form of each wire: unique ids, no marks, no server tools, nothing unusual. */
export interface PlainTurn {
  readonly user: string
  readonly steps: readonly PlainStep[]
  readonly answer?: string
}
export interface PlainStep {
  readonly text?: string
  readonly calls: readonly PlainCall[]
}
export interface PlainCall {
  readonly name?: string
  readonly args?: object
  readonly result: string
}

interface NumberedCall extends Required<PlainCall> {
  readonly id: string
}

type Message =
  | { readonly role: 'user' | 'assistant'; readonly text: string }
  | { readonly role: 'step'; readonly text: string | undefined; readonly calls: readonly NumberedCall[] }

export function plainBody(wire: WireName, turns: readonly PlainTurn[], system?: string): Record<string, unknown> {
  let calls = 0
  const messages = turns.flatMap(({ user, steps, answer }): Message[] => [
    { role: 'user', text: user },
    ...steps.map((step) => ({
      role: 'step' as const,
      text: step.text,
      calls: step.calls.map(({ name = 'bash', args = {}, result }) => ({ id: `call_${calls++}`, name, args, result })),
    })),
    ...(answer === undefined ? [] : [{ role: 'assistant' as const, text: answer }]),
  ])
  return RENDER[wire](messages, system)
}

/** A history with calls needs its tools declared. */
function declaredConverse(messages: readonly Message[]): object {
  const names = new Set(messages.flatMap((one) => (one.role === 'step' ? one.calls.map(({ name }) => name) : [])))
  const tools = [...names].map((name) => ({ toolSpec: { name, inputSchema: { json: { type: 'object' } } } }))
  return tools.length > 0 ? { toolConfig: { tools } } : {}
}

const RENDER: Record<WireName, (messages: readonly Message[], system?: string) => Record<string, unknown>> = {
  'anthropic-messages': (messages, system) => ({
    model: 'claude-sonnet-4-5',
    max_tokens: 100,
    ...(system !== undefined && { system }),
    messages: messages.flatMap((message): object[] => {
      if (message.role !== 'step') return [{ role: message.role, content: message.text }]
      const { text, calls } = message
      return [
        {
          role: 'assistant',
          content: [
            ...(text === undefined ? [] : [{ type: 'text', text }]),
            ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
          ],
        },
        {
          role: 'user',
          content: calls.map(({ id, result }) => ({ type: 'tool_result', tool_use_id: id, content: result })),
        },
      ]
    }),
  }),
  'openai-chat': (messages, system) => ({
    model: 'gpt-4.1',
    max_completion_tokens: 100,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages.flatMap((message): object[] => {
        if (message.role !== 'step') return [{ role: message.role, content: message.text }]
        const { text, calls } = message
        return [
          {
            role: 'assistant',
            content: text ?? null,
            tool_calls: calls.map(({ id, name, args }) => ({
              id,
              type: 'function',
              function: { name, arguments: JSON.stringify(args) },
            })),
          },
          ...calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
        ]
      }),
    ],
  }),
  'bedrock-converse': (messages, system) => ({
    inferenceConfig: { maxTokens: 100 },
    ...declaredConverse(messages),
    ...(system !== undefined && { system: [{ text: system }] }),
    messages: messages.flatMap((message): object[] => {
      if (message.role !== 'step') return [{ role: message.role, content: [{ text: message.text }] }]
      const { text, calls } = message
      return [
        {
          role: 'assistant',
          content: [
            ...(text === undefined ? [] : [{ text }]),
            ...calls.map(({ id, name, args }) => ({ toolUse: { toolUseId: id, name, input: args } })),
          ],
        },
        {
          role: 'user',
          content: calls.map(({ id, result }) => ({ toolResult: { toolUseId: id, content: [{ text: result }] } })),
        },
      ]
    }),
  }),
  'ollama-chat': (messages, system) => ({
    model: 'llama3.1:8b',
    stream: false,
    options: { num_predict: 100 },
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages.flatMap((message): object[] => {
        if (message.role !== 'step') return [{ role: message.role, content: message.text }]
        const { text, calls } = message
        return [
          {
            role: 'assistant',
            content: text ?? '',
            tool_calls: calls.map(({ id, name, args }) => ({ id, function: { name, arguments: args } })),
          },
          ...calls.map(({ id, name, result }) => ({
            role: 'tool',
            tool_name: name,
            tool_call_id: id,
            content: result,
          })),
        ]
      }),
    ],
  }),
  'openai-responses': (messages, system) => ({
    model: 'gpt-5.1',
    max_output_tokens: 100,
    ...(system !== undefined && { instructions: system }),
    input: messages.flatMap((message): object[] => {
      if (message.role !== 'step') return [{ role: message.role, content: message.text }]
      const { text, calls } = message
      return [
        ...(text === undefined ? [] : [{ role: 'assistant', content: text }]),
        ...calls.map(({ id, name, args }) => ({
          type: 'function_call',
          call_id: id,
          name,
          arguments: JSON.stringify(args),
        })),
        ...calls.map(({ id, result }) => ({ type: 'function_call_output', call_id: id, output: result })),
      ]
    }),
  }),
  gemini: (messages, system) => ({
    ...(system !== undefined && { systemInstruction: { parts: [{ text: system }] } }),
    generationConfig: { maxOutputTokens: 100 },
    contents: messages.flatMap((message): object[] => {
      if (message.role !== 'step')
        return [{ role: message.role === 'user' ? 'user' : 'model', parts: [{ text: message.text }] }]
      const { text, calls } = message
      return [
        {
          role: 'model',
          parts: [
            ...(text === undefined ? [] : [{ text }]),
            ...calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } })),
          ],
        },
        {
          role: 'user',
          parts: calls.map(({ id, name, result }) => ({
            functionResponse: { id, name, response: { output: result } },
          })),
        },
      ]
    }),
  }),
}
