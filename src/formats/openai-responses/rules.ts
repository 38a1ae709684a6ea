import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import { messageAsGiven, checkBody, type Findings, type RuleBook, type RuleContext, shown } from '../kit/rules.ts'
import { LONE_SURROGATE, NO_OBJECT } from '../openai-chat/rules.ts'

const MAX_CALL_ID = 64
const MIN_OUTPUT = 16

const notKept = (id: string): string =>
  `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`

/** The rules of the Responses API, with the vendor's messages. */
export const OPENAI_RESPONSES_RULES = {
  'body-shape': messageAsGiven,
  'well-formed-text': LONE_SURROGATE,
  'item-shape': messageAsGiven,
  'call-shape': messageAsGiven,
  'calls-answered': (id: string) => `No tool output found for function call ${id}.`,
  'outputs-have-calls': (id: string) => `No tool call found for function call output with call_id ${id}.`,
  'outputs-once': (id: string) => `Duplicate tool output found for function call ${id}.`,
  'unique-call-ids': (id: string) => `Duplicate call_id found in input: ${id}`,
  'unique-item-ids': (id: string) =>
    `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
  'item-id-prefix': (path: string, id: string, prefix: string) =>
    `Invalid '${path}': '${id}'. Expected an ID that begins with '${prefix}'.`,
  'reasoning-followed': (id: string) =>
    `Item '${id}' of type 'reasoning' was provided without its required following item.`,
  'reasoning-sealed': notKept,
  'no-references': notKept,
  'compaction-shape': (path: string) => `Missing required parameter: '${path}.encrypted_content'.`,
  'one-chain':
    "Mutually exclusive parameters: Ensure you are only providing one of: 'previous_response_id' or 'conversation'.",
  'deferred-tools': "Tools with 'defer_loading' require the 'tool_search' tool to be present in 'tools'.",
  'tool-choice-needs-tools': messageAsGiven,
  'output-cap': (cap: string) =>
    `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${MIN_OUTPUT}, but got ${cap} instead.`,
} as const satisfies RuleBook

type Context = RuleContext<typeof OPENAI_RESPONSES_RULES>

export const checkOpenAiResponses = checkBody(OPENAI_RESPONSES_RULES, NO_OBJECT, (context) => {
  checkEnvelope(context)
  checkItems(context)
  checkItemPairs(listOf(context.body.input), isChained(context.body), context.found)
})

/** Calls that the client answers. Items of the provider's own tools contain their result. */
const CLIENT_CALLS = new Set(
  'function_call custom_tool_call local_shell_call shell_call computer_call apply_patch_call'.split(' '),
)

const typeOf = (item: unknown): string => (isRecord(item) && typeof item.type === 'string' ? item.type : '')

const isOutput = (type: string): boolean =>
  type.endsWith('_call_output') && CLIENT_CALLS.has(type.slice(0, -'_output'.length))

/**
 * Pairs calls with outputs, and reasoning with the item it led to. When the provider holds earlier items (`chained`), an output may answer a call
 * that is not in the body.
 */
export function checkItemPairs(
  items: readonly unknown[],
  chained: boolean,
  found: Findings<typeof OPENAI_RESPONSES_RULES>,
): void {
  /** The path of each call that has no output yet. */
  const open = new Map<string, string>()
  const answered = new Set<string>()
  items.forEach((item, index) => {
    if (!isRecord(item)) return
    const type = typeOf(item)
    const path = `input[${index}]`
    const id = typeof item.call_id === 'string' ? item.call_id : ''
    if (CLIENT_CALLS.has(type)) {
      checkCall(item, id, path, found)
      if (open.has(id) || answered.has(id)) found.report('unique-call-ids', `${path}.call_id`, id)
      open.set(id, path)
    } else if (isOutput(type)) {
      if (open.delete(id) || (chained && !answered.has(id))) answered.add(id)
      else found.report(answered.has(id) ? 'outputs-once' : 'outputs-have-calls', path, id)
    } else if (type === 'reasoning' && !leadsOn(items, index)) {
      found.report('reasoning-followed', path, shown(item.id))
    }
  })
  for (const [id, path] of open) found.report('calls-answered', path, id)
}

function checkCall(item: Fields, id: string, path: string, found: Context['found']): void {
  const at = `${path}.call_id`
  if (id === '') found.report('call-shape', at, `Missing required parameter: '${at}'.`)
  if (id.length > MAX_CALL_ID) {
    const message = `Invalid '${at}': string too long. Expected a string with maximum length ${MAX_CALL_ID}, but got a string with length ${id.length} instead.`
    found.report('call-shape', at, message)
  }
  if (item.type === 'function_call' && (typeof item.name !== 'string' || typeof item.arguments !== 'string'))
    found.report('call-shape', path, `Missing required parameter: '${path}.arguments'.`)
}

/**
 * Whether the item after a reasoning item is from the model. Another reasoning item is checked in its own turn, so one step is enough; a reference
 * may be to any item.
 */
function leadsOn(items: readonly unknown[], index: number): boolean {
  const next = items[index + 1]
  const type = typeOf(next)
  if (type === '' || type === 'message') return isRecord(next) && next.role === 'assistant'
  return !isOutput(type)
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

/** The provider holds history that is not in the body. */
const isChained = (body: Fields): boolean => typeof body.previous_response_id === 'string' || isGiven(body.conversation)

function checkEnvelope({ body, found }: Context): void {
  const { input, max_output_tokens: cap, previous_response_id: previous } = body
  if (typeof body.model !== 'string') found.report('body-shape', 'model', "Missing required parameter: 'model'.")
  if (typeof input !== 'string' && !Array.isArray(input) && !isChained(body))
    found.report('body-shape', 'input', "Missing required parameter: 'input'.")
  if (typeof previous === 'string' && isGiven(body.conversation)) found.report('one-chain', 'previous_response_id')
  if (isGiven(cap) && (typeof cap !== 'number' || cap < MIN_OUTPUT))
    found.report('output-cap', 'max_output_tokens', shown(cap))
  checkTools(body, found)
}

function checkTools(body: Fields, found: Context['found']): void {
  const tools = recordsIn(body.tools)
  const nested = tools.flatMap((tool) => [tool, ...recordsIn(tool.tools)])
  if (nested.some((tool) => tool.defer_loading === true) && !tools.some((tool) => tool.type === 'tool_search'))
    found.report('deferred-tools', 'tools')
  const choice = body.tool_choice
  if (choice === 'required' && tools.length === 0) {
    const message = "Tool choice 'required' must be specified with 'tools' parameter."
    found.report('tool-choice-needs-tools', 'tool_choice', message)
  }
  if (!isRecord(choice) || (choice.type !== 'function' && choice.type !== 'custom')) return
  if (!nested.some((tool) => tool.name === choice.name)) {
    const message = `Tool choice '${shown(choice.name)}' not found in 'tools' parameter.`
    found.report('tool-choice-needs-tools', 'tool_choice', message)
  }
}

const ID_PREFIXES = new Map<unknown, string>([
  ['function_call', 'fc'],
  ['reasoning', 'rs'],
])

function checkItems({ body, found }: Context): void {
  const ids = new Set<string>()
  listOf(body.input).forEach((item, index) => {
    const path = `input[${index}]`
    if (!isRecord(item) || (typeof item.type !== 'string' && typeof item.role !== 'string')) {
      found.report('item-shape', path, `Invalid value for '${path}': expected an item with a type or a role.`)
      return
    }
    const isMessage = item.type === undefined || item.type === 'message'
    if (isMessage && typeof item.content !== 'string' && !Array.isArray(item.content))
      found.report('item-shape', `${path}.content`, `Missing required parameter: '${path}.content'.`)
    const { id } = item
    if (typeof id === 'string' && id !== '') {
      if (ids.has(id)) found.report('unique-item-ids', `${path}.id`, id)
      ids.add(id)
      const isAnswer = item.type === 'message' && item.role === 'assistant'
      const prefix = isAnswer ? 'msg' : ID_PREFIXES.get(item.type)
      if (prefix !== undefined && !id.startsWith(prefix))
        found.report('item-id-prefix', `${path}.id`, `${path}.id`, id, prefix)
    }
    const isSealed = typeof item.encrypted_content === 'string' && item.encrypted_content !== ''
    if (item.type === 'compaction' && !isSealed) found.report('compaction-shape', path, path)
    if (body.store !== false) return
    // Without an id the provider cannot look it up, and reads the reasoning in the body.
    if (item.type === 'reasoning' && !isSealed && typeof id === 'string') found.report('reasoning-sealed', path, id)
    if (item.type === 'item_reference') found.report('no-references', path, shown(id))
  })
}
