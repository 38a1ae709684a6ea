import type { RuleOptions, Violation } from '../../core/codec.ts'
import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import type { Findings } from '../kit/rule-kit.ts'
import { findings, findLoneSurrogate, shown } from '../kit/rule-kit.ts'
import type { OpenAiResponsesRule } from './rule-book.ts'
import { OPENAI_RESPONSES_RULES } from './rule-book.ts'
import { checkItemPairs } from './rules-pairs.ts'

export { OPENAI_RESPONSES_RULES } from './rule-book.ts'

export interface ResponsesRuleContext {
  readonly body: Fields
  readonly found: Findings<OpenAiResponsesRule>
}

const MIN_OUTPUT = 16
const ID_PREFIXES = new Map<unknown, string>([
  ['function_call', 'fc'],
  ['reasoning', 'rs'],
])

/** The rules of the Responses API on a parsed body. Never throws; linear in the body. */
export function checkOpenAiResponses(body: unknown, options: RuleOptions = {}): Violation[] {
  const found = findings(OPENAI_RESPONSES_RULES)
  if (!isRecord(body)) {
    found.report('body-shape', '', 'We could not parse the JSON body of your request.')
    return [...found.list]
  }
  const lone = findLoneSurrogate(body, options.wellFormed)
  if (lone !== undefined) {
    found.report('well-formed-text', lone, 'We could not parse the JSON body of your request: lone surrogate in string')
  }
  const context = { body, found }
  checkEnvelope(context)
  checkItems(context)
  checkItemPairs(listOf(body.input), isChained(body), found)
  return [...found.list]
}

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
