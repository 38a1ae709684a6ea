import type { Wire } from '../../src/testing/referee/index.ts'

/** A conversation in no wire's words. */
export type Turn =
  | { readonly user: string }
  | { readonly assistant: string }
  /** A call of the client's tool with its result. */
  | { readonly id: string; readonly result: string }

export interface PlainCall {
  readonly name: string
  readonly input: object
}

/** Whole requests and answers of a wire, as plainly as it allows. */
export interface PlainWire {
  readonly url: string
  readonly key: (key: string) => Record<string, string>
  readonly request: (turns: readonly Turn[]) => object
  /** What the model says, or calls. */
  readonly answer: (said: string | PlainCall) => object
  /** The last entry of a request's history. */
  readonly last: (body: Readonly<Record<string, unknown>>) => unknown
}

const COMMAND = { command: 'cat log' }
const SCHEMA = { type: 'object', properties: { command: { type: 'string' } } }
const lastOf = (list: unknown): unknown => (list as readonly unknown[]).at(-1)
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })

export const PLAIN_WIRES: Readonly<Record<Wire, PlainWire>> = {
  'anthropic-messages': {
    url: 'https://api.anthropic.com/v1/messages',
    key: (key) => ({ 'x-api-key': key }),
    request: (turns) => ({
      model: 'claude-opus-4-6',
      max_tokens: 256,
      tools: [{ name: 'bash', input_schema: SCHEMA }],
      messages: turns.flatMap((turn): object[] => {
        if ('user' in turn) return [{ role: 'user', content: turn.user }]
        if ('assistant' in turn) return [{ role: 'assistant', content: turn.assistant }]
        return [
          { role: 'assistant', content: [{ type: 'tool_use', id: turn.id, name: 'bash', input: COMMAND }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: turn.id, content: turn.result }] },
        ]
      }),
    }),
    answer: (said) => ({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-4-6',
      content: [
        typeof said === 'string' ? { type: 'text', text: said } : { type: 'tool_use', id: 'toolu_own', ...said },
      ],
      stop_reason: typeof said === 'string' ? 'end_turn' : 'tool_use',
      usage: { input_tokens: 1, output_tokens: 1 },
    }),
    last: ({ messages }) => lastOf(messages),
  },
  'openai-chat': {
    url: 'https://api.openai.com/v1/chat/completions',
    key: bearer,
    request: (turns) => ({
      model: 'gpt-4.1',
      tools: [{ type: 'function', function: { name: 'bash', parameters: SCHEMA } }],
      messages: turns.flatMap((turn): object[] => {
        if ('user' in turn) return [{ role: 'user', content: turn.user }]
        if ('assistant' in turn) return [{ role: 'assistant', content: turn.assistant }]
        const made = { name: 'bash', arguments: JSON.stringify(COMMAND) }
        return [
          { role: 'assistant', content: null, tool_calls: [{ id: turn.id, type: 'function', function: made }] },
          { role: 'tool', tool_call_id: turn.id, content: turn.result },
        ]
      }),
    }),
    answer: (said) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'gpt-4.1',
      choices: [
        typeof said === 'string'
          ? { index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' }
          : {
              index: 0,
              message: {
                role: 'assistant',
                content: null,
                tool_calls: [
                  {
                    id: 'call_own',
                    type: 'function',
                    function: { name: said.name, arguments: JSON.stringify(said.input) },
                  },
                ],
              },
              finish_reason: 'tool_calls',
            },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
    last: ({ messages }) => lastOf(messages),
  },
  'openai-responses': {
    url: 'https://api.openai.com/v1/responses',
    key: bearer,
    request: (turns) => ({
      model: 'gpt-5.2',
      store: false,
      tools: [{ type: 'function', name: 'bash', parameters: SCHEMA, strict: false }],
      input: turns.flatMap((turn): object[] => {
        if ('user' in turn) return [{ role: 'user', content: turn.user }]
        if ('assistant' in turn) return [{ role: 'assistant', content: turn.assistant }]
        return [
          { type: 'function_call', call_id: turn.id, name: 'bash', arguments: JSON.stringify(COMMAND) },
          { type: 'function_call_output', call_id: turn.id, output: turn.result },
        ]
      }),
    }),
    answer: (said) => ({
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'gpt-5.2',
      output: [
        typeof said === 'string'
          ? {
              type: 'message',
              id: 'msg_1',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: said, annotations: [] }],
            }
          : {
              type: 'function_call',
              id: 'fc_1',
              call_id: 'call_own',
              name: said.name,
              arguments: JSON.stringify(said.input),
              status: 'completed',
            },
      ],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    }),
    last: ({ input }) => lastOf(input),
  },
  gemini: {
    url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent',
    key: (key) => ({ 'x-goog-api-key': key }),
    request: (turns) => ({
      tools: [{ functionDeclarations: [{ name: 'bash', parametersJsonSchema: SCHEMA }] }],
      contents: turns.flatMap((turn): object[] => {
        if ('user' in turn) return [{ role: 'user', parts: [{ text: turn.user }] }]
        if ('assistant' in turn) return [{ role: 'model', parts: [{ text: turn.assistant }] }]
        const response = { output: turn.result }
        return [
          { role: 'model', parts: [{ functionCall: { id: turn.id, name: 'bash', args: COMMAND } }] },
          { role: 'user', parts: [{ functionResponse: { id: turn.id, name: 'bash', response } }] },
        ]
      }),
    }),
    answer: (said) => ({
      candidates: [
        {
          index: 0,
          content: {
            role: 'model',
            parts: [
              typeof said === 'string' ? { text: said } : { functionCall: { name: said.name, args: said.input } },
            ],
          },
          finishReason: 'STOP',
        },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    }),
    last: ({ contents }) => lastOf(contents),
  },
  'bedrock-converse': {
    url: 'https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-opus-4-6-v1/converse',
    key: bearer,
    request: (turns) => ({
      toolConfig: { tools: [{ toolSpec: { name: 'bash', inputSchema: { json: SCHEMA } } }] },
      messages: turns.flatMap((turn): object[] => {
        if ('user' in turn) return [{ role: 'user', content: [{ text: turn.user }] }]
        if ('assistant' in turn) return [{ role: 'assistant', content: [{ text: turn.assistant }] }]
        const toolUseId = turn.id
        return [
          { role: 'assistant', content: [{ toolUse: { toolUseId, name: 'bash', input: COMMAND } }] },
          { role: 'user', content: [{ toolResult: { toolUseId, content: [{ text: turn.result }] } }] },
        ]
      }),
    }),
    answer: (said) => ({
      output: {
        message: {
          role: 'assistant',
          content: [typeof said === 'string' ? { text: said } : { toolUse: { toolUseId: 'tooluse_own', ...said } }],
        },
      },
      stopReason: typeof said === 'string' ? 'end_turn' : 'tool_use',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    }),
    last: ({ messages }) => lastOf(messages),
  },
  'ollama-chat': {
    url: 'http://localhost:11434/api/chat',
    key: bearer,
    request: (turns) => ({
      model: 'qwen-local',
      stream: false,
      tools: [{ type: 'function', function: { name: 'bash', parameters: SCHEMA } }],
      messages: turns.flatMap((turn): object[] => {
        if ('user' in turn) return [{ role: 'user', content: turn.user }]
        if ('assistant' in turn) return [{ role: 'assistant', content: turn.assistant }]
        const made = { function: { name: 'bash', arguments: COMMAND } }
        return [
          { role: 'assistant', content: '', tool_calls: [made] },
          { role: 'tool', tool_name: 'bash', content: turn.result },
        ]
      }),
    }),
    answer: (said) => ({
      model: 'qwen-local',
      created_at: '2026-01-01T00:00:00Z',
      message: {
        role: 'assistant',
        content: typeof said === 'string' ? said : '',
        ...(typeof said !== 'string' && {
          tool_calls: [{ function: { name: said.name, arguments: said.input } }],
        }),
      },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 1,
      eval_count: 1,
    }),
    last: ({ messages }) => lastOf(messages),
  },
}
