import type { RuleBook } from '../kit/rule-kit.ts'

/** What the server refuses. It checks types and little else: what does not fit it cuts, and strays it passes to the template. */
export const OLLAMA_CHAT_RULES = {
  'body-shape': { summary: 'The body is an object that names a model.', fix: 'Send a JSON object with a model.' },
  'message-shape': {
    summary: 'Messages are objects with a role and text as content.',
    fix: 'Send role and content as strings.',
  },
  'message-role': {
    summary: 'Roles are system, user, assistant and tool.',
    fix: 'Use one of these roles.',
  },
  'images-base64': { summary: 'Images are a list of base64 texts.', fix: 'Send the bytes of each picture as base64.' },
  'call-shape': {
    summary: 'A call has a function with a name, and arguments that are an object.',
    fix: 'Send arguments as an object, not as text.',
  },
  'tool-shape': {
    summary: 'Tools are functions with a name.',
    fix: 'Declare { type: "function", function: { name } }.',
  },
  'options-shape': {
    summary: 'Options are an object; num_ctx and num_predict are whole numbers.',
    fix: 'Correct the option.',
  },
} as const satisfies RuleBook

export type OllamaChatRule = keyof typeof OLLAMA_CHAT_RULES
