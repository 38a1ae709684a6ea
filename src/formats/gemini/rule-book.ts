import type { RuleBook } from '../kit/rule-kit.ts'

/** The rules of generateContent, as data. */
export const GEMINI_RULES = {
  'body-shape': { summary: 'The body has contents.', fix: 'Send a generateContent request body.' },
  'body-bytes': { summary: 'The body is at most 20 MB.', fix: 'Upload files, or offload media and large results.' },
  'well-formed-text': {
    summary: 'Every string is well-formed Unicode.',
    fix: 'Cut text between code points; drop the lone surrogate.',
  },
  'content-shape': {
    summary: 'A content has role user or model, and parts.',
    fix: 'Use role user or model; drop contents without parts.',
  },
  'part-shape': {
    summary: 'A part holds exactly one kind of data.',
    fix: 'Split the part, or drop the empty one.',
  },
  'no-empty-text': {
    summary: 'vertex: a text part is not empty, unless it carries a signature.',
    fix: 'Drop the empty part.',
  },
  'starts-with-user': {
    summary: 'The first content is a user turn with more than function responses.',
    fix: 'Start the history at a user message.',
  },
  'call-turn-order': {
    summary: 'A function call turn follows a user turn or a function response turn, and is never first.',
    fix: 'Keep the turn before the call, or drop the call with its response.',
  },
  'response-turn-order': {
    summary: 'A function response turn follows a function call turn.',
    fix: 'Keep the call with its response, or drop both.',
  },
  'response-count': {
    summary: 'A call turn and its response turn have the same number of parts.',
    fix: 'Answer every call of the turn once.',
  },
  'response-ids': {
    summary: 'Responses with ids answer the calls with these ids.',
    fix: 'Send the id of the call with its response.',
  },
  'ends-with-user': {
    summary: 'The last content is not a model turn.',
    fix: 'End with a user turn or a function response.',
  },
  'signature-present': {
    summary: 'Gemini 3: the first call of each step in the current turn carries its thought signature.',
    fix: 'Keep the signature on the part it came with; use the documented skip value only where it is truly lost.',
  },
  'output-cap': { summary: 'maxOutputTokens is between 1 and 65,536.', fix: 'Lower maxOutputTokens.' },
  'tool-config-needs-tools': {
    summary: 'A function calling config comes with function declarations.',
    fix: 'Drop toolConfig, or declare the functions.',
  },
  'unique-function-names': {
    summary: 'Function declarations have unique names.',
    fix: 'Rename or drop the second one.',
  },
  'function-name-format': {
    summary: 'Function names begin with a letter or _ and have letters, digits, _ . : and -.',
    fix: 'Rename the function.',
  },
  'system-text': { summary: 'The system instruction is text.', fix: 'Move other parts into a user turn.' },
  'cached-content-alone': {
    summary: 'Cached content excludes system instruction, tools and tool config.',
    fix: 'Put them into the cached content.',
  },
} as const satisfies RuleBook

export type GeminiRule = keyof typeof GEMINI_RULES

export const MAX_BODY_BYTES = 20 * 1024 * 1024
export const MAX_OUTPUT_TOKENS = 65_536

const SKIP_WORDS = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']
/** Values that the vendor documents for calls whose signature is lost, as written and as the bytes they stand for. */
export const SKIP_SIGNATURES: ReadonlySet<string> = new Set([
  ...SKIP_WORDS,
  ...SKIP_WORDS.map((word) => Buffer.from(word).toString('base64')),
])
