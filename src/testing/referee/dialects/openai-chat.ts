import { type Fields, isRecord, recordsIn, textOf } from '../../../core/values.ts'
import { SSE_DONE } from '../../../formats/framing.ts'
import { profilesOf, readImageHeader } from '../../../formats/kit/rules.ts'
import { usageOf } from '../../../formats/openai-chat/answers.ts'
import { checkOpenAiChat } from '../../../formats/openai-chat/rules.ts'
import type {
  Dialect,
  Failure,
  FailureKind,
  OverflowFacts,
  RefereeRequest,
  RenderContext,
  Rendered,
  RequestFacts,
  Route,
  Segment,
} from '../types.ts'
import { functionNames, routeBy, toolSegment, withBase, written } from './pieces.ts'

const ERROR_TYPES: Record<FailureKind, string> = {
  invalid: 'invalid_request_error',
  overflow: 'invalid_request_error',
  'too-large': 'invalid_request_error',
  throttle: 'tokens',
  server: 'server_error',
  overloaded: 'server_error',
  auth: 'invalid_request_error',
  'not-found': 'invalid_request_error',
}

/** Codes by which clients recognise these errors. */
const CODES: Partial<Record<string, string>> = {
  overflow: 'context_length_exceeded',
  throttle: 'rate_limit_exceeded',
  auth: 'invalid_api_key',
  'reasoning-unsealed': 'invalid_encrypted_content',
  'compaction-unsealed': 'invalid_encrypted_content',
  'previous-response-known': 'previous_response_not_found',
}

export function openAiError(failure: Failure): { readonly error: Readonly<Record<string, unknown>> } {
  const code = CODES[failure.rule ?? ''] ?? CODES[failure.kind] ?? null
  const { message, param } = failure
  return {
    error: {
      message,
      type: ERROR_TYPES[failure.kind],
      param: param === undefined || param === '' ? null : param,
      code,
    },
  }
}

export function authoriseBearer({ headers }: RefereeRequest, apiKey: string | undefined): Failure | undefined {
  const given = headers.authorization?.replace(/^Bearer /i, '') ?? headers['api-key']
  if (given === undefined) return { kind: 'auth', status: 401, message: "You didn't provide an API key." }
  if (apiKey === undefined || given === apiKey) return undefined
  return { kind: 'auth', status: 401, message: 'Incorrect API key provided.' }
}

export const openAiModels = (ids: readonly string[], window: number): unknown => ({
  object: 'list',
  data: ids.map((id) => ({ id, object: 'model', created: 1_767_225_600, owned_by: 'referee', context_length: window })),
})

// Exact for text on this wire: 3 tokens for the answer, 4 for each message; about 10 for a call.
const BASE = 3
const FRAME = 4
const CALL_FRAME = 10

function readChat(body: Fields, route: Route): RequestFacts {
  const options = isRecord(body.stream_options) ? body.stream_options : {}
  const cap = body.max_completion_tokens ?? body.max_tokens
  return {
    model: route.model ?? textOf(body.model),
    stream: body.stream === true,
    maxOutput: typeof cap === 'number' ? cap : undefined,
    segments: segmentsOf(body),
    tools: functionNames(body.tools),
    asksUsage: body.stream !== true || options.include_usage === true,
  }
}

function segmentsOf(body: Fields): Segment[] {
  const tools = recordsIn(body.tools).map(toolSegment)
  const messages = recordsIn(body.messages).map((message, index): Segment => {
    const path = `messages[${index}]`
    const section = message.role === 'system' || message.role === 'developer' ? 'system' : 'messages'
    return { path, section, ...describeMessage(message) }
  })
  return withBase([...tools, ...messages], BASE)
}

function describeMessage(message: Fields): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
  const content = describeContent(message.content)
  const calls = recordsIn(message.tool_calls).map((call) => {
    const declared = isRecord(call.function) ? call.function : {}
    return `${textOf(call.id)} ${textOf(declared.name)} ${textOf(declared.arguments)}`
  })
  const reasoning = textOf(message.reasoning_content)
  const text = [reasoning, content.text, ...calls].filter((part) => part !== '').join('\n')
  return {
    key: `${textOf(message.role)} ${textOf(message.tool_call_id)} ${content.key} ${calls.join('\u0001')} ${reasoning}`,
    text,
    extraTokens: FRAME + calls.length * CALL_FRAME + content.extraTokens,
  }
}

export function describeContent(content: unknown): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
  if (typeof content === 'string') return { key: content, text: content, extraTokens: 0 }
  const keys: string[] = []
  const texts: string[] = []
  let extraTokens = 0
  for (const part of recordsIn(content)) {
    const text = textOf(part.text)
    const url = imageUrlOf(part)
    if (url === '') {
      keys.push(text === '' ? JSON.stringify(part) : text)
      texts.push(text)
    } else {
      keys.push(url)
      extraTokens += imageTokens(url)
    }
  }
  return { key: keys.join('\u0001'), text: texts.join('\n'), extraTokens }
}

function imageUrlOf(part: Fields): string {
  if (part.type === 'input_image') return textOf(part.image_url)
  return isRecord(part.image_url) ? textOf(part.image_url.url) : ''
}

// The vendor's rule: 85 tokens, and 170 for each tile of 512 pixels after scaling the short side to 768.
const TILE = 512
const SHORT_SIDE = 768
const LONG_SIDE = 2048

function imageTokens(url: string): number {
  const comma = url.indexOf(',')
  const header =
    url.startsWith('data:') && comma !== -1 ? readImageHeader(url.slice(comma + 1, comma + 176_001)) : undefined
  const { width = SHORT_SIDE, height = SHORT_SIDE } = header ?? {}
  const fit = Math.min(1, LONG_SIDE / Math.max(width, height, 1))
  const scale = fit * Math.min(1, SHORT_SIDE / Math.max(1, Math.min(width, height) * fit))
  return 85 + 170 * Math.ceil((width * scale) / TILE) * Math.ceil((height * scale) / TILE)
}

function renderChat(context: RenderContext): Rendered {
  const { answer, usage, facts, usageAtEnd, profile } = context
  // Usage is sent only on request, in a chunk of its own; with `usageAtEnd` it is always sent.
  const reports = usage !== undefined && (facts.asksUsage === true || usageAtEnd)
  // Mistral issues ids of nine characters and accepts no others.
  const id: RenderContext['id'] = profilesOf(profile).has('mistral')
    ? (prefix, part) => context.id(prefix, part).slice(-9)
    : context.id
  const { body, events } = written('openai-chat', { ...context, id }, reports)
  const refusal = answer.parts.map((part) => (part.type === 'refusal' ? part.text : '')).join('')
  const refused = {
    index: 0,
    message: { role: 'assistant', content: null, refusal },
    logprobs: null,
    finish_reason: 'stop',
  }
  const choices = refusal === '' ? {} : { choices: [refused] }
  return { body: { ...(body as Fields), ...choices, usage: usage && usageOf(usage) }, events }
}

/** Chat completions. Sub-profiles change the rules and the text of an overflow error. */
export const openAiChat: Dialect = {
  wire: 'openai-chat',
  route: routeBy({ 'POST /chat/completions': 'generate', 'GET /models': 'models' }),
  check: checkOpenAiChat,
  read: readChat,
  authorise: authoriseBearer,
  overflow(facts) {
    const profiles = profilesOf(facts.profile)
    for (const [name, wording] of Object.entries(LOCAL_WORDINGS)) if (profiles.has(name)) return wording(facts)
    const { input, maxOutput, window } = facts
    const limit = `This model's maximum context length is ${window} tokens.`
    const message =
      maxOutput === 0 || input > window
        ? `${limit} However, your messages resulted in ${input} tokens. Please reduce the length of the messages.`
        : `${limit} However, you requested ${input + maxOutput} tokens (${input} in the messages, ${maxOutput} in the ` +
          'completion). Please reduce the length of the messages or completion.'
    return { kind: 'overflow', status: 400, message, param: 'messages' }
  },
  error: openAiError,
  refuseInside(failure, id, created) {
    const body = failure.body ?? openAiError(failure)
    const head = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model: 'referee-model' }
    const delta = { role: 'assistant', content: '' }
    const first = { ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: null }] }
    return { body, events: [{ data: JSON.stringify(first) }, { data: JSON.stringify(body) }, { data: SSE_DONE }] }
  },
  render: renderChat,
  count: (tokens) => ({ input_tokens: tokens }),
  models: openAiModels,
  keepAlive: ': OPENROUTER PROCESSING\n\n',
  cache: { mode: 'automatic', minimumTokens: 1024, blockTokens: 128, shortTtlSeconds: 600, longTtlSeconds: 86_400 },
  fits: 'input-plus-output',
}

const withBody = (message: string, body: unknown, status = 400): Failure => ({
  kind: 'overflow',
  status,
  message,
  body,
})

/** The overflow errors of other servers of this wire. */
const LOCAL_WORDINGS: Readonly<Record<string, (facts: OverflowFacts) => Failure>> = {
  'llama-server': ({ input, window }) => {
    const message = `request (${input} tokens) exceeds the available context size (${window} tokens), try increasing it`
    const type = 'exceed_context_size_error'
    return withBody(message, { error: { code: 400, message, type, n_prompt_tokens: input, n_ctx: window } })
  },
  'lm-studio': ({ input, window }) => {
    const message =
      'The number of tokens to keep from the initial prompt is greater than the context length ' +
      `(n_keep: ${input}>= n_ctx: ${window}). Try to load the model with a larger context length, or provide a shorter input.`
    return withBody(message, { error: message })
  },
  ollama: () =>
    withBody('the input length exceeds the context length', { error: 'the input length exceeds the context length' }),
  vllm: ({ input, maxOutput, window }) => {
    const message =
      `This model's maximum context length is ${window} tokens. However, you requested ${input + maxOutput} tokens ` +
      `(${input} in the messages, ${maxOutput} in the completion). Please reduce the length of the messages or completion. None`
    return withBody(message, { object: 'error', message, type: 'BadRequestError', param: null, code: 400 })
  },
  groq: () => ({
    kind: 'overflow',
    status: 400,
    message: 'Please reduce the length of the messages or completion.',
    param: 'messages',
  }),
  mistral: ({ input, window }) => {
    const message = `Prompt contains ${input} tokens and 0 draft tokens, too large for model with ${window} maximum context length`
    return withBody(message, { object: 'error', message, type: 'invalid_request_prompt', param: null, code: '3051' })
  },
}
