import type { RuleOptions, Violation } from '../../core/codec.ts'
import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import { checkBody, type Findings, type RuleBook, shown } from '../kit/rules.ts'
import { OPENAI_WORDS } from '../openai-chat/rules.ts'

/** The rules of the Responses API, as data. */
export const OPENAI_RESPONSES_RULES = {
  'body-shape': 'Send a Responses request body.',
  'well-formed-text': 'Cut text between code points; drop the lone surrogate.',
  'item-shape': 'Send the item as the API gave it, or as a message.',
  'call-shape': 'Send the call as the API gave it.',
  'calls-answered': 'Keep the output with its call, or drop both and their reasoning.',
  'outputs-have-calls': 'Keep the call with its output, or drop both.',
  'outputs-once': 'Keep the newest of the outputs with this call id.',
  'unique-call-ids': 'Rename the second id, in the call and in its output.',
  'unique-item-ids': 'Send each item once.',
  'item-id-prefix': 'Leave the id out, or send the one that the API gave.',
  'reasoning-followed': 'Keep reasoning and the item behind it together, or drop both.',
  'reasoning-sealed': 'Ask for reasoning.encrypted_content, or drop the reasoning with its call.',
  'no-references': 'Send the whole item.',
  'compaction-shape': 'Send the compaction item byte for byte as it was given.',
  'one-chain': 'Send one of the two.',
  'deferred-tools': 'Declare {"type":"tool_search"}, or load the tools directly.',
  'tool-choice-needs-tools': 'Drop tool_choice, or declare the tool.',
  'output-cap': 'Raise max_output_tokens, or leave it out.',
} as const satisfies RuleBook

export type OpenAiResponsesRule = keyof typeof OPENAI_RESPONSES_RULES

/** Calls that the client answers; the provider's own tools carry their result themselves. */
const CLIENT_CALLS = new Set([
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'shell_call',
  'computer_call',
  'apply_patch_call',
])

const MAX_CALL_ID = 64

const typeOf = (item: unknown): string => (isRecord(item) && typeof item.type === 'string' ? item.type : '')

const isOutput = (type: string): boolean =>
  type.endsWith('_call_output') && CLIENT_CALLS.has(type.slice(0, -'_output'.length))

const callIdOf = (item: Fields): string => (typeof item.call_id === 'string' ? item.call_id : '')

/**
 * Calls with their outputs, and reasoning with the item it led to. When the provider holds earlier items (`chained`), an
 * output may answer a call that is not shown.
 */
export function checkItemPairs(
  items: readonly unknown[],
  chained: boolean,
  found: Findings<OpenAiResponsesRule>,
): void {
  const open = new Map<string, { readonly path: string; readonly type: string }>()
  const answered = new Set<string>()
  items.forEach((item, index) => {
    if (!isRecord(item)) return
    const type = typeOf(item)
    const path = `input[${index}]`
    if (CLIENT_CALLS.has(type)) {
      const callId = callIdOf(item)
      checkCall(item, type, path, found)
      if (open.has(callId) || answered.has(callId)) {
        found.report('unique-call-ids', `${path}.call_id`, `Duplicate call_id found in input: ${callId}`)
      }
      open.set(callId, { path, type })
    } else if (isOutput(type)) takeOutput(item, path, { open, answered, chained, found })
    else if (type === 'reasoning' && !leadsOn(items, index)) {
      const message = `Item '${shown(item.id)}' of type 'reasoning' was provided without its required following item.`
      found.report('reasoning-followed', path, message)
    }
  })
  for (const [callId, { path }] of open) {
    found.report('calls-answered', path, `No tool output found for function call ${callId}.`)
  }
}

function checkCall(item: Fields, type: string, path: string, found: Findings<OpenAiResponsesRule>): void {
  const callId = callIdOf(item)
  if (callId === '') found.report('call-shape', `${path}.call_id`, `Missing required parameter: '${path}.call_id'.`)
  if (callId.length > MAX_CALL_ID) {
    const message = `Invalid '${path}.call_id': string too long. Expected a string with maximum length ${MAX_CALL_ID}, but got a string with length ${callId.length} instead.`
    found.report('call-shape', `${path}.call_id`, message)
  }
  if (type === 'function_call' && (typeof item.name !== 'string' || typeof item.arguments !== 'string')) {
    found.report('call-shape', path, `Missing required parameter: '${path}.arguments'.`)
  }
}

interface PairState {
  readonly open: Map<string, unknown>
  readonly answered: Set<string>
  readonly chained: boolean
  readonly found: Findings<OpenAiResponsesRule>
}

function takeOutput(item: Fields, path: string, { open, answered, chained, found }: PairState): void {
  const callId = callIdOf(item)
  if (open.delete(callId)) {
    answered.add(callId)
  } else if (answered.has(callId)) {
    found.report('outputs-once', path, `Duplicate tool output found for function call ${callId}.`)
  } else if (chained) {
    answered.add(callId)
  } else {
    found.report('outputs-have-calls', path, `No tool call found for function call output with call_id ${callId}.`)
  }
}

/**
 * The item behind a reasoning item is something the model produced. Another reasoning item is looked at in its own turn, so
 * one step is enough; a reference may name anything.
 */
function leadsOn(items: readonly unknown[], index: number): boolean {
  const next = items[index + 1]
  const type = typeOf(next)
  if (type === '' || type === 'message') return isRecord(next) && next.role === 'assistant'
  return !isOutput(type)
}

export interface ResponsesRuleContext {
  readonly body: Fields
  readonly found: Findings<OpenAiResponsesRule>
}

const MIN_OUTPUT = 16
const ID_PREFIXES = new Map<unknown, string>([
  ['function_call', 'fc'],
  ['reasoning', 'rs'],
])

/** The rules of the Responses API. */
export const checkOpenAiResponses = (body: unknown, options: RuleOptions = {}): readonly Violation[] =>
  checkBody(OPENAI_RESPONSES_RULES, OPENAI_WORDS, body, options, (fields, found) => {
    const context = { body: fields, found }
    checkEnvelope(context)
    checkItems(context)
    checkItemPairs(listOf(fields.input), isChained(fields), found)
  })

/** The provider holds history that the body does not show. */
const isChained = (body: Fields): boolean =>
  typeof body.previous_response_id === 'string' || (body.conversation !== undefined && body.conversation !== null)

function checkEnvelope({ body, found }: ResponsesRuleContext): void {
  const { input, max_output_tokens: cap } = body
  if (typeof body.model !== 'string') found.report('body-shape', 'model', "Missing required parameter: 'model'.")
  if (typeof input !== 'string' && !Array.isArray(input) && !isChained(body)) {
    found.report('body-shape', 'input', "Missing required parameter: 'input'.")
  }
  if (typeof body.previous_response_id === 'string' && body.conversation !== undefined && body.conversation !== null) {
    const message =
      "Mutually exclusive parameters: Ensure you are only providing one of: 'previous_response_id' or 'conversation'."
    found.report('one-chain', 'previous_response_id', message)
  }
  if (cap !== undefined && cap !== null && (typeof cap !== 'number' || cap < MIN_OUTPUT)) {
    const message = `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${MIN_OUTPUT}, but got ${shown(cap)} instead.`
    found.report('output-cap', 'max_output_tokens', message)
  }
  checkTools(body, found)
}

function checkTools(body: Fields, found: Findings<OpenAiResponsesRule>): void {
  const tools = recordsIn(body.tools)
  const nested = tools.flatMap((tool) => [tool, ...recordsIn(tool.tools)])
  if (nested.some((tool) => tool.defer_loading === true) && !tools.some((tool) => tool.type === 'tool_search')) {
    const message = "Tools with 'defer_loading' require the 'tool_search' tool to be present in 'tools'."
    found.report('deferred-tools', 'tools', message)
  }
  const choice = body.tool_choice
  if (choice === 'required' && tools.length === 0) {
    found.report(
      'tool-choice-needs-tools',
      'tool_choice',
      "Tool choice 'required' must be specified with 'tools' parameter.",
    )
  }
  if (!isRecord(choice) || (choice.type !== 'function' && choice.type !== 'custom')) return
  if (!nested.some((tool) => tool.name === choice.name)) {
    found.report(
      'tool-choice-needs-tools',
      'tool_choice',
      `Tool choice '${shown(choice.name)}' not found in 'tools' parameter.`,
    )
  }
}

function checkItems({ body, found }: ResponsesRuleContext): void {
  const ids = new Set<string>()
  listOf(body.input).forEach((item, index) => {
    const path = `input[${index}]`
    if (!isRecord(item) || (typeof item.type !== 'string' && typeof item.role !== 'string')) {
      found.report('item-shape', path, `Invalid value for '${path}': expected an item with a type or a role.`)
      return
    }
    const isMessage = item.type === undefined || item.type === 'message'
    if (isMessage && typeof item.content !== 'string' && !Array.isArray(item.content)) {
      found.report('item-shape', `${path}.content`, `Missing required parameter: '${path}.content'.`)
    }
    checkId(item, path, ids, found)
    checkSealed(body, item, path, found)
  })
}

function checkId(item: Fields, path: string, ids: Set<string>, found: Findings<OpenAiResponsesRule>): void {
  const { id } = item
  if (typeof id !== 'string' || id === '') return
  if (ids.has(id)) {
    const message = `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`
    found.report('unique-item-ids', `${path}.id`, message)
  }
  ids.add(id)
  const isAnswer = item.type === 'message' && item.role === 'assistant'
  const prefix = isAnswer ? 'msg' : ID_PREFIXES.get(item.type)
  if (prefix !== undefined && !id.startsWith(prefix)) {
    found.report(
      'item-id-prefix',
      `${path}.id`,
      `Invalid '${path}.id': '${id}'. Expected an ID that begins with '${prefix}'.`,
    )
  }
}

function checkSealed(body: Fields, item: Fields, path: string, found: Findings<OpenAiResponsesRule>): void {
  const sealed = typeof item.encrypted_content === 'string' && item.encrypted_content !== ''
  const gone = `Item with id '${shown(item.id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
  if (item.type === 'compaction' && !sealed) {
    found.report('compaction-shape', path, `Missing required parameter: '${path}.encrypted_content'.`)
  }
  if (body.store !== false) return
  // Without an id there is nothing to look up: such reasoning is read as it stands.
  if (item.type === 'reasoning' && !sealed && typeof item.id === 'string') found.report('reasoning-sealed', path, gone)
  if (item.type === 'item_reference') found.report('no-references', path, gone)
}
