import type { RuleBook } from '../kit/rule-kit.ts'

/** The rules of chat completions, as data. Rules with a vendor's name apply in its sub-profile only. */
export const OPENAI_CHAT_RULES = {
  'body-shape': { summary: 'The body has a model and messages.', fix: 'Send a chat completions request body.' },
  'well-formed-text': {
    summary: 'Every string is well-formed Unicode.',
    fix: 'Cut text between code points; drop the lone surrogate.',
  },
  'message-shape': {
    summary: 'A message has a known role and content of the right type.',
    fix: 'Use role system, developer, user, assistant or tool, and text or parts.',
  },
  'content-present': {
    summary: 'An assistant message has content or calls; other messages have content.',
    fix: 'Drop the empty message, or give it text.',
  },
  'calls-answered': {
    summary: 'Each call is answered by a tool message before any other message.',
    fix: 'Keep the tool messages directly behind their assistant message, or drop the calls with them.',
  },
  'results-have-calls': {
    summary: 'A tool message answers a call of the nearest assistant message before it.',
    fix: 'Keep the call with its result, or drop both.',
  },
  'results-once': { summary: 'A call has one tool message.', fix: 'Keep the newest of the results with this id.' },
  'unique-call-ids': {
    summary: 'Call ids are unique in the request.',
    fix: 'Rename the second id, in the call and in its result.',
  },
  'call-shape': {
    summary: 'A call has an id, a name, and its arguments as a string.',
    fix: 'Send arguments as JSON text, and the id that the provider gave.',
  },
  'call-id-length': {
    summary: 'openai: call ids have at most 40 characters.',
    fix: 'Map the id to a shorter one, in the call and in its result.',
  },
  'call-id-nine': {
    summary: 'mistral: call ids are nine letters and digits.',
    fix: 'Map the id to nine characters, in the call and in its result.',
  },
  'mistral-order': {
    summary: 'mistral: no user message directly behind a tool message, none of the assistant at the end.',
    fix: 'Let the assistant answer the tool result before the user speaks.',
  },
  'reasoning-required': {
    summary: 'reasoning-required: assistant messages with calls carry reasoning_content.',
    fix: 'Send reasoning_content back with the calls it came with.',
  },
  'reasoning-forbidden': {
    summary: 'reasoning-forbidden: no message carries reasoning_content.',
    fix: 'Leave reasoning_content out for this endpoint.',
  },
  'no-empty-text': {
    summary: 'no-empty-text: no message has empty text.',
    fix: 'Drop the empty message; give an empty tool result a fixed text.',
  },
  'tools-not-empty': { summary: 'tools, when present, is not empty.', fix: 'Leave tools out.' },
  'tool-choice-needs-tools': {
    summary: 'tool_choice and parallel_tool_calls come with tools, and a named tool is declared.',
    fix: 'Drop the setting, or declare the tool.',
  },
  'tool-name-format': {
    summary: 'Function names are 1 to 64 letters, digits, _ and -.',
    fix: 'Rename the function.',
  },
  'stream-options-need-stream': {
    summary: 'stream_options comes with stream.',
    fix: 'Drop stream_options, or stream.',
  },
  'output-cap': {
    summary: 'The output cap is one positive integer.',
    fix: 'Send max_completion_tokens or max_tokens, not both.',
  },
} as const satisfies RuleBook

export type OpenAiChatRule = keyof typeof OPENAI_CHAT_RULES
