import type { RuleBook } from '../kit/rules.ts'

/** What differs between Claude models on this wire, as far as the id tells. Unknown ids have no traits: no rule fires. */
export interface ModelTraits {
  /** A request may end with an assistant message that the model continues. */
  readonly prefill?: boolean
  readonly manualThinking?: boolean
  readonly adaptiveThinking?: boolean
  readonly systemMessages?: boolean
  /** Thinking blocks are bound to everything before them. Known from documents, not verified against the vendor. */
  readonly bindsThinking?: boolean
}

// claude-opus-4-6, claude-sonnet-4-5-20250929, claude-fable-5-1; vendor prefixes such as `us.anthropic.` may come before.
const NEW_STYLE = /claude-(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/
// claude-3-5-sonnet-20241022
const OLD_STYLE = /claude-(\d)(?:[-.](\d))?-(?:opus|sonnet|haiku)/

export function traitsOf(model: string): ModelTraits {
  const fresh = NEW_STYLE.exec(model)
  if (fresh !== null) return traitsOfVersion(Number(fresh[2]) + Number(fresh[3] ?? 0) / 100, fresh[1] ?? '')
  const old = OLD_STYLE.exec(model)
  return old === null ? {} : traitsOfVersion(Number(old[1]) + Number(old[2] ?? 0) / 100, '')
}

const traitsOfVersion = (version: number, family: string): ModelTraits => ({
  prefill: version < 4.06,
  manualThinking: version < 4.07,
  adaptiveThinking: version >= 4.06,
  systemMessages: version >= 4.08,
  // Mythos records the binding without enforcing it; Fable is the first that refuses.
  bindsThinking: version >= 5.01 && family !== 'mythos' && family !== 'haiku',
})

/** The rules of the Messages API, as data. `rules.ts` checks them; the words of the vendor stand there. */
export const ANTHROPIC_RULES = {
  'body-shape': { summary: 'The body is an object with model and messages.', fix: 'Send a Messages API request body.' },
  'max-tokens': {
    summary: 'max_tokens is a positive integer.',
    fix: 'Set max_tokens to the number of tokens the answer may have.',
  },
  'body-bytes': {
    summary: 'The body is at most 32 MB.',
    fix: 'Offload media or large results, or send fewer of them.',
  },
  'well-formed-text': {
    summary: 'Every string is well-formed Unicode.',
    fix: 'Cut text between code points; drop the lone surrogate.',
  },
  'message-shape': {
    summary: 'A message has a known role and content that is text or blocks.',
    fix: 'Use role user or assistant and a string or an array of blocks.',
  },
  'first-message-user': {
    summary: 'bedrock: the first message is a user message. The vendor itself takes an assistant message there.',
    fix: 'Start the history at a user message, or put one in front.',
  },
  'system-message-place': {
    summary: 'A system message follows a user message, on models that take one.',
    fix: 'Move the text into the top-level system field, or behind a user message.',
  },
  'no-prefill': {
    summary: 'Models from 4.6 on take no assistant message at the end.',
    fix: 'End the history with a user message.',
  },
  'no-trailing-space': {
    summary: 'A final assistant text does not end in white space.',
    fix: 'Trim the end of the last assistant text.',
  },
  'no-empty-content': {
    summary: 'Only the last assistant message may be empty.',
    fix: 'Drop the empty message together with its pair, or give it text.',
  },
  'no-empty-text': {
    summary: 'Text blocks hold visible text.',
    fix: 'Drop the empty block; give an empty tool result a fixed text.',
  },
  'block-role': {
    summary: 'Calls and thinking stand in assistant messages, results in user messages.',
    fix: 'Move the block to a message of the right role.',
  },
  'calls-answered': {
    summary: 'Each tool_use is answered in the next message.',
    fix: 'Keep the result with its call, or drop both.',
  },
  'results-have-calls': {
    summary: 'Each tool_result answers a tool_use of the previous message.',
    fix: 'Keep the call with its result, or drop both.',
  },
  'results-once': {
    summary: 'A tool_use has one result.',
    fix: 'Keep the newest of the results with this id.',
  },
  'results-first': {
    summary: 'Results stand before any other content of their message.',
    fix: 'Move the text behind the last tool_result.',
  },
  'error-result-content': {
    summary: 'A result with is_error has content.',
    fix: 'Say in the content what failed.',
  },
  'unique-call-ids': {
    summary: 'tool_use ids are unique in the request.',
    fix: 'Rename the second id, in the call and in its result.',
  },
  'call-id-format': {
    summary: 'tool_use ids are letters, digits, _ and -.',
    fix: 'Map the id to that alphabet, in the call and in its result.',
  },
  'server-tool-pairs': {
    summary: 'A server tool call and its result stand in the same assistant turn, call first.',
    fix: 'Keep or drop the two blocks together.',
  },
  'history-tools-declared': {
    summary: 'Bedrock: a history with tool blocks declares tools.',
    fix: 'Send the tools along, also when no further call is wanted.',
  },
  'tool-choice-needs-tools': {
    summary: 'tool_choice comes with tools, and names one of them.',
    fix: 'Drop tool_choice, or declare the tool.',
  },
  'unique-tool-names': { summary: 'Tool names are unique.', fix: 'Rename or drop the second tool.' },
  'tool-name-format': {
    summary: 'Tool names are 1 to 128 letters, digits, _ and -.',
    fix: 'Rename the tool.',
  },
  'deferred-tools': {
    summary: 'At least one tool is not deferred.',
    fix: 'Declare the tool search tool, or load one tool directly.',
  },
  'tool-reference-declared': {
    summary: 'A tool_reference names a declared tool.',
    fix: 'Declare the tool, or drop the reference with its search.',
  },
  'cache-marks-max': {
    summary: 'At most four cache_control marks.',
    fix: 'Keep the marks on the stable prefix and the newest block.',
  },
  'cache-mark-place': {
    summary: 'No cache_control on thinking blocks or empty text.',
    fix: 'Move the mark to the nearest block that can carry it.',
  },
  'cache-mark-shape': {
    summary: 'A mark is ephemeral, with ttl 5m or 1h.',
    fix: 'Use {"type":"ephemeral"}, with ttl "5m" or "1h".',
  },
  'cache-ttl-order': {
    summary: 'Marks of one hour stand before marks of five minutes.',
    fix: 'Give the earlier marks the longer ttl.',
  },
  'thinking-shape': {
    summary: 'Thinking carries its text and signature, redacted thinking its data.',
    fix: 'Send the block as it was issued, or drop it.',
  },
  'thinking-first': {
    summary: 'With manual thinking, the open tool step begins with its thinking block.',
    fix: 'Keep the thinking of the open tool step, or switch thinking off.',
  },
  'thinking-budget': {
    summary: 'budget_tokens is at least 1,024 and below max_tokens.',
    fix: 'Lower the budget or raise max_tokens.',
  },
  'thinking-mode': {
    summary: 'Manual thinking ended with 4.6; adaptive thinking began there.',
    fix: 'Use {"type":"adaptive"} on newer models, {"type":"enabled"} on older ones.',
  },
  'thinking-forced-tool': {
    summary: 'Manual thinking and a forced tool exclude each other.',
    fix: 'Use tool_choice auto or none, or adaptive thinking.',
  },
  'thinking-temperature': {
    summary: 'With thinking on, temperature is 1.',
    fix: 'Drop temperature, or switch thinking off.',
  },
  'clear-thinking-needs-thinking': {
    summary: 'The clear_thinking edit needs thinking.',
    fix: 'Drop the edit, or switch thinking on.',
  },
  'image-type': {
    summary: 'Images are JPEG, PNG, GIF or WebP, and say truly which.',
    fix: 'Convert the image, or correct media_type.',
  },
  'image-bytes': { summary: 'An image is at most 5 MB.', fix: 'Scale the image down, or offload it.' },
  'image-pixels': {
    summary: 'An image is at most 8,000 pixels a side; 2,000 once there are more than 20.',
    fix: 'Scale the image down, or offload older images.',
  },
} as const satisfies RuleBook

export type AnthropicRule = keyof typeof ANTHROPIC_RULES

// Anthropic takes four cache marks per request and answers 400 to a fifth.
export const MAX_CACHE_MARKS = 4
export const MAX_BODY_BYTES = 32 * 1024 * 1024
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024
export const MAX_IMAGE_SIDE = 8_000
// From the 21st image on, every image of the request has the smaller limit: a late image can make an early one illegal.
export const MANY_IMAGES = 20
export const MAX_IMAGE_SIDE_MANY = 2_000
