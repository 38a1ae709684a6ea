import { checkOpenAiChat } from '../../../formats/openai-chat/rules.ts'
import { profilesOf } from '../../../formats/kit/rule-kit.ts'
import { SSE_DONE } from '../../../formats/framing/sse.ts'
import type { Dialect, Failure, OverflowFacts } from '../types.ts'
import { authoriseBearer, openAiError, openAiModels } from './openai-errors.ts'
import { renderChat } from './openai-chat-render.ts'
import { readChat } from './openai-chat-segments.ts'

/** Chat completions. Sub-profiles change the rules and the wording of an overflow. */
export const openAiChat: Dialect = {
  wire: 'openai-chat',
  route(method, path) {
    const [route = ''] = path.split('?')
    if (method === 'POST' && route.endsWith('/chat/completions')) return { kind: 'generate' }
    return method === 'GET' && route.endsWith('/models') ? { kind: 'models' } : undefined
  },
  check: checkOpenAiChat,
  read: readChat,
  authorise: authoriseBearer,
  verify: () => ({ violations: [] }),
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
  errorEvent: (failure) => ({ data: JSON.stringify(openAiError(failure)) }),
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
  overloadedStatus: 503,
  namesPaths: false,
  fits: 'input-plus-output',
}

const withBody = (message: string, body: unknown, status = 400): Failure => ({
  kind: 'overflow',
  status,
  message,
  body,
})

/** The same refusal in the words and shapes of servers that speak this wire. */
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
