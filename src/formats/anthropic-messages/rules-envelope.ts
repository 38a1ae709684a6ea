import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import { isBlank, shown } from '../kit/rule-kit.ts'
import type { RuleContext } from './rule-turns.ts'
import { checkThinkingSettings } from './rules-thinking.ts'

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/

/** Rules of everything around the messages: model, limits, system, tools. */
export function checkEnvelope(context: RuleContext): void {
  const { body, found, profiles } = context
  // Bedrock and Vertex carry the model in the URL.
  if (typeof body.model !== 'string' && !profiles.has('bedrock') && !profiles.has('vertex')) {
    found.report('body-shape', 'model', 'Field required')
  }
  // A body for count_tokens has no output, so no cap on it.
  if (!profiles.has('count-tokens')) {
    const cap = body.max_tokens
    if (cap === undefined) found.report('max-tokens', 'max_tokens', 'Field required')
    else if (typeof cap !== 'number' || !Number.isInteger(cap) || cap < 1) {
      found.report('max-tokens', 'max_tokens', 'Input should be greater than or equal to 1')
    }
  }
  if (!Array.isArray(body.messages)) found.report('body-shape', 'messages', 'Field required')
  else if (body.messages.length === 0) found.report('body-shape', 'messages', 'at least one message is required')
  checkSystem(context)
  checkTools(context)
  checkThinkingSettings(context)
}

function checkSystem({ body, found }: RuleContext): void {
  const { system } = body
  if (system === undefined || typeof system === 'string') return
  if (!Array.isArray(system)) {
    found.report('body-shape', 'system', 'Input should be a valid string or list of text blocks')
    return
  }
  listOf(system).forEach((block, index) => {
    const path = `system.${index}`
    if (!isRecord(block) || block.type !== 'text' || typeof block.text !== 'string') {
      found.report('body-shape', path, 'Input should be a text block')
    } else if (isBlank(block.text)) found.report('no-empty-text', path, 'text content blocks must be non-empty')
  })
}

function checkTools({ body, found }: RuleContext): void {
  const tools = recordsIn(body.tools)
  const names = new Set<unknown>()
  tools.forEach((tool, index) => {
    const path = `tools.${index}`
    // Toolsets of MCP servers and the like have no name of their own.
    if (tool.name === undefined && tool.type !== undefined && tool.type !== 'custom') return
    if (typeof tool.name !== 'string' || !TOOL_NAME.test(tool.name)) {
      found.report('tool-name-format', `${path}.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
    } else if (names.has(tool.name)) found.report('unique-tool-names', path, 'Tool names must be unique.')
    names.add(tool.name)
  })
  if (tools.length > 0 && tools.every((tool) => tool.defer_loading === true)) {
    found.report('deferred-tools', 'tools', 'At least one tool must have defer_loading=false.')
  }
  checkChoice(body, found, tools.length, names)
}

function checkChoice(body: Fields, found: RuleContext['found'], tools: number, names: ReadonlySet<unknown>): void {
  const choice = body.tool_choice
  if (!isRecord(choice)) return
  if (tools === 0) {
    found.report('tool-choice-needs-tools', 'tool_choice', 'tool_choice may only be specified while providing tools.')
  } else if (choice.type === 'tool' && !names.has(choice.name)) {
    found.report('tool-choice-needs-tools', 'tool_choice', `Tool '${shown(choice.name)}' not found in provided tools`)
  }
}
