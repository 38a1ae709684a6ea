import type { RuleOptions, Violation } from '../../core/codec.ts'
import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import type { Findings } from '../kit/rule-kit.ts'
import { findings, findLoneSurrogate, isBlank, profilesOf, shown } from '../kit/rule-kit.ts'
import type { OpenAiChatRule } from './rule-book.ts'
import { OPENAI_CHAT_RULES } from './rule-book.ts'
import { checkChatPairs, placeOf, type ChatRuleContext } from './rules-pairs.ts'

export { OPENAI_CHAT_RULES } from './rule-book.ts'

const ROLES = new Set<unknown>(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** The rules of chat completions on a parsed body. Never throws; linear in the body. */
export function checkOpenAiChat(body: unknown, options: RuleOptions = {}): Violation[] {
  const found = findings(OPENAI_CHAT_RULES)
  if (!isRecord(body)) {
    found.report('body-shape', '', 'We could not parse the JSON body of your request.')
    return [...found.list]
  }
  const lone = findLoneSurrogate(body, options.wellFormed)
  if (lone !== undefined) {
    found.report('well-formed-text', lone, 'We could not parse the JSON body of your request: lone surrogate in string')
  }
  const context = { body, found, profiles: profilesOf(options.profile) }
  checkEnvelope(context)
  listOf(body.messages).forEach((message, index) => checkMessage(context, message, index))
  checkChatPairs(context)
  return [...found.list]
}

function checkEnvelope({ body, found }: ChatRuleContext): void {
  if (typeof body.model !== 'string') found.report('body-shape', 'model', 'you must provide a model parameter')
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    found.report('body-shape', 'messages', "Invalid 'messages': empty array. Expected an array with minimum length 1.")
  }
  if (body.stream_options !== undefined && body.stream_options !== null && body.stream !== true) {
    const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    found.report('stream-options-need-stream', 'stream_options', message)
  }
  checkCap(body, found)
  checkTools(body, found)
}

function checkCap(body: Fields, found: Findings<OpenAiChatRule>): void {
  const { max_tokens: old, max_completion_tokens: cap } = body
  if (isGiven(old) && isGiven(cap)) {
    const message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    found.report('output-cap', 'max_tokens', message)
  }
  for (const [name, value] of Object.entries({ max_tokens: old, max_completion_tokens: cap })) {
    if (!isGiven(value) || (typeof value === 'number' && Number.isInteger(value) && value >= 1)) continue
    found.report('output-cap', name, `Invalid '${name}': integer below minimum value. Expected a value >= 1.`)
  }
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

function checkTools(body: Fields, found: Findings<OpenAiChatRule>): void {
  const tools = recordsIn(body.tools)
  const functions = recordsIn(body.functions)
  if (Array.isArray(body.tools) && body.tools.length === 0) {
    found.report('tools-not-empty', 'tools', "Invalid 'tools': empty array. Expected an array with minimum length 1.")
  }
  const names = new Set<unknown>()
  tools.forEach((tool, index) => {
    const declared = isRecord(tool.function) ? tool.function : isRecord(tool.custom) ? tool.custom : tool
    names.add(declared.name)
    if (tool.type !== 'function' || (typeof declared.name === 'string' && FUNCTION_NAME.test(declared.name))) return
    found.report(
      'tool-name-format',
      `tools[${index}].function.name`,
      "Expected a string that matches '^[a-zA-Z0-9_-]{1,64}$'.",
    )
  })
  for (const setting of ['tool_choice', 'parallel_tool_calls'] as const) {
    if (!isGiven(body[setting]) || tools.length > 0 || functions.length > 0) continue
    found.report('tool-choice-needs-tools', setting, `'${setting}' is only allowed when 'tools' are specified.`)
  }
  const choice =
    isRecord(body.tool_choice) && isRecord(body.tool_choice.function) ? body.tool_choice.function.name : undefined
  if (choice !== undefined && tools.length > 0 && !names.has(choice)) {
    found.report(
      'tool-choice-needs-tools',
      'tool_choice',
      `Tool choice '${shown(choice)}' not found in 'tools' parameter.`,
    )
  }
}

function checkMessage({ found, profiles }: ChatRuleContext, message: unknown, index: number): void {
  if (!isRecord(message) || !ROLES.has(message.role)) {
    const path = placeOf(index)
    found.report(
      'message-shape',
      path,
      `Invalid value for '${path}.role'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`,
    )
    return
  }
  const { content, role } = message
  const typed = typeof content === 'string' || Array.isArray(content) || !isGiven(content)
  if (!typed) {
    const path = `${placeOf(index)}.content`
    found.report('message-shape', path, `Invalid type for '${path}': expected a string or an array.`)
  }
  const hasCalls = listOf(message.tool_calls).length > 0 || isRecord(message.function_call)
  const spoke = isGiven(content) || isGiven(message.refusal) || isGiven(message.audio)
  if (!spoke && !(role === 'assistant' && hasCalls)) {
    const path = `${placeOf(index)}.content`
    found.report('content-present', path, `Invalid value for 'content': expected a string, got null.`)
  }
  if (Array.isArray(content) && content.length === 0) {
    const path = `${placeOf(index)}.content`
    found.report('content-present', path, `Invalid '${path}': empty array. Expected an array with minimum length 1.`)
  }
  if (profiles.has('no-empty-text') && typeof content === 'string' && isBlank(content) && !hasCalls) {
    found.report(
      'no-empty-text',
      placeOf(index),
      `Invalid request: message at position ${index} with role '${shown(role)}' must not be empty`,
    )
  }
  checkReasoning(message, index, hasCalls, found, profiles)
}

function checkReasoning(
  message: Fields,
  index: number,
  hasCalls: boolean,
  found: Findings<OpenAiChatRule>,
  profiles: ReadonlySet<string>,
): void {
  const given = typeof message.reasoning_content === 'string'
  if (profiles.has('reasoning-required') && message.role === 'assistant' && hasCalls && !given) {
    found.report(
      'reasoning-required',
      `${placeOf(index)}.reasoning_content`,
      `Missing \`reasoning_content\` field in the assistant message at message index ${index}.`,
    )
  }
  if (profiles.has('reasoning-forbidden') && message.reasoning_content !== undefined) {
    const path = `${placeOf(index)}.reasoning_content`
    found.report('reasoning-forbidden', path, `Unrecognized request argument supplied: ${path}`)
  }
}
