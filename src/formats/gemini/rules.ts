import { type Fields, isRecord, listOf, recordOf, recordsIn, textOf } from '../../core/values.ts'
import { messageAsGiven, checkBody, type RuleBook, type RuleContext, shown } from '../kit/rules.ts'
import { snakeCase, valueAt } from './decode.ts'

const MAX_BODY_BYTES = 20 * 1024 * 1024
const MAX_OUTPUT_TOKENS = 65_536

/** The rules of generateContent, with the vendor's messages. */
export const GEMINI_RULES = {
  'body-shape': messageAsGiven,
  'body-bytes': `Request payload size exceeds the limit: ${MAX_BODY_BYTES} bytes.`,
  'well-formed-text': 'Invalid JSON payload received. Lone surrogate in string.',
  'content-shape': messageAsGiven,
  'part-shape': (path: string) =>
    `* GenerateContentRequest.${path}.data: required oneof field 'data' must have one initialized field`,
  'no-empty-text':
    'Unable to submit request because it must have a text parameter. Add a text parameter and try again.',
  'starts-with-user': 'Please ensure that multiturn requests start with a user turn.',
  'call-turn-order':
    'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
  'response-turn-order': 'Please ensure that function response turn comes immediately after a function call turn.',
  'response-count':
    'Please ensure that the number of function response parts is equal to the number of function call parts of the ' +
    'function call turn.',
  'response-ids': (id: string) => `Function response id '${id}' does not match a function call.`,
  'ends-with-user': 'Please ensure that multiturn requests end with a user turn or a function response.',
  'signature-present': (name: string, position: number) =>
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and ' +
    'missing thought_signature may lead to degraded model performance. Additional data, function call ' +
    `\`default_api:${name}\` , position ${position}.`,
  'output-cap': (cap: string) =>
    `Unable to submit request because it has a maxOutputTokens value of ${cap} but the supported range is from 1 (inclusive) to ${MAX_OUTPUT_TOKENS + 1} (exclusive). Update the value and try again.`,
  'tool-config-needs-tools': 'Function calling config is set without function_declarations.',
  'unique-function-names': (name: string) => `Duplicate function declaration found: ${name}`,
  'function-name-format': (path: string) =>
    `* GenerateContentRequest.${path}: Invalid function name. Must start with a letter or an underscore.`,
  'system-text': 'System instruction parts must be text.',
  'cached-content-alone':
    'CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.',
} as const satisfies RuleBook

type GeminiRuleContext = RuleContext<typeof GEMINI_RULES>

/** The rules of generateContent. On this wire, the path names the model. */
export const checkGemini = checkBody(
  GEMINI_RULES,
  'Invalid JSON payload received.',
  (context) => {
    checkEnvelope(context)
    checkFunctions(context)
    checkContents(context)
    checkTurns(context)
  },
  MAX_BODY_BYTES,
)

const SKIP_WORDS = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']
/** The documented values for calls whose signature is lost, as text and in base64. */
export const SKIP_SIGNATURES: ReadonlySet<string> = new Set([
  ...SKIP_WORDS,
  ...SKIP_WORDS.map((word) => Buffer.from(word).toString('base64')),
])

const DATA_FIELDS =
  'text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse'.split(
    ' ',
  )

export const callOf = (part: Fields): Fields | undefined => recordOf(valueAt(part, 'functionCall'))

export const responseOf = (part: Fields): Fields | undefined => recordOf(valueAt(part, 'functionResponse'))

export const signatureOf = (part: Fields): string => textOf(valueAt(part, 'thoughtSignature'))

export const partsOf = (content: Fields): readonly Fields[] => recordsIn(content.parts)

/** Neighbouring contents of one role: the API reads them as one turn. */
interface Turn {
  /** Index of the first content. */
  readonly index: number
  readonly role: 'user' | 'model'
  readonly parts: Fields[]
  readonly calls: Fields[]
  readonly responses: Fields[]
}

/** Rules about the order of turns and about which responses answer which calls. */
function checkTurns(context: GeminiRuleContext): void {
  const { body, found } = context
  const turns = turnsOf(listOf(body.contents))
  const [first] = turns
  if (first === undefined) return
  if (first.role !== 'user' || (first.responses.length > 0 && isOnlyResponses(first)))
    found.report('starts-with-user', 'contents[0]')
  for (const [index, turn] of turns.entries()) {
    const path = `contents[${turn.index}]`
    const hasCalls = turn.calls.length > 0
    const before = turns[index - 1]
    if (hasCalls && before === undefined) found.report('call-turn-order', path)
    if (turn.responses.length > 0 && !(before !== undefined && before.calls.length > 0))
      found.report('response-turn-order', path)
    if (hasCalls) checkAnswers(found, turn, turns[index + 1])
  }
  const last = turns.at(-1)
  if (last?.role === 'model') found.report('ends-with-user', `contents[${last.index}]`)
  if (signsCalls(context.model)) checkSignatures(context, turns)
}

function turnsOf(contents: readonly unknown[]): Turn[] {
  const turns: Turn[] = []
  contents.forEach((content, index) => {
    if (!isRecord(content)) return
    const role = content.role === 'model' ? 'model' : 'user'
    const previous = turns.at(-1)
    const turn: Turn = previous?.role === role ? previous : { index, role, parts: [], calls: [], responses: [] }
    if (turn !== previous) turns.push(turn)
    const parts = partsOf(content)
    turn.parts.push(...parts)
    turn.calls.push(...parts.filter((part) => callOf(part) !== undefined))
    turn.responses.push(...parts.filter((part) => responseOf(part) !== undefined))
  })
  return turns
}

const isOnlyResponses = (turn: Turn): boolean => turn.responses.length === turn.parts.length

function checkAnswers(found: GeminiRuleContext['found'], turn: Turn, after: Turn | undefined): void {
  const responses = after?.responses ?? []
  if (responses.length !== turn.calls.length) {
    found.report('response-count', `contents[${turn.index}]`)
    return
  }
  const ids = new Set(turn.calls.map((part) => callOf(part)?.id).filter((id) => id !== undefined))
  const isStray = (id: unknown): boolean => id !== undefined && ids.size > 0 && !ids.has(id)
  const stray = responses.map((part) => responseOf(part)?.id).find(isStray)
  if (stray !== undefined) found.report('response-ids', `contents[${after?.index ?? turn.index}]`, shown(stray))
}

const signsCalls = (model: string): boolean => /gemini-(?:[3-9]|\d{2})/.test(model)

/** Only applies to the current turn: everything after the user's last text. Parallel siblings are unsigned. */
function checkSignatures({ found }: GeminiRuleContext, turns: readonly Turn[]): void {
  const start = turns.findLastIndex((turn) => turn.role === 'user' && !isOnlyResponses(turn))
  for (const { role, calls, index } of turns.slice(Math.max(0, start))) {
    const [call] = calls
    if (role === 'model' && call !== undefined && signatureOf(call) === '')
      found.report('signature-present', `contents[${index}]`, shown(callOf(call)?.name), index + 1)
  }
}

function checkEnvelope({ body, found }: GeminiRuleContext): void {
  if (listOf(body.contents).length === 0)
    found.report('body-shape', 'contents', '* GenerateContentRequest.contents: contents is not specified')
  const cap = valueAt(recordOf(valueAt(body, 'generationConfig')), 'maxOutputTokens') ?? 1
  if (typeof cap !== 'number' || cap < 1 || cap > MAX_OUTPUT_TOKENS)
    found.report('output-cap', 'generation_config.max_output_tokens', shown(cap))
  const system = valueAt(body, 'systemInstruction')
  if (isRecord(system) && partsOf(system).some((part) => typeof part.text !== 'string'))
    found.report('system-text', 'system_instruction')
  const isCached = textOf(valueAt(body, 'cachedContent')) !== ''
  const hasTools = listOf(body.tools).length > 0 || valueAt(body, 'toolConfig') !== undefined
  if (isCached && (system !== undefined || hasTools)) found.report('cached-content-alone', 'cached_content')
}

const FUNCTION_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/

function checkFunctions({ body, found }: GeminiRuleContext): void {
  const names = new Set<unknown>()
  recordsIn(body.tools).forEach((tool, at) => {
    recordsIn(valueAt(tool, 'functionDeclarations')).forEach(({ name }, index) => {
      const path = `tools[${at}].function_declarations[${index}].name`
      if (typeof name !== 'string' || !FUNCTION_NAME.test(name)) found.report('function-name-format', path, path)
      else if (names.has(name)) found.report('unique-function-names', path, name)
      names.add(name)
    })
  })
  const calling = valueAt(recordOf(valueAt(body, 'toolConfig')), 'functionCallingConfig')
  if (isRecord(calling) && names.size === 0) found.report('tool-config-needs-tools', 'tool_config')
}

const ROLES = new Set<unknown>(['user', 'model', 'function', undefined])

/** The number of kinds of data in a part, which must be one. */
const dataCount = (part: Fields): number =>
  DATA_FIELDS.filter((key) => (part[key] ?? part[snakeCase(key)] ?? undefined) !== undefined).length

function checkContents({ body, found, profiles }: GeminiRuleContext): void {
  listOf(body.contents).forEach((content, index) => {
    const path = `contents[${index}]`
    if (!isRecord(content) || !ROLES.has(content.role)) {
      found.report('content-shape', path, 'Please use a valid role: user, model.')
      return
    }
    const parts = partsOf(content)
    if (parts.length === 0) {
      const message = `* GenerateContentRequest.${path}.parts: contents.parts must not be empty.`
      found.report('content-shape', `${path}.parts`, message)
    }
    parts.forEach((part, at) => {
      const where = `${path}.parts[${at}]`
      if (dataCount(part) !== 1) found.report('part-shape', where, where)
      else if (profiles.has('vertex') && part.text === '' && signatureOf(part) === '')
        found.report('no-empty-text', where)
    })
  })
}
