import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import { messageAsGiven, checkBody, isBlank, quoted, type RuleBook, type RuleContext, shown } from '../kit/rules.ts'

const MAX_ID = 40

/** The same message on both of OpenAI's wires. */
export const LONE_SURROGATE = 'We could not parse the JSON body of your request: lone surrogate in string'
export const NO_OBJECT = 'We could not parse the JSON body of your request.'

/** The rules of chat completions, with the vendor's messages. Rules with a vendor's name apply only in its sub-profile. */
export const OPENAI_CHAT_RULES = {
  'body-shape': messageAsGiven,
  'well-formed-text': LONE_SURROGATE,
  'message-shape': messageAsGiven,
  'content-present': messageAsGiven,
  'calls-answered': (ids: string) =>
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
    `The following tool_call_ids did not have response messages: ${ids}`,
  'results-have-calls':
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
  'results-once': (id: string) => `Duplicate value for 'tool_call_id' of '${id}'`,
  'unique-call-ids': (id: string) => `Duplicate value for 'tool_call_id' of '${id}'`,
  'call-shape': (path: string) => `Missing required parameter: '${path}'.`,
  'call-id-length': (path: string, length: number) =>
    `Invalid '${path}': string too long. Expected a string with maximum length ${MAX_ID}, but got a string with length ${length} instead.`,
  'call-id-nine': (id: string) => `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`,
  'mistral-order': messageAsGiven,
  'reasoning-required': (index: number) =>
    `Missing \`reasoning_content\` field in the assistant message at message index ${index}.`,
  'reasoning-forbidden': (path: string) => `Unrecognized request argument supplied: ${path}`,
  'no-empty-text': (index: number, role: string) =>
    `Invalid request: message at position ${index} with role '${role}' must not be empty`,
  'tools-not-empty': "Invalid 'tools': empty array. Expected an array with minimum length 1.",
  'tool-choice-needs-tools': messageAsGiven,
  'tool-name-format': "Expected a string that matches '^[a-zA-Z0-9_-]{1,64}$'.",
  'stream-options-need-stream': "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
  'output-cap': messageAsGiven,
} as const satisfies RuleBook

type ChatRuleContext = RuleContext<typeof OPENAI_CHAT_RULES>

export const checkOpenAiChat = checkBody(OPENAI_CHAT_RULES, NO_OBJECT, (context) => {
  checkEnvelope(context)
  listOf(context.body.messages).forEach((message, index) => checkMessage(context, message, index))
  checkPairs(context)
})

const NINE = /^[a-zA-Z0-9]{9}$/

interface OpenStep {
  readonly path: string
  /** Call ids, and whether each has its tool message. */
  readonly answered: Map<string, boolean>
}

/** Pairs calls with tool messages by position: a result belongs to the assistant message before its run of results. */
function checkPairs(context: ChatRuleContext): void {
  const { found, profiles } = context
  const seen = new Set<string>()
  let step: OpenStep | undefined
  let previousRole: unknown
  const messages = listOf(context.body.messages)
  messages.forEach((message, index) => {
    if (!isRecord(message)) return
    const path = `messages[${index}]`
    if (message.role === 'tool') takeResult(context, message, path, step)
    else {
      closeStep(context, step)
      step = message.role === 'assistant' ? openStep(context, message, path, seen) : undefined
    }
    if (profiles.has('mistral') && message.role === 'user' && previousRole === 'tool')
      found.report('mistral-order', `${path}.role`, "Unexpected role 'user' after role 'tool'")
    previousRole = message.role
  })
  closeStep(context, step)
  const last = messages.at(-1)
  if (profiles.has('mistral') && previousRole === 'assistant' && !(isRecord(last) && last.prefix === true)) {
    const message = 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
    found.report('mistral-order', `messages[${messages.length - 1}].role`, message)
  }
}

function openStep({ found, profiles }: ChatRuleContext, message: Fields, step: string, seen: Set<string>): OpenStep {
  const answered = new Map<string, boolean>()
  recordsIn(message.tool_calls).forEach((call, at) => {
    const path = `${step}.tool_calls[${at}]`
    const id = typeof call.id === 'string' ? call.id : ''
    const { name, arguments: given } = isRecord(call.function) ? call.function : {}
    const isWhole = call.type === 'custom' || (typeof name === 'string' && typeof given === 'string')
    if (id === '') found.report('call-shape', path, `${path}.id`)
    else if (!isWhole) found.report('call-shape', path, `${path}.function.arguments`)
    if (seen.has(id)) found.report('unique-call-ids', `${path}.id`, id)
    if (profiles.has('openai') && id.length > MAX_ID)
      found.report('call-id-length', `${path}.id`, `${path}.id`, id.length)
    if (profiles.has('mistral') && !NINE.test(id)) found.report('call-id-nine', `${path}.id`, id)
    seen.add(id)
    answered.set(id, false)
  })
  return { path: step, answered }
}

function takeResult({ found }: ChatRuleContext, message: Fields, path: string, step: OpenStep | undefined): void {
  const id = typeof message.tool_call_id === 'string' ? message.tool_call_id : ''
  const isAnswered = step?.answered.get(id)
  if (isAnswered === undefined) found.report('results-have-calls', `${path}.role`)
  else if (isAnswered) found.report('results-once', `${path}.tool_call_id`, id)
  else step!.answered.set(id, true)
}

function closeStep({ found }: ChatRuleContext, step: OpenStep | undefined): void {
  const open = [...(step?.answered ?? [])].filter(([, isAnswered]) => !isAnswered).map(([id]) => id)
  if (open.length > 0) found.report('calls-answered', step!.path, quoted(open))
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

function checkEnvelope({ body, found }: ChatRuleContext): void {
  const { messages, stream_options: options } = body
  if (typeof body.model !== 'string') found.report('body-shape', 'model', 'you must provide a model parameter')
  if (!Array.isArray(messages) || messages.length === 0) found.report('body-shape', 'messages', emptyArray('messages'))
  if (isGiven(options) && body.stream !== true) found.report('stream-options-need-stream', 'stream_options')
  const caps = { max_tokens: body.max_tokens, max_completion_tokens: body.max_completion_tokens }
  if (Object.values(caps).every(isGiven)) {
    const message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    found.report('output-cap', 'max_tokens', message)
  }
  for (const [name, value] of Object.entries(caps)) {
    if (!isGiven(value) || (typeof value === 'number' && Number.isInteger(value) && value >= 1)) continue
    found.report('output-cap', name, `Invalid '${name}': integer below minimum value. Expected a value >= 1.`)
  }
  checkTools(body, found)
}

const emptyArray = (path: string): string => `Invalid '${path}': empty array. Expected an array with minimum length 1.`

const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/

function checkTools(body: Fields, found: ChatRuleContext['found']): void {
  const tools = recordsIn(body.tools)
  if (Array.isArray(body.tools) && body.tools.length === 0) found.report('tools-not-empty', 'tools')
  const names = new Set<unknown>()
  tools.forEach((tool, index) => {
    const { name } = isRecord(tool.function) ? tool.function : isRecord(tool.custom) ? tool.custom : tool
    names.add(name)
    if (tool.type === 'function' && !(typeof name === 'string' && FUNCTION_NAME.test(name)))
      found.report('tool-name-format', `tools[${index}].function.name`)
  })
  for (const setting of ['tool_choice', 'parallel_tool_calls'] as const) {
    if (!isGiven(body[setting]) || tools.length + recordsIn(body.functions).length > 0) continue
    found.report('tool-choice-needs-tools', setting, `'${setting}' is only allowed when 'tools' are specified.`)
  }
  const choice = isRecord(body.tool_choice) ? body.tool_choice.function : undefined
  if (isRecord(choice) && choice.name !== undefined && tools.length > 0 && !names.has(choice.name)) {
    const message = `Tool choice '${shown(choice.name)}' not found in 'tools' parameter.`
    found.report('tool-choice-needs-tools', 'tool_choice', message)
  }
}

const ROLES = new Set<unknown>(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

function checkMessage({ found, profiles }: ChatRuleContext, message: unknown, index: number): void {
  const path = `messages[${index}]`
  if (!isRecord(message) || !ROLES.has(message.role)) {
    const words = `Invalid value for '${path}.role'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`
    found.report('message-shape', path, words)
    return
  }
  const { content, role, reasoning_content: reasoning } = message
  const at = `${path}.content`
  if (typeof content !== 'string' && !Array.isArray(content) && isGiven(content))
    found.report('message-shape', at, `Invalid type for '${at}': expected a string or an array.`)
  const hasCalls = listOf(message.tool_calls).length > 0 || isRecord(message.function_call)
  const spoke = isGiven(content) || isGiven(message.refusal) || isGiven(message.audio)
  if (!spoke && !(role === 'assistant' && hasCalls))
    found.report('content-present', at, "Invalid value for 'content': expected a string, got null.")
  if (Array.isArray(content) && content.length === 0) found.report('content-present', at, emptyArray(at))
  if (profiles.has('no-empty-text') && typeof content === 'string' && isBlank(content) && !hasCalls)
    found.report('no-empty-text', path, index, shown(role))
  const field = `${path}.reasoning_content`
  if (profiles.has('reasoning-required') && role === 'assistant' && hasCalls && typeof reasoning !== 'string')
    found.report('reasoning-required', field, index)
  if (profiles.has('reasoning-forbidden') && reasoning !== undefined) found.report('reasoning-forbidden', field, field)
}
