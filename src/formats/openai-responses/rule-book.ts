import type { RuleBook } from '../kit/rule-kit.ts'

/** The rules of the Responses API, as data. */
export const OPENAI_RESPONSES_RULES = {
  'body-shape': { summary: 'The body has a model and an input.', fix: 'Send a Responses request body.' },
  'well-formed-text': {
    summary: 'Every string is well-formed Unicode.',
    fix: 'Cut text between code points; drop the lone surrogate.',
  },
  'item-shape': {
    summary: 'An input item has a type, or a role and content.',
    fix: 'Send the item as the API gave it, or as a message.',
  },
  'call-shape': {
    summary: 'A call has a call_id of at most 64 characters, a name, and its arguments as a string.',
    fix: 'Send the call as the API gave it.',
  },
  'calls-answered': {
    summary: 'Each call has its output in the input.',
    fix: 'Keep the output with its call, or drop both and their reasoning.',
  },
  'outputs-have-calls': {
    summary: 'Each output answers a call that stands before it.',
    fix: 'Keep the call with its output, or drop both.',
  },
  'outputs-once': { summary: 'A call has one output.', fix: 'Keep the newest of the outputs with this call id.' },
  'unique-call-ids': {
    summary: 'Call ids are unique in the input.',
    fix: 'Rename the second id, in the call and in its output.',
  },
  'unique-item-ids': { summary: 'Item ids are unique in the input.', fix: 'Send each item once.' },
  'item-id-prefix': {
    summary: 'Item ids begin with the letters of their type: fc, rs, msg.',
    fix: 'Leave the id out, or send the one that the API gave.',
  },
  'reasoning-followed': {
    summary: 'A reasoning item is followed by the item it led to.',
    fix: 'Keep reasoning and the item behind it together, or drop both.',
  },
  'reasoning-sealed': {
    summary: 'Without storage, reasoning carries its encrypted content.',
    fix: 'Ask for reasoning.encrypted_content, or drop the reasoning with its call.',
  },
  'no-references': {
    summary: 'Without storage, items cannot be named by id alone.',
    fix: 'Send the whole item.',
  },
  'compaction-shape': {
    summary: 'A compaction item carries its encrypted content.',
    fix: 'Send the compaction item byte for byte as it was given.',
  },
  'one-chain': {
    summary: 'previous_response_id and conversation exclude each other.',
    fix: 'Send one of the two.',
  },
  'deferred-tools': {
    summary: 'Deferred tools come with the tool_search tool.',
    fix: 'Declare {"type":"tool_search"}, or load the tools directly.',
  },
  'tool-choice-needs-tools': {
    summary: 'A forced tool is declared.',
    fix: 'Drop tool_choice, or declare the tool.',
  },
  'output-cap': { summary: 'max_output_tokens is at least 16.', fix: 'Raise max_output_tokens, or leave it out.' },
} as const satisfies RuleBook

export type OpenAiResponsesRule = keyof typeof OPENAI_RESPONSES_RULES
