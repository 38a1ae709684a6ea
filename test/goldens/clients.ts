import type { WireName } from '../support/generators/index.ts'

export type Json = Record<string, unknown>

export interface ToolCall {
  readonly id: string
  readonly name: string
}

export interface ToolResult {
  readonly call: ToolCall
  readonly text: string
  readonly picture?: string
  readonly failed?: boolean
}

/** What the model said, as the client keeps it in its history, and what it wants done. */
export interface Read {
  readonly entries: readonly Json[]
  readonly calls: readonly ToolCall[]
}

export interface Ask {
  readonly history: readonly Json[]
  readonly stream: boolean
  /** Sessions of a wire differ where it has two ways of saying a thing. */
  readonly variant: number
}

/** An agent in the words of one wire, without an SDK, whose next version may send other bytes. */
export interface Client {
  path(ask: Pick<Ask, 'stream'>): string
  body(ask: Ask): Json
  user(text: string, picture?: string): Json
  results(results: readonly ToolResult[]): readonly Json[]
  read(answer: string, stream: boolean): Read
}

const SYSTEM =
  'You are an engineer on call. Read before you write, say what you found, and never restart a service that takes payments.\n' +
  'Answer in the words of the user. Paths are relative to /srv/shop – “höhe” and 漢字 are fine in them.'

const TOOLS = [
  { name: 'bash', about: 'Runs a command and returns what it prints.', argument: 'command' },
  { name: 'read_file', about: 'Returns a file.', argument: 'path' },
  { name: 'search', about: 'Searches the wiki; returns JSON.', argument: 'query' },
]

const schemaOf = (argument: string): Json => ({
  type: 'object',
  properties: { [argument]: { type: 'string' } },
  required: [argument],
})

const objects = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])
const object = (value: unknown): Json => (value ?? {}) as Json
const string = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The data of each event of a stream, whichever way its lines are framed. */
const eventsIn = (stream: string): Json[] =>
  stream.split('\n').flatMap((line) => {
    const data = line.startsWith('{') ? line : line.startsWith('data: {') ? line.slice('data: '.length) : undefined
    return data === undefined ? [] : [JSON.parse(data) as Json]
  })

const anthropic: Client = {
  path: () => '/v1/messages',
  body: ({ history, stream, variant }) => ({
    model: variant % 2 === 0 ? 'claude-opus-4-6' : 'claude-fable-5-1',
    max_tokens: 1_500,
    system: [{ type: 'text', text: SYSTEM, ...(variant % 3 === 1 && { cache_control: { type: 'ephemeral' } }) }],
    thinking: variant % 2 === 0 ? { type: 'enabled', budget_tokens: 1_024 } : { type: 'adaptive' },
    tools: TOOLS.map(({ name, about, argument }) => ({ name, description: about, input_schema: schemaOf(argument) })),
    messages: variant % 3 === 1 ? marked(history) : history,
    ...(stream && { stream }),
  }),
  user: (text, picture) => ({
    role: 'user',
    content: [
      { type: 'text', text },
      ...(picture === undefined
        ? []
        : [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } }]),
    ],
  }),
  results: (results) => [
    {
      role: 'user',
      content: results.map(({ call, text, picture, failed }) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content:
          picture === undefined
            ? text
            : [
                { type: 'text', text },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } },
              ],
        ...(failed === true && { is_error: true }),
      })),
    },
  ],
  read(answer, stream) {
    const content = stream ? anthropicBlocks(eventsIn(answer)) : objects((JSON.parse(answer) as Json)['content'])
    const calls = content.filter(({ type }) => type === 'tool_use')
    return {
      entries: [{ role: 'assistant', content }],
      calls: calls.map(({ id, name }) => ({ id: string(id), name: string(name) })),
    }
  },
}

/** Marks of the client's own, on its newest message: they move with each request. */
function marked(history: readonly Json[]): Json[] {
  return history.map((message, i) => {
    if (i !== history.length - 1) return message
    const content = objects(message['content'])
    return {
      ...message,
      content: content.map((block, b) =>
        b === content.length - 1 ? { ...block, cache_control: { type: 'ephemeral' } } : block,
      ),
    }
  })
}

function anthropicBlocks(events: readonly Json[]): Json[] {
  const blocks: Json[] = []
  const inputs: string[] = []
  for (const { type, index, content_block, delta } of events) {
    const at = Number(index)
    if (type === 'content_block_start') blocks[at] = { ...object(content_block) }
    if (type !== 'content_block_delta') continue
    const block = blocks[at]!
    const piece = object(delta)
    inputs[at] = (inputs[at] ?? '') + string(piece['partial_json'])
    for (const key of ['text', 'thinking', 'signature'])
      if (typeof piece[key] === 'string') block[key] = string(block[key]) + string(piece[key])
  }
  for (const [at, block] of blocks.entries())
    if (block['type'] === 'tool_use' && inputs[at] !== '') block['input'] = JSON.parse(inputs[at] ?? '{}')
  return blocks
}

const chat: Client = {
  path: () => '/v1/chat/completions',
  body: ({ history, stream, variant }) => ({
    model: 'gpt-4.1',
    messages: [{ role: variant % 2 === 0 ? 'system' : 'developer', content: SYSTEM }, ...history],
    tools: TOOLS.map(({ name, about, argument }) => ({
      type: 'function',
      function: { name, description: about, parameters: schemaOf(argument) },
    })),
    max_completion_tokens: 1_500,
    ...(stream && { stream }),
  }),
  user: (text, picture) => ({
    role: 'user',
    content:
      picture === undefined
        ? text
        : [
            { type: 'text', text },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
          ],
  }),
  results: (results) => results.map(({ call, text }) => ({ role: 'tool', tool_call_id: call.id, content: text })),
  read(answer, stream) {
    const message = stream
      ? chatMessage(eventsIn(answer))
      : object(objects((JSON.parse(answer) as Json)['choices'])[0]?.['message'])
    const calls = objects(message['tool_calls'])
    const entry: Json = { role: 'assistant', content: message['content'] ?? null }
    if (calls.length > 0) entry['tool_calls'] = calls
    return {
      entries: [entry],
      calls: calls.map((call) => ({ id: string(call['id']), name: string(object(call['function'])['name']) })),
    }
  },
}

function chatMessage(events: readonly Json[]): Json {
  let content: string | null = null
  const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = []
  for (const event of events) {
    const delta = object(objects(event['choices'])[0]?.['delta'])
    if (typeof delta['content'] === 'string') content = (content ?? '') + delta['content']
    for (const piece of objects(delta['tool_calls'])) {
      const made = object(piece['function'])
      const call = (calls[Number(piece['index'])] ??= {
        id: string(piece['id']),
        type: 'function',
        function: { name: '', arguments: '' },
      })
      call.function.name += string(made['name'])
      call.function.arguments += string(made['arguments'])
    }
  }
  return { content, tool_calls: calls }
}

const responses: Client = {
  path: () => '/v1/responses',
  body: ({ history, stream, variant }) => ({
    model: 'gpt-5.2',
    ...(variant % 2 === 0
      ? { instructions: SYSTEM, input: history }
      : { input: [{ role: 'developer', content: SYSTEM }, ...history] }),
    tools: TOOLS.map(({ name, about, argument }) => ({
      type: 'function',
      name,
      description: about,
      parameters: schemaOf(argument),
      strict: false,
    })),
    store: false,
    include: ['reasoning.encrypted_content'],
    max_output_tokens: 1_500,
    ...(stream && { stream }),
  }),
  user: (text, picture) => ({
    role: 'user',
    content:
      picture === undefined
        ? text
        : [
            { type: 'input_text', text },
            { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${picture}` },
          ],
  }),
  results: (results) =>
    results.map(({ call, text, picture }) => ({
      type: 'function_call_output',
      call_id: call.id,
      output:
        picture === undefined
          ? text
          : [
              { type: 'input_text', text },
              { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${picture}` },
            ],
    })),
  read(answer, stream) {
    const whole = stream
      ? object(eventsIn(answer).findLast(({ type }) => type === 'response.completed')?.['response'])
      : (JSON.parse(answer) as Json)
    const output = objects(whole['output'])
    const calls = output.filter(({ type }) => type === 'function_call')
    return { entries: output, calls: calls.map((one) => ({ id: string(one['call_id']), name: string(one['name']) })) }
  },
}

const gemini: Client = {
  path: ({ stream }) => `/v1beta/models/gemini-2.5-pro:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: ({ history, variant }) => ({
    systemInstruction: { parts: [{ text: SYSTEM }] },
    tools: [
      {
        functionDeclarations: TOOLS.map(({ name, about, argument }) => ({
          name,
          description: about,
          parametersJsonSchema: schemaOf(argument),
        })),
      },
    ],
    generationConfig: { maxOutputTokens: 1_500, thinkingConfig: { includeThoughts: variant % 2 === 0 } },
    contents: history,
  }),
  user: (text, picture) => ({
    role: 'user',
    parts: [{ text }, ...(picture === undefined ? [] : [{ inlineData: { mimeType: 'image/png', data: picture } }])],
  }),
  results: (results) => [
    {
      role: 'user',
      parts: results.map(({ call, text, failed }) => ({
        functionResponse: { ...call, response: failed === true ? { error: text } : { output: text } },
      })),
    },
  ],
  read(answer, stream) {
    const chunks = stream ? eventsIn(answer) : [JSON.parse(answer) as Json]
    const parts = joinedTexts(
      chunks.flatMap((chunk) => objects(object(objects(chunk['candidates'])[0]?.['content'])['parts'])),
    )
    const calls = parts.flatMap((part) => (part['functionCall'] === undefined ? [] : [object(part['functionCall'])]))
    return {
      entries: [{ role: 'model', parts }],
      calls: calls.map(({ id, name }) => ({ id: string(id), name: string(name) })),
    }
  },
}

/** Pieces of one text as the text that they make. */
function joinedTexts(parts: readonly Json[]): Json[] {
  const joined: Json[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (part['text'] === '' && part['thoughtSignature'] === undefined) continue
    if (typeof part['text'] === 'string' && typeof last?.['text'] === 'string' && part['thought'] === last['thought'])
      joined[joined.length - 1] = { ...last, ...part, text: last['text'] + part['text'] }
    else joined.push(part)
  }
  return joined
}

const ollama: Client = {
  path: () => '/api/chat',
  body: ({ history, stream, variant }) => ({
    model: 'qwen-local',
    messages: [{ role: 'system', content: SYSTEM }, ...history],
    tools: TOOLS.map(({ name, about, argument }) => ({
      type: 'function',
      function: { name, description: about, parameters: schemaOf(argument) },
    })),
    ...(!stream && { stream }),
    ...(variant % 2 === 0 && { think: true }),
    options: { num_predict: 1_500 },
  }),
  user: (text, picture) => ({
    role: 'user',
    content: text,
    ...(picture !== undefined && { images: [picture] }),
  }),
  results: (results) => results.map(({ call, text }) => ({ role: 'tool', tool_name: call.name, content: text })),
  read(answer, stream) {
    const messages = (stream ? eventsIn(answer) : [JSON.parse(answer) as Json]).map(({ message }) => object(message))
    const joined = (key: string): string => messages.map((message) => string(message[key])).join('')
    const calls = messages.flatMap((message) => objects(message['tool_calls']))
    const thinking = joined('thinking')
    return {
      entries: [
        {
          role: 'assistant',
          content: joined('content'),
          ...(thinking !== '' && { thinking }),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
      ],
      calls: calls.map((call) => ({ id: '', name: string(object(call['function'])['name']) })),
    }
  },
}

/** Its streams are binary, and read by the vendor's own SDK elsewhere. */
const converse: Client = {
  path: () => '/model/us.anthropic.claude-sonnet-4-6/converse',
  body: ({ history, variant }) => ({
    system: [{ text: SYSTEM }, ...(variant % 2 === 0 ? [{ cachePoint: { type: 'default' } }] : [])],
    toolConfig: {
      tools: TOOLS.map(({ name, about, argument }) => ({
        toolSpec: { name, description: about, inputSchema: { json: schemaOf(argument) } },
      })),
    },
    inferenceConfig: { maxTokens: 2_500 },
    ...(variant % 2 === 0 && { additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1_024 } } }),
    messages: history,
  }),
  user: (text, picture) => ({
    role: 'user',
    content: [{ text }, ...(picture === undefined ? [] : [{ image: { format: 'png', source: { bytes: picture } } }])],
  }),
  results: (results) => [
    {
      role: 'user',
      content: results.map(({ call, text, failed }) => ({
        toolResult: { toolUseId: call.id, content: [{ text }], ...(failed === true && { status: 'error' }) },
      })),
    },
  ],
  read(answer) {
    const message = object(object((JSON.parse(answer) as Json)['output'])['message'])
    const calls = objects(message['content']).flatMap((block) =>
      block['toolUse'] === undefined ? [] : [object(block['toolUse'])],
    )
    return {
      entries: [message],
      calls: calls.map(({ toolUseId, name }) => ({ id: string(toolUseId), name: string(name) })),
    }
  },
}

export const CLIENTS: Readonly<Record<WireName, Client>> = {
  'anthropic-messages': anthropic,
  'openai-chat': chat,
  'openai-responses': responses,
  gemini,
  'bedrock-converse': converse,
  'ollama-chat': ollama,
}
