import type { RuleOptions, Violation } from '../../core/codec.ts'
import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import { checkBody, type Findings, isBlank, profilesOf, quoted, type RuleBook, shown } from '../kit/rules.ts'

/** The rules of chat completions, as data. Rules with a vendor's name apply in its sub-profile only. */
export const OPENAI_CHAT_RULES = {
  'body-shape': 'Send a chat completions request body.',
  'well-formed-text': 'Cut text between code points; drop the lone surrogate.',
  'message-shape': 'Use role system, developer, user, assistant or tool, and text or parts.',
  'content-present': 'Drop the empty message, or give it text.',
  'calls-answered': 'Keep the tool messages directly behind their assistant message, or drop the calls with them.',
  'results-have-calls': 'Keep the call with its result, or drop both.',
  'results-once': 'Keep the newest of the results with this id.',
  'unique-call-ids': 'Rename the second id, in the call and in its result.',
  'call-shape': 'Send arguments as JSON text, and the id that the provider gave.',
  'call-id-length': 'Map the id to a shorter one, in the call and in its result.',
  'call-id-nine': 'Map the id to nine characters, in the call and in its result.',
  'mistral-order': 'Let the assistant answer the tool result before the user speaks.',
  'reasoning-required': 'Send reasoning_content back with the calls it came with.',
  'reasoning-forbidden': 'Leave reasoning_content out for this endpoint.',
  'no-empty-text': 'Drop the empty message; give an empty tool result a fixed text.',
  'tools-not-empty': 'Leave tools out.',
  'tool-choice-needs-tools': 'Drop the setting, or declare the tool.',
  'tool-name-format': 'Rename the function.',
  'stream-options-need-stream': 'Drop stream_options, or stream.',
  'output-cap': 'Send max_completion_tokens or max_tokens, not both.',
} as const satisfies RuleBook

export type OpenAiChatRule = keyof typeof OPENAI_CHAT_RULES

export interface ChatRuleContext {
  readonly body: Fields
  readonly found: Findings<OpenAiChatRule>
  readonly profiles: ReadonlySet<string>
}

const NINE = /^[a-zA-Z0-9]{9}$/
const MAX_ID = 40

/** Only what is reported has to say where it stands. */
const placeOf = (index: number): string => `messages[${index}]`

const callPlaceOf = (index: number, at: number): string => `${placeOf(index)}.tool_calls[${at}]`

interface OpenStep {
  readonly index: number
  /** Ids of its calls, and whether each has its tool message. */
  readonly answered: Map<string, boolean>
}

/** Calls and their tool messages, by position: a result belongs to the assistant message right before its run. */
function checkChatPairs(context: ChatRuleContext): void {
  const { found, profiles } = context
  const seen = new Set<string>()
  let step: OpenStep | undefined
  let previousRole: unknown
  const messages = listOf(context.body.messages)
  messages.forEach((message, index) => {
    if (!isRecord(message)) return
    if (message.role === 'tool') {
      takeResult(context, message, index, step)
    } else {
      closeStep(context, step)
      step = message.role === 'assistant' ? openStep(context, message, index, seen) : undefined
    }
    if (profiles.has('mistral') && message.role === 'user' && previousRole === 'tool') {
      found.report('mistral-order', `${placeOf(index)}.role`, "Unexpected role 'user' after role 'tool'")
    }
    previousRole = message.role
  })
  closeStep(context, step)
  if (profiles.has('mistral') && previousRole === 'assistant' && !isPrefix(messages.at(-1))) {
    const message = 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
    found.report('mistral-order', `${placeOf(messages.length - 1)}.role`, message)
  }
}

const isPrefix = (message: unknown): boolean => isRecord(message) && message.prefix === true

function openStep(
  { found, profiles }: ChatRuleContext,
  message: Fields,
  index: number,
  seen: Set<string>,
): OpenStep | undefined {
  const calls = recordsIn(message.tool_calls)
  if (calls.length === 0) return undefined
  const answered = new Map<string, boolean>()
  calls.forEach((call, at) => {
    const id = typeof call.id === 'string' ? call.id : ''
    const declared = isRecord(call.function) ? call.function : {}
    const custom = call.type === 'custom'
    if (id === '' || (!custom && (typeof declared.name !== 'string' || typeof declared.arguments !== 'string'))) {
      const path = callPlaceOf(index, at)
      found.report(
        'call-shape',
        path,
        `Missing required parameter: '${path}.${id === '' ? 'id' : 'function.arguments'}'.`,
      )
    }
    if (seen.has(id))
      found.report('unique-call-ids', `${callPlaceOf(index, at)}.id`, `Duplicate value for 'tool_call_id' of '${id}'`)
    if (profiles.has('openai') && id.length > MAX_ID) {
      const path = `${callPlaceOf(index, at)}.id`
      const message = `Invalid '${path}': string too long. Expected a string with maximum length ${MAX_ID}, but got a string with length ${id.length} instead.`
      found.report('call-id-length', path, message)
    }
    if (profiles.has('mistral') && !NINE.test(id)) {
      found.report(
        'call-id-nine',
        `${callPlaceOf(index, at)}.id`,
        `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`,
      )
    }
    seen.add(id)
    answered.set(id, false)
  })
  return { index, answered }
}

function takeResult({ found }: ChatRuleContext, message: Fields, index: number, step: OpenStep | undefined): void {
  const id = typeof message.tool_call_id === 'string' ? message.tool_call_id : ''
  const isAnswered = step?.answered.get(id)
  if (isAnswered === false) {
    step?.answered.set(id, true)
  } else if (isAnswered === true) {
    found.report('results-once', `${placeOf(index)}.tool_call_id`, `Duplicate value for 'tool_call_id' of '${id}'`)
  } else {
    found.report(
      'results-have-calls',
      `${placeOf(index)}.role`,
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    )
  }
}

function closeStep({ found }: ChatRuleContext, step: OpenStep | undefined): void {
  if (step === undefined) return
  const open: string[] = []
  for (const [id, isAnswered] of step.answered) if (!isAnswered) open.push(id)
  if (open.length === 0) return
  found.report(
    'calls-answered',
    placeOf(step.index),
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${quoted(open)}`,
  )
}

const ROLES = new Set<unknown>(['system', 'developer', 'user', 'assistant', 'tool', 'function'])
const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** The rules of chat completions. */
export const checkOpenAiChat = (body: unknown, options: RuleOptions = {}): readonly Violation[] =>
  checkBody(OPENAI_CHAT_RULES, OPENAI_WORDS, body, options, (fields, found) => {
    const context = { body: fields, found, profiles: profilesOf(options.profile) }
    checkEnvelope(context)
    listOf(fields.messages).forEach((message, index) => checkMessage(context, message, index))
    checkChatPairs(context)
  })

/** The same on both wires of the vendor. */
export const OPENAI_WORDS = {
  shape: 'We could not parse the JSON body of your request.',
  surrogate: 'We could not parse the JSON body of your request: lone surrogate in string',
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
