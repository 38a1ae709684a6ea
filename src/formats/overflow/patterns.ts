/**
 * `overflow`: the prompt, or prompt and answer, does not fit the window. `throttle`: too much per time. `output-limit`: the
 * request's own cap on the answer is out of range. `body-size`: too many bytes. `other`: none of these.
 */
export type ErrorKind = 'overflow' | 'throttle' | 'output-limit' | 'body-size' | 'other'

/**
 * One wording of one vendor. Named groups carry numbers: `limit` (what fits), `input`, `output`, `requested` (their sum).
 * Patterns are tried in order, so the guards against look-alikes come first.
 */
export interface ErrorPattern {
  readonly vendor: string
  readonly kind: ErrorKind
  readonly pattern: RegExp
}

const N = (name: string): string => `(?<${name}>[\\d,_]+)`

const wording = (vendor: string, kind: ErrorKind, source: string): ErrorPattern => ({
  vendor,
  kind,
  pattern: new RegExp(source, 'i'),
})

/** Not about size at all, although the words sound like it. */
const UNRELATED = [
  // A budget of money: fewer tokens would help, a smaller history would not.
  wording('openrouter', 'other', 'requires more credits, or fewer max_tokens'),
  wording('any', 'other', 'insufficient[ _](?:quota|balance|credits|funds)|exceeded your current quota|billing'),
  wording('anthropic', 'other', 'credit balance is too low'),
  wording('anthropic', 'other', 'image exceeds \\d+ MB maximum|image dimensions exceed'),
]

/** Throttling counts tokens too: per minute, per day, per organisation. */
const THROTTLES = [
  wording(
    'groq',
    'throttle',
    `tokens per (?:minute|day) \\((?:TPM|TPD)\\): Limit ${N('limit')}.{0,40}Requested ${N('requested')}`,
  ),
  wording(
    'openai',
    'throttle',
    `tokens per min(?:ute)? \\(TPM\\): Limit ${N('limit')}.{0,40}Requested ${N('requested')}`,
  ),
  wording('bedrock', 'throttle', 'too many tokens(?: per day)?, please wait'),
  wording('azure', 'throttle', 'exceeded (?:the )?(?:token|call) rate limit'),
  wording(
    'anthropic',
    'throttle',
    `would exceed .{0,40}rate limit of ${N('limit')} (?:input|output) tokens per minute`,
  ),
  wording('gemini', 'throttle', 'resource has been exhausted|quota exceeded for (?:metric|quota)'),
  wording('any', 'throttle', 'rate[ _-]?limit|too many requests|tokens per (?:min|minute|day|hour)|\\bTPM\\b|throttl'),
]

/** The cap on the answer is wrong by itself, whatever the history is. */
const OUTPUT_LIMITS = [
  wording(
    'openai',
    'output-limit',
    `max_(?:completion_)?tokens is too large: ${N('output')}. This model supports at most ${N('limit')}`,
  ),
  wording(
    'anthropic',
    'output-limit',
    `max_tokens: ${N('output')} > ${N('limit')}, which is the maximum allowed number of output tokens`,
  ),
  wording('bedrock', 'output-limit', `maximum tokens you requested exceeds? the model limit of ${N('limit')}`),
  wording(
    'vertex',
    'output-limit',
    `maxOutputTokens value of ${N('output')} but the supported range is from \\d+ \\(inclusive\\) to ${N('limit')}`,
  ),
  wording('gemini', 'output-limit', 'max_?output_?tokens.{0,60}(?:must be|out of range|supported range)'),
  wording(
    'deepseek',
    'output-limit',
    `Invalid max_tokens value, the valid range of max_tokens is \\[1, ${N('limit')}\\]`,
  ),
  wording(
    'groq',
    'output-limit',
    `max_(?:completion_)?tokens.{0,4} must be less than or equal to .{0,4}?${N('limit')}`,
  ),
  wording('cohere', 'output-limit', `max tokens must be less than or equal to ${N('limit')}`),
  wording('qwen', 'output-limit', `Range of max_tokens should be \\[1, ${N('limit')}\\]`),
  wording(
    'openai',
    'output-limit',
    'Could not finish the message because max_tokens or model output limit was reached',
  ),
]

/** Bytes, not tokens. */
const BODY_SIZES = [
  wording(
    'anthropic',
    'body-size',
    'request exceeds the maximum (?:allowed )?(?:number of bytes|size)|request_too_large',
  ),
  wording('gemini', 'body-size', `payload size exceeds the limit: ${N('limit')} bytes`),
  wording('openai', 'body-size', `maximum content size limit \\(${N('limit')}\\) exceeded`),
  wording(
    'openai',
    'body-size',
    `string too long. Expected a string with maximum length ${N('limit')}, but got a string with length ${N('requested')}`,
  ),
  wording(
    'gateway',
    'body-size',
    '(?:request entity|payload|content|request body|body) (?:is )?too large|length limit exceeded|body size limit',
  ),
]

/** Prompt, or prompt and answer, against the window. Wordings that name numbers come before their shorter relatives. */
export const OVERFLOW_WORDINGS: readonly ErrorPattern[] = [
  wording('anthropic', 'overflow', `prompt is too long: ${N('input')} tokens > ${N('limit')} maximum`),
  wording('anthropic', 'overflow', `exceed context limit: ${N('input')} \\+ ${N('output')} > ${N('limit')}`),
  wording('fireworks', 'overflow', `prompt is too long: ${N('input')}, model maximum context length: ${N('limit')}`),
  wording(
    'vllm',
    'overflow',
    `is too large: ${N('output')}. This model's maximum context length is ${N('limit')} tokens and your request has ${N('input')} input tokens`,
  ),
  wording(
    'openrouter',
    'overflow',
    `maximum context length is ${N('limit')} tokens. However, you requested about ${N('requested')} tokens(?: \\(${N('input')} of text input(?:, \\d+ of tool input)?(?:, ${N('output')} in the output)?)?`,
  ),
  wording(
    'openai',
    'overflow',
    `maximum context length is ${N('limit')} tokens[.,] however,? you requested ${N('requested')} tokens(?: \\(${N('input')} in (?:the|your) (?:messages|prompt|input)[^\\d)]{0,80}(?:\\d+ in the functions, )?${N('output')})?`,
  ),
  wording(
    'openai',
    'overflow',
    `maximum context length is ${N('limit')} tokens.{0,60}(?:resulted in|contains?(?: at least)?|has) ${N('input')}`,
  ),
  wording(
    'together',
    'overflow',
    `\`inputs\` tokens \\+ \`max_new_tokens\` must be <= ${N('limit')}. Given: ${N('input')} \`inputs\` tokens and ${N('output')}`,
  ),
  wording('tgi', 'overflow', `\`inputs\` must have less than ${N('limit')} tokens. Given: ${N('input')}`),
  wording('openai', 'overflow', 'input exceeds the context window|exceeds the context window of this model'),
  wording('vertex', 'overflow', `input token count is ${N('input')} but model only supports up to ${N('limit')}`),
  wording(
    'gemini',
    'overflow',
    `input token count(?: \\(${N('input')}\\))? exceeds the maximum number of tokens allowed(?: \\(${N('limit')}\\))?`,
  ),
  wording('xai', 'overflow', `maximum prompt length is ${N('limit')} but the request contains ${N('input')} tokens`),
  wording(
    'mistral',
    'overflow',
    `prompt contains ${N('input')} tokens.{0,60}too large for model with ${N('limit')} maximum context length`,
  ),
  wording(
    'cohere',
    'overflow',
    `too many tokens: total number of tokens.{0,80}cannot exceed ${N('limit')} - received ${N('requested')}`,
  ),
  wording('cohere', 'overflow', `too many tokens: size limit exceeded by [\\d,_]+ tokens`),
  wording(
    'llama-server',
    'overflow',
    `request \\(${N('input')} tokens\\) exceeds the available context size \\(${N('limit')} tokens\\)`,
  ),
  wording('llama-server', 'overflow', 'exceeds the available context size'),
  wording('llama-cpp', 'overflow', `requested tokens \\(${N('input')}\\) exceed context window of ${N('limit')}`),
  wording(
    'lm-studio',
    'overflow',
    `tokens to keep from the initial prompt is greater than the context length(?: \\(n_keep: ${N('input')}\\s?>= n_ctx: ${N('limit')}\\))?`,
  ),
  wording(
    'lm-studio',
    'overflow',
    `keep the first ${N('input')} tokens when context the overflows.{0,80}context length of only ${N('limit')} tokens`,
  ),
  wording(
    'sglang',
    'overflow',
    `input \\(${N('input')} tokens\\) is longer than the model's context length \\(${N('limit')} tokens\\)`,
  ),
  wording(
    'sglang',
    'overflow',
    `Requested token count exceeds the model's maximum context length of ${N('limit')} tokens. You requested a total of ${N('requested')} tokens: ${N('input')} tokens from the input messages and ${N('output')}`,
  ),
  wording(
    'sglang',
    'overflow',
    `input length \\(${N('input')} tokens\\) exceeds the maximum allowed length \\(${N('limit')} tokens\\)`,
  ),
  wording(
    'vllm',
    'overflow',
    `prompt \\(total length ${N('input')}\\) is too long to fit into the model \\(context length ${N('limit')}\\)`,
  ),
  wording('vllm', 'overflow', `input prompt \\(${N('input')} tokens\\) is too long and exceeds limit of ${N('limit')}`),
  wording('ollama', 'overflow', 'prompt too long; exceeded max context length'),
  wording('ollama', 'overflow', 'input length exceeds (?:the |maximum )?context length'),
  wording('bedrock', 'overflow', 'input is too long for requested model'),
  wording(
    'bedrock',
    'overflow',
    `too many input tokens. Max input tokens: ${N('limit')}, request input token count: ${N('input')}`,
  ),
  wording('copilot', 'overflow', `prompt token count of ${N('input')} exceeds the limit of ${N('limit')}`),
  wording('cerebras', 'overflow', `current length is ${N('input')} while limit is ${N('limit')}`),
  wording('moonshot', 'overflow', `exceeded model token limit: ${N('limit')} \\(requested: ${N('requested')}\\)`),
  wording('minimax', 'overflow', 'context window exceeds limit'),
  wording('zhipu', 'overflow', 'prompt exceeds max length'),
  wording('qwen', 'overflow', `range of input length should be \\[1, ${N('limit')}\\]`),
  wording('replicate', 'overflow', `max input length is ${N('limit')} tokens, but you supplied ${N('input')} tokens`),
  wording(
    'cloudflare',
    'overflow',
    `estimated number of input and maximum output tokens \\(${N('requested')}\\) exceeded this model context window limit \\(${N('limit')}\\)`,
  ),
  wording('groq', 'overflow', 'reduce the length of the messages or completion'),
  wording('any', 'overflow', `(?:maximum|max) context (?:length|window|size)(?: is| of|:)? ${N('limit')}`),
  wording(
    'any',
    'overflow',
    'prompt is too long|context[ _](?:length|window|size)[ _](?:exceeded|overflow)|exceeds? (?:the |model )?(?:maximum )?context (?:length|window)',
  ),
]

export const ERROR_PATTERNS: readonly ErrorPattern[] = [
  ...UNRELATED,
  ...OUTPUT_LIMITS,
  ...THROTTLES,
  ...OVERFLOW_WORDINGS,
  ...BODY_SIZES,
]
