import type { RuleOptions, Violation } from '../../core/codec.ts'
import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import { checkBody, type Findings, profilesOf, type RuleBook, shown } from '../kit/rules.ts'

/** The rules of generateContent, as data. */
export const GEMINI_RULES = {
  'body-shape': 'Send a generateContent request body.',
  'body-bytes': 'Upload files, or offload media and large results.',
  'well-formed-text': 'Cut text between code points; drop the lone surrogate.',
  'content-shape': 'Use role user or model; drop contents without parts.',
  'part-shape': 'Split the part, or drop the empty one.',
  'no-empty-text': 'Drop the empty part.',
  'starts-with-user': 'Start the history at a user message.',
  'call-turn-order': 'Keep the turn before the call, or drop the call with its response.',
  'response-turn-order': 'Keep the call with its response, or drop both.',
  'response-count': 'Answer every call of the turn once.',
  'response-ids': 'Send the id of the call with its response.',
  'ends-with-user': 'End with a user turn or a function response.',
  'signature-present':
    'Keep the signature on the part it came with; use the documented skip value only where it is truly lost.',
  'output-cap': 'Lower maxOutputTokens.',
  'tool-config-needs-tools': 'Drop toolConfig, or declare the functions.',
  'unique-function-names': 'Rename or drop the second one.',
  'function-name-format': 'Rename the function.',
  'system-text': 'Move other parts into a user turn.',
  'cached-content-alone': 'Put them into the cached content.',
} as const satisfies RuleBook

export type GeminiRule = keyof typeof GEMINI_RULES

const MAX_BODY_BYTES = 20 * 1024 * 1024
const MAX_OUTPUT_TOKENS = 65_536

const SKIP_WORDS = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']
/** Values that the vendor documents for calls whose signature is lost, as written and as the bytes they stand for. */
export const SKIP_SIGNATURES: ReadonlySet<string> = new Set([
  ...SKIP_WORDS,
  ...SKIP_WORDS.map((word) => Buffer.from(word).toString('base64')),
])

const DATA_FIELDS = [
  ['text'],
  ['inlineData', 'inline_data'],
  ['fileData', 'file_data'],
  ['functionCall', 'function_call'],
  ['functionResponse', 'function_response'],
  ['executableCode', 'executable_code'],
  ['codeExecutionResult', 'code_execution_result'],
  ['toolCall', 'tool_call'],
  ['toolResponse', 'tool_response'],
] as const

/** Reads a field in either spelling: the wire is protobuf JSON and takes both. */
export function fieldOf(holder: Fields, camel: string, snake: string): unknown {
  return holder[camel] === undefined ? holder[snake] : holder[camel]
}

export const callOf = (part: Fields): Fields | undefined => objectOf(fieldOf(part, 'functionCall', 'function_call'))

export const responseOf = (part: Fields): Fields | undefined =>
  objectOf(fieldOf(part, 'functionResponse', 'function_response'))

export const signatureOf = (part: Fields): string => {
  const signature = fieldOf(part, 'thoughtSignature', 'thought_signature')
  return typeof signature === 'string' ? signature : ''
}

const objectOf = (value: unknown): Fields | undefined => (isRecord(value) ? value : undefined)

export const partsOf = (content: Fields): readonly Fields[] => recordsIn(content.parts)

/** How many kinds of data a part holds; one is right. */
const dataCount = (part: Fields): number =>
  DATA_FIELDS.filter((names) => names.some((name) => part[name] !== undefined && part[name] !== null)).length

export interface GeminiRuleContext {
  readonly body: Fields
  readonly found: Findings<GeminiRule>
  readonly profiles: ReadonlySet<string>
  /** The path names the model on this wire, not the body. */
  readonly model: string
}

/** Contents of one role in a row: the API reads them as one turn. */
interface Turn {
  /** Index of the first content. */
  readonly index: number
  readonly role: 'user' | 'model'
  readonly parts: Fields[]
  readonly calls: Fields[]
  readonly responses: Fields[]
}

/** The order of turns: who may speak after whom, and which responses answer which calls. */
function checkTurns(context: GeminiRuleContext): void {
  const { body, found } = context
  const turns = turnsOf(listOf(body.contents))
  const [first] = turns
  if (first === undefined) return
  if (first.role !== 'user' || (first.responses.length > 0 && isOnlyResponses(first))) {
    found.report('starts-with-user', 'contents[0]', 'Please ensure that multiturn requests start with a user turn.')
  }
  turns.forEach((turn, index) => checkNeighbours(context, turn, turns[index - 1], turns[index + 1]))
  const last = turns.at(-1)
  if (last?.role === 'model') {
    const message = 'Please ensure that multiturn requests end with a user turn or a function response.'
    found.report('ends-with-user', `contents[${last.index}]`, message)
  }
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
    for (const part of partsOf(content)) {
      turn.parts.push(part)
      if (callOf(part) !== undefined) turn.calls.push(part)
      if (responseOf(part) !== undefined) turn.responses.push(part)
    }
  })
  return turns
}

const isOnlyResponses = (turn: Turn): boolean => turn.responses.length === turn.parts.length

function checkNeighbours(
  { found }: GeminiRuleContext,
  turn: Turn,
  before: Turn | undefined,
  after: Turn | undefined,
): void {
  const path = `contents[${turn.index}]`
  if (turn.calls.length > 0 && before === undefined) {
    const message =
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
    found.report('call-turn-order', path, message)
  }
  if (turn.responses.length > 0 && (before === undefined || before.calls.length === 0)) {
    const message = 'Please ensure that function response turn comes immediately after a function call turn.'
    found.report('response-turn-order', path, message)
  }
  if (turn.calls.length > 0) checkAnswers(found, turn, after)
}

function checkAnswers(found: GeminiRuleContext['found'], turn: Turn, after: Turn | undefined): void {
  const responses = after?.responses ?? []
  if (responses.length !== turn.calls.length) {
    const message =
      'Please ensure that the number of function response parts is equal to the number of function call parts of the ' +
      'function call turn.'
    found.report('response-count', `contents[${turn.index}]`, message)
    return
  }
  const ids = new Set(turn.calls.map((part) => callOf(part)?.id).filter((id) => id !== undefined))
  const isStray = (id: unknown): boolean => id !== undefined && ids.size > 0 && !ids.has(id)
  const stray = responses.map((part) => responseOf(part)?.id).find(isStray)
  if (stray === undefined) return
  const message = `Function response id '${shown(stray)}' does not match a function call.`
  found.report('response-ids', `contents[${after?.index ?? turn.index}]`, message)
}

const signsCalls = (model: string): boolean => /gemini-(?:[3-9]|\d{2})/.test(model)

/** Only the current turn is looked at: everything since the user last said something. Parallel siblings are unsigned. */
function checkSignatures({ found }: GeminiRuleContext, turns: readonly Turn[]): void {
  const start = turns.findLastIndex((turn) => turn.role === 'user' && !isOnlyResponses(turn))
  for (const turn of turns.slice(Math.max(0, start))) {
    const [call] = turn.calls
    if (turn.role !== 'model' || call === undefined || signatureOf(call) !== '') continue
    found.report(
      'signature-present',
      `contents[${turn.index}]`,
      'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and ' +
        'missing thought_signature may lead to degraded model performance. Additional data, function call ' +
        `\`default_api:${shown(callOf(call)?.name)}\` , position ${turn.index + 1}.`,
    )
  }
}

const FUNCTION_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/

/** The rules of generateContent. */
export const checkGemini = (body: unknown, options: RuleOptions = {}): readonly Violation[] =>
  checkBody(GEMINI_RULES, WORDS, body, options, (fields, found) => {
    const context = { body: fields, found, profiles: profilesOf(options.profile), model: options.model ?? '' }
    checkEnvelope(context)
    checkContents(context)
    checkTurns(context)
  })

const WORDS = {
  size: { most: MAX_BODY_BYTES, message: `Request payload size exceeds the limit: ${MAX_BODY_BYTES} bytes.` },
  shape: 'Invalid JSON payload received.',
  surrogate: 'Invalid JSON payload received. Lone surrogate in string.',
}

function checkEnvelope({ body, found }: GeminiRuleContext): void {
  if (!Array.isArray(body.contents) || body.contents.length === 0) {
    found.report('body-shape', 'contents', '* GenerateContentRequest.contents: contents is not specified')
  }
  const config = fieldOf(body, 'generationConfig', 'generation_config')
  const cap = isRecord(config) ? fieldOf(config, 'maxOutputTokens', 'max_output_tokens') : undefined
  if (cap !== undefined && cap !== null && (typeof cap !== 'number' || cap < 1 || cap > MAX_OUTPUT_TOKENS)) {
    const message = `Unable to submit request because it has a maxOutputTokens value of ${shown(cap)} but the supported range is from 1 (inclusive) to ${MAX_OUTPUT_TOKENS + 1} (exclusive). Update the value and try again.`
    found.report('output-cap', 'generation_config.max_output_tokens', message)
  }
  const system = fieldOf(body, 'systemInstruction', 'system_instruction')
  if (isRecord(system) && partsOf(system).some((part) => typeof part.text !== 'string')) {
    found.report('system-text', 'system_instruction', 'System instruction parts must be text.')
  }
  const cached = fieldOf(body, 'cachedContent', 'cached_content')
  const toolConfig = fieldOf(body, 'toolConfig', 'tool_config')
  if (
    typeof cached === 'string' &&
    cached !== '' &&
    (system !== undefined || listOf(body.tools).length > 0 || toolConfig !== undefined)
  ) {
    const message =
      'CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.'
    found.report('cached-content-alone', 'cached_content', message)
  }
  checkFunctions(body, found)
}

function checkFunctions(body: Fields, found: Findings<GeminiRule>): void {
  const names = new Set<unknown>()
  recordsIn(body.tools).forEach((tool, at) => {
    recordsIn(fieldOf(tool, 'functionDeclarations', 'function_declarations')).forEach((declared, index) => {
      const path = `tools[${at}].function_declarations[${index}].name`
      if (typeof declared.name !== 'string' || !FUNCTION_NAME.test(declared.name)) {
        found.report(
          'function-name-format',
          path,
          `* GenerateContentRequest.${path}: Invalid function name. Must start with a letter or an underscore.`,
        )
      } else if (names.has(declared.name)) {
        found.report('unique-function-names', path, `Duplicate function declaration found: ${declared.name}`)
      }
      names.add(declared.name)
    })
  })
  const config = fieldOf(body, 'toolConfig', 'tool_config')
  const calling = isRecord(config) ? fieldOf(config, 'functionCallingConfig', 'function_calling_config') : undefined
  if (isRecord(calling) && names.size === 0) {
    found.report(
      'tool-config-needs-tools',
      'tool_config',
      'Function calling config is set without function_declarations.',
    )
  }
}

function checkContents({ body, found, profiles }: GeminiRuleContext): void {
  listOf(body.contents).forEach((content, index) => {
    const path = `contents[${index}]`
    if (!isRecord(content) || !['user', 'model', 'function', undefined].includes(content.role as string | undefined)) {
      found.report('content-shape', path, 'Please use a valid role: user, model.')
      return
    }
    const parts = partsOf(content)
    if (parts.length === 0) {
      found.report(
        'content-shape',
        `${path}.parts`,
        `* GenerateContentRequest.${path}.parts: contents.parts must not be empty.`,
      )
    }
    parts.forEach((part, at) => {
      if (dataCount(part) !== 1) {
        const message = `* GenerateContentRequest.${path}.parts[${at}].data: required oneof field 'data' must have one initialized field`
        found.report('part-shape', `${path}.parts[${at}]`, message)
      } else if (profiles.has('vertex') && part.text === '' && signatureOf(part) === '') {
        const message =
          'Unable to submit request because it must have a text parameter. Add a text parameter and try again.'
        found.report('no-empty-text', `${path}.parts[${at}]`, message)
      }
    })
  })
}
