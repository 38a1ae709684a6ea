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
  'body-shape': 'Send a Messages API request body.',
  'max-tokens': 'Set max_tokens to the number of tokens the answer may have.',
  'body-bytes': 'Offload media or large results, or send fewer of them.',
  'well-formed-text': 'Cut text between code points; drop the lone surrogate.',
  'message-shape': 'Use role user or assistant and a string or an array of blocks.',
  'first-message-user': 'Start the history at a user message, or put one in front.',
  'system-message-place': 'Move the text into the top-level system field, or behind a user message.',
  'no-prefill': 'End the history with a user message.',
  'no-trailing-space': 'Trim the end of the last assistant text.',
  'no-empty-content': 'Drop the empty message together with its pair, or give it text.',
  'no-empty-text': 'Drop the empty block; give an empty tool result a fixed text.',
  'block-role': 'Move the block to a message of the right role.',
  'calls-answered': 'Keep the result with its call, or drop both.',
  'results-have-calls': 'Keep the call with its result, or drop both.',
  'results-once': 'Keep the newest of the results with this id.',
  'results-first': 'Move the text behind the last tool_result.',
  'error-result-content': 'Say in the content what failed.',
  'unique-call-ids': 'Rename the second id, in the call and in its result.',
  'call-id-format': 'Map the id to that alphabet, in the call and in its result.',
  'server-tool-pairs': 'Keep or drop the two blocks together.',
  'history-tools-declared': 'Send the tools along, also when no further call is wanted.',
  'tool-choice-needs-tools': 'Drop tool_choice, or declare the tool.',
  'unique-tool-names': 'Rename or drop the second tool.',
  'tool-name-format': 'Rename the tool.',
  'deferred-tools': 'Declare the tool search tool, or load one tool directly.',
  'tool-reference-declared': 'Declare the tool, or drop the reference with its search.',
  'cache-marks-max': 'Keep the marks on the stable prefix and the newest block.',
  'cache-mark-place': 'Move the mark to the nearest block that can carry it.',
  'cache-mark-shape': 'Use {"type":"ephemeral"}, with ttl "5m" or "1h".',
  'cache-ttl-order': 'Give the earlier marks the longer ttl.',
  'thinking-shape': 'Send the block as it was issued, or drop it.',
  'thinking-first': 'Keep the thinking of the open tool step, or switch thinking off.',
  'thinking-budget': 'Lower the budget or raise max_tokens.',
  'thinking-mode': 'Use {"type":"adaptive"} on newer models, {"type":"enabled"} on older ones.',
  'thinking-forced-tool': 'Use tool_choice auto or none, or adaptive thinking.',
  'thinking-temperature': 'Drop temperature, or switch thinking off.',
  'clear-thinking-needs-thinking': 'Drop the edit, or switch thinking on.',
  'image-type': 'Convert the image, or correct media_type.',
  'image-bytes': 'Scale the image down, or offload it.',
  'image-pixels': 'Scale the image down, or offload older images.',
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
