/**
 * `overflow`: the prompt, or prompt and answer, does not fit the window. `throttle`: too much per time. `output-limit`: the
 * request's own cap on the answer is out of range. `body-size`: too many bytes. `other`: none of these.
 */
export type ErrorKind = 'overflow' | 'throttle' | 'output-limit' | 'body-size' | 'other'

/**
 * One wording of one vendor. Named groups capture numbers: `limit` (what fits), `input`, `output`, `requested` (their sum). Patterns are tried in
 * order, so those that rule out similar texts come first.
 */
export interface ErrorPattern {
  readonly vendor: string
  readonly kind: ErrorKind
  readonly pattern: RegExp
}

/** The wordings of one kind, as expressions in which `{limit}` and similar names match a number. */
const wordings = (kind: ErrorKind, list: readonly (readonly [vendor: string, source: string])[]): ErrorPattern[] =>
  list.map(([vendor, source]) => ({
    vendor,
    kind,
    pattern: new RegExp(source.replace(/\{([a-z]+)\}/g, '(?<$1>[\\d,_]+)'), 'i'),
  }))

/** Errors that sound like size but are not. */
const UNRELATED = wordings('other', [
  // About money: fewer tokens would help, a shorter history would not.
  ['openrouter', 'requires more credits, or fewer max_tokens'],
  ['any', 'insufficient[ _](?:quota|balance|credits|funds)|exceeded your current quota|billing'],
  ['anthropic', 'credit balance is too low'],
  ['anthropic', 'image exceeds \\d+ MB maximum|image dimensions exceed'],
])

/** Throttling also counts tokens: per minute, per day, per organisation. */
const THROTTLES = wordings('throttle', [
  ['groq', 'tokens per (?:minute|day) \\((?:TPM|TPD)\\): Limit {limit}.{0,40}Requested {requested}'],
  ['openai', 'tokens per min(?:ute)? \\(TPM\\): Limit {limit}.{0,40}Requested {requested}'],
  ['bedrock', 'too many tokens(?: per day)?, please wait'],
  ['azure', 'exceeded (?:the )?(?:token|call) rate limit'],
  ['anthropic', 'would exceed .{0,40}rate limit of {limit} (?:input|output) tokens per minute'],
  ['gemini', 'resource has been exhausted|quota exceeded for (?:metric|quota)'],
  ['any', 'rate[ _-]?limit|too many requests|tokens per (?:min|minute|day|hour)|\\bTPM\\b|throttl'],
])

/** The output cap alone is invalid, whatever the history. */
const OUTPUT_LIMITS = wordings('output-limit', [
  ['openai', 'max_(?:completion_)?tokens is too large: {output}. This model supports at most {limit}'],
  ['anthropic', 'max_tokens: {output} > {limit}, which is the maximum allowed number of output tokens'],
  ['bedrock', 'maximum tokens you requested exceeds? the model limit of {limit}'],
  ['vertex', 'maxOutputTokens value of {output} but the supported range is from \\d+ \\(inclusive\\) to {limit}'],
  ['gemini', 'max_?output_?tokens.{0,60}(?:must be|out of range|supported range)'],
  ['deepseek', 'Invalid max_tokens value, the valid range of max_tokens is \\[1, {limit}\\]'],
  ['groq', 'max_(?:completion_)?tokens.{0,4} must be less than or equal to .{0,4}?{limit}'],
  ['cohere', 'max tokens must be less than or equal to {limit}'],
  ['qwen', 'Range of max_tokens should be \\[1, {limit}\\]'],
  ['openai', 'Could not finish the message because max_tokens or model output limit was reached'],
])

/** The size in bytes, not in tokens. */
const BODY_SIZES = wordings('body-size', [
  ['anthropic', 'request exceeds the maximum (?:allowed )?(?:number of bytes|size)|request_too_large'],
  ['gemini', 'payload size exceeds the limit: {limit} bytes'],
  ['openai', 'maximum content size limit \\({limit}\\) exceeded'],
  [
    'openai',
    'string too long. Expected a string with maximum length {limit}, but got a string with length {requested}',
  ],
  [
    'gateway',
    '(?:request entity|payload|content|request body|body) (?:is )?too large|length limit exceeded|body size limit',
  ],
])

/** The prompt, or prompt and answer, exceeds the window. Wordings with numbers come before shorter similar ones. */
export const OVERFLOW_WORDINGS: readonly ErrorPattern[] = wordings('overflow', [
  ['anthropic', 'prompt is too long: {input} tokens > {limit} maximum'],
  ['anthropic', 'exceed context limit: {input} \\+ {output} > {limit}'],
  ['fireworks', 'prompt is too long: {input}, model maximum context length: {limit}'],
  [
    'vllm',
    `is too large: {output}. This model's maximum context length is {limit} tokens and your request has {input} input tokens`,
  ],
  [
    'openrouter',
    'maximum context length is {limit} tokens. However, you requested about {requested} tokens(?: \\({input} of text input(?:, \\d+ of tool input)?(?:, {output} in the output)?)?',
  ],
  [
    'openai',
    'maximum context length is {limit} tokens[.,] however,? you requested {requested} tokens(?: \\({input} in (?:the|your) (?:messages|prompt|input)[^\\d)]{0,80}(?:\\d+ in the functions, )?{output})?',
  ],
  ['openai', 'maximum context length is {limit} tokens.{0,60}(?:resulted in|contains?(?: at least)?|has) {input}'],
  ['together', '`inputs` tokens \\+ `max_new_tokens` must be <= {limit}. Given: {input} `inputs` tokens and {output}'],
  ['tgi', '`inputs` must have less than {limit} tokens. Given: {input}'],
  ['openai', 'input exceeds the context window|exceeds the context window of this model'],
  ['vertex', 'input token count is {input} but model only supports up to {limit}'],
  ['gemini', 'input token count(?: \\({input}\\))? exceeds the maximum number of tokens allowed(?: \\({limit}\\))?'],
  ['xai', 'maximum prompt length is {limit} but the request contains {input} tokens'],
  ['mistral', 'prompt contains {input} tokens.{0,60}too large for model with {limit} maximum context length'],
  ['cohere', 'too many tokens: total number of tokens.{0,80}cannot exceed {limit} - received {requested}'],
  ['cohere', 'too many tokens: size limit exceeded by [\\d,_]+ tokens'],
  ['llama-server', 'request \\({input} tokens\\) exceeds the available context size \\({limit} tokens\\)'],
  ['llama-server', 'exceeds the available context size'],
  ['llama-cpp', 'requested tokens \\({input}\\) exceed context window of {limit}'],
  [
    'lm-studio',
    'tokens to keep from the initial prompt is greater than the context length(?: \\(n_keep: {input}\\s?>= n_ctx: {limit}\\))?',
  ],
  ['lm-studio', 'keep the first {input} tokens when context the overflows.{0,80}context length of only {limit} tokens'],
  ['sglang', `input \\({input} tokens\\) is longer than the model's context length \\({limit} tokens\\)`],
  [
    'sglang',
    `Requested token count exceeds the model's maximum context length of {limit} tokens. You requested a total of {requested} tokens: {input} tokens from the input messages and {output}`,
  ],
  ['sglang', 'input length \\({input} tokens\\) exceeds the maximum allowed length \\({limit} tokens\\)'],
  ['vllm', 'prompt \\(total length {input}\\) is too long to fit into the model \\(context length {limit}\\)'],
  ['vllm', 'input prompt \\({input} tokens\\) is too long and exceeds limit of {limit}'],
  ['ollama', 'prompt too long; exceeded max context length'],
  ['ollama', 'input length exceeds (?:the |maximum )?context length'],
  ['bedrock', 'input is too long for requested model'],
  ['bedrock', 'too many input tokens. Max input tokens: {limit}, request input token count: {input}'],
  ['copilot', 'prompt token count of {input} exceeds the limit of {limit}'],
  ['cerebras', 'current length is {input} while limit is {limit}'],
  ['moonshot', 'exceeded model token limit: {limit} \\(requested: {requested}\\)'],
  ['minimax', 'context window exceeds limit'],
  ['zhipu', 'prompt exceeds max length'],
  ['qwen', 'range of input length should be \\[1, {limit}\\]'],
  ['replicate', 'max input length is {limit} tokens, but you supplied {input} tokens'],
  [
    'cloudflare',
    'estimated number of input and maximum output tokens \\({requested}\\) exceeded this model context window limit \\({limit}\\)',
  ],
  ['groq', 'reduce the length of the messages or completion'],
  ['any', '(?:maximum|max) context (?:length|window|size)(?: is| of|:)? {limit}'],
  [
    'any',
    'prompt is too long|context[ _](?:length|window|size)[ _](?:exceeded|overflow)|exceeds? (?:the |model )?(?:maximum )?context (?:length|window)',
  ],
])

export const ERROR_PATTERNS: readonly ErrorPattern[] = [
  ...UNRELATED,
  ...OUTPUT_LIMITS,
  ...THROTTLES,
  ...OVERFLOW_WORDINGS,
  ...BODY_SIZES,
]
