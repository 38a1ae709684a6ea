import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import { type Findings, quoted, shown } from '../kit/rules.ts'
import type { AnthropicRule, ModelTraits } from './rule-book.ts'

/** What every group of rules looks at. */
export interface RuleContext {
  readonly body: Fields
  readonly found: Findings<AnthropicRule>
  readonly traits: ModelTraits
  readonly profiles: ReadonlySet<string>
}

export interface PlacedBlock {
  readonly block: Fields
  readonly message: number
  /** Undefined for the text of a message that is a mere string. */
  readonly at: number | undefined
}

/** Only what is reported has to say where it stands. */
export const pathOf = ({ message, at }: PlacedBlock): string =>
  at === undefined ? `messages.${message}.content` : `messages.${message}.content.${at}`

/** Messages of one role in a row: the API combines them before it looks at pairs. */
export interface Turn {
  readonly role: 'user' | 'assistant' | 'system'
  /** Index of the first message. */
  readonly message: number
  readonly blocks: PlacedBlock[]
}

const isRole = (value: unknown): value is Turn['role'] =>
  value === 'user' || value === 'assistant' || value === 'system'

/** Groups the messages into turns and checks their shape and order on the way. */
export function turnsOf(context: RuleContext): Turn[] {
  const { found, traits, profiles } = context
  const messages = listOf(context.body.messages)
  const turns: Turn[] = []
  let first = true
  messages.forEach((message, index) => {
    if (!isRecord(message) || !isRole(message.role)) {
      found.report('message-shape', `messages.${index}`, "Input should be a message with role 'user' or 'assistant'")
      return
    }
    const { role } = message
    const previous = turns.at(-1)
    if (first && role === 'assistant' && profiles.has('bedrock')) {
      found.report('first-message-user', `messages.${index}`, 'A conversation must start with a user message.')
    }
    if (role === 'system') {
      const path = `messages.${index}`
      if (traits.systemMessages === false) {
        found.report('system-message-place', path, "role 'system' is not supported on this model")
      } else if (previous?.role !== 'user' && previous?.role !== 'system') {
        found.report('system-message-place', path, "role 'system' must follow a 'user' message")
      }
    }
    first = false
    const turn = previous?.role === role ? previous : { role, message: index, blocks: [] }
    if (turn !== previous) turns.push(turn)
    addBlocks(context, turn, message.content, index, index === messages.length - 1)
  })
  checkEnd(context, turns)
  return turns
}

function addBlocks(context: RuleContext, turn: Turn, content: unknown, message: number, last: boolean): void {
  const { found } = context
  if (typeof content === 'string') {
    if (content === '') reportEmpty(context, turn, message, last)
    else turn.blocks.push({ block: { type: 'text', text: content }, message, at: undefined })
    return
  }
  if (!Array.isArray(content)) {
    found.report(
      'message-shape',
      `messages.${message}.content`,
      'Input should be a valid string or list of content blocks',
    )
    return
  }
  if (content.length === 0) reportEmpty(context, turn, message, last)
  content.forEach((block: unknown, at) => {
    if (isRecord(block) && typeof block.type === 'string') turn.blocks.push({ block, message, at })
    else
      found.report('message-shape', `messages.${message}.content.${at}`, 'Input should be a content block with a type')
  })
}

function reportEmpty(context: RuleContext, turn: Turn, message: number, last: boolean): void {
  if (last && turn.role === 'assistant') return
  context.found.report(
    'no-empty-content',
    `messages.${message}`,
    'all messages must have non-empty content except for the optional final assistant message',
  )
}

// A turn paused by the server is sent back as it is, and ends with a server tool's block.
const isServerBlock = (type: unknown): boolean =>
  typeof type === 'string' && type !== 'tool_use' && type !== 'tool_result' && /_tool_(?:use|result)$/.test(type)

function checkEnd({ found, traits }: RuleContext, turns: readonly Turn[]): void {
  const last = turns.at(-1)
  if (last?.role !== 'assistant') return
  const end = last.blocks.at(-1)
  if (last.blocks.some(({ block }) => isServerBlock(block.type))) return
  if (traits.prefill === false) {
    found.report(
      'no-prefill',
      `messages.${last.message}`,
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
  }
  if (end?.block.type === 'text' && typeof end.block.text === 'string' && /\s$/.test(end.block.text)) {
    found.report('no-trailing-space', pathOf(end), 'final assistant content cannot end with trailing whitespace')
  }
}

const CALL_ID = /^[a-zA-Z0-9_-]+$/

/** Which results belong to which calls, by position and not only by id. */
export function checkPairs(context: RuleContext, turns: readonly Turn[]): void {
  const seen = new Set<string>()
  turns.forEach((turn, index) => {
    if (turn.role === 'assistant') {
      checkCalls(context, turn, turns[index + 1], seen)
      checkServerPairs(context, turn, index === turns.length - 1)
    } else if (turn.role === 'user') {
      checkResults(context, turn, turns[index - 1])
    }
  })
  checkDeclared(context, turns)
}

const blocksOf = (turn: Turn | undefined, type: string): readonly PlacedBlock[] =>
  turn?.blocks.filter(({ block }) => block.type === type) ?? []

function checkCalls({ found }: RuleContext, turn: Turn, next: Turn | undefined, seen: Set<string>): void {
  const calls = blocksOf(turn, 'tool_use')
  if (calls.length === 0) return
  const answered = new Set(
    next?.role === 'user' ? blocksOf(next, 'tool_result').map(({ block }) => block.tool_use_id) : [],
  )
  const open: string[] = []
  for (const placed of calls) {
    const { block } = placed
    const id = typeof block.id === 'string' ? block.id : ''
    if (!CALL_ID.test(id))
      found.report('call-id-format', `${pathOf(placed)}.id`, "String should match pattern '^[a-zA-Z0-9_-]+$'")
    if (seen.has(id)) found.report('unique-call-ids', pathOf(placed), '`tool_use` ids must be unique')
    seen.add(id)
    if (!answered.has(id)) open.push(id)
  }
  if (open.length === 0) return
  found.report(
    'calls-answered',
    `messages.${turn.message}`,
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${quoted(open)}. ` +
      'Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
  )
}

function checkResults({ found }: RuleContext, turn: Turn, previous: Turn | undefined): void {
  if (!turn.blocks.some(({ block }) => block.type === 'tool_result')) return
  const calls = new Set(
    previous?.role === 'assistant' ? blocksOf(previous, 'tool_use').map(({ block }) => block.id) : [],
  )
  const answered = new Set<unknown>()
  let other = false
  for (const placed of turn.blocks) {
    const { block } = placed
    if (block.type !== 'tool_result') {
      other = true
      continue
    }
    const id = block.tool_use_id
    if (!calls.has(id)) {
      found.report(
        'results-have-calls',
        pathOf(placed),
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${shown(id)}. ` +
          'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
      )
    } else if (answered.has(id)) {
      found.report(
        'results-once',
        pathOf(placed),
        `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${shown(id)}`,
      )
    } else if (other) {
      found.report(
        'results-first',
        pathOf(placed),
        '`tool_result` blocks must come first in the content of a `user` message',
      )
    }
    answered.add(id)
  }
}

/** Server tools answer themselves inside the assistant turn. The types are paired by structure, so new ones are covered. */
function checkServerPairs({ found }: RuleContext, turn: Turn, last: boolean): void {
  if (!turn.blocks.some(({ block }) => isServerBlock(block.type))) return
  const open = new Map<unknown, PlacedBlock>()
  for (const placed of turn.blocks) {
    const { block } = placed
    const type = shown(block.type)
    if (type !== 'tool_use' && type.endsWith('_tool_use')) open.set(block.id, placed)
    else if (type !== 'tool_result' && type.endsWith('_tool_result')) {
      const callType = type === 'mcp_tool_result' ? 'mcp_tool_use' : 'server_tool_use'
      if (!open.delete(block.tool_use_id)) {
        found.report(
          'server-tool-pairs',
          pathOf(placed),
          `unexpected \`tool_use_id\` found in \`${type}\` blocks: ${shown(block.tool_use_id)}. ` +
            `Each \`${type}\` block must have a corresponding \`${callType}\` block before it.`,
        )
      }
    }
  }
  // A paused turn may end with an open server call; the API goes on with it.
  if (last) return
  for (const placed of open.values()) {
    const { block } = placed
    found.report(
      'server-tool-pairs',
      pathOf(placed),
      `\`${shown(block.type)}\` ids were found without a corresponding result block: ${shown(block.id)}`,
    )
  }
}

function checkDeclared({ body, found, profiles }: RuleContext, turns: readonly Turn[]): void {
  if (!profiles.has('bedrock') || (Array.isArray(body.tools) && body.tools.length > 0)) return
  const used = turns.find((turn) =>
    turn.blocks.some(({ block }) => block.type === 'tool_use' || block.type === 'tool_result'),
  )
  if (used === undefined) return
  found.report(
    'history-tools-declared',
    `messages.${used.message}`,
    'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
  )
}

const THINKING = new Set(['thinking', 'redacted_thinking'])
const isThinking = ({ block }: PlacedBlock): boolean => THINKING.has(shown(block.type))

/** Rules of thinking that can be seen in one body. Signatures and bindings need the issuer: the referee checks those. */
export function checkThinking(context: RuleContext, turns: readonly Turn[]): void {
  const { body, found } = context
  for (const turn of turns) {
    for (const placed of turn.blocks) {
      if (!isThinking(placed)) continue
      const { block } = placed
      if (block.type === 'thinking' && (typeof block.thinking !== 'string' || !isFilled(block.signature))) {
        found.report('thinking-shape', `${pathOf(placed)}.signature`, 'Field required')
      } else if (block.type === 'redacted_thinking' && !isFilled(block.data)) {
        found.report('thinking-shape', `${pathOf(placed)}.data`, 'Field required')
      }
    }
  }
  const thinking = isRecord(body.thinking) ? body.thinking : {}
  if (thinking.type === 'enabled') checkOpenStep(context, turns)
}

const isFilled = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** In an open tool step the first assistant turn after the user's own words begins with thinking. */
function checkOpenStep({ found }: RuleContext, turns: readonly Turn[]): void {
  const last = turns.at(-1)
  if (last === undefined || last.role !== 'user') return
  if (!last.blocks.some(({ block }) => block.type === 'tool_result')) return
  const step = turns.at(-2)
  const first = step?.blocks[0]
  if (step?.role !== 'assistant' || first === undefined || isThinking(first)) return
  found.report(
    'thinking-first',
    pathOf(first),
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${shown(first.block.type)}\`. When \`thinking\` is enabled, ` +
      'a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and ' +
      '`tool_result` blocks).',
  )
}

/** Rules between the thinking setting and the rest of the envelope. */
export function checkThinkingSettings({ body, found, traits }: RuleContext): void {
  const thinking = isRecord(body.thinking) ? body.thinking : {}
  const on = thinking.type === 'enabled' || thinking.type === 'adaptive'
  const edits = isRecord(body.context_management) ? recordsIn(body.context_management.edits) : []
  // Newer models think without being asked, so only an explicit switch-off or an old model breaks this.
  const mayThink = on || (thinking.type === undefined && traits.manualThinking === false)
  edits.forEach((edit, index) => {
    if (!shown(edit.type).startsWith('clear_thinking') || mayThink) return
    found.report(
      'clear-thinking-needs-thinking',
      `context_management.edits.${index}`,
      `\`${shown(edit.type)}\` strategy requires \`thinking\` to be enabled or adaptive`,
    )
  })
  if (!on) return
  if (thinking.type === 'enabled' && traits.manualThinking === false) {
    found.report(
      'thinking-mode',
      'thinking.type',
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
    )
  }
  if (thinking.type === 'adaptive' && traits.adaptiveThinking === false) {
    found.report('thinking-mode', 'thinking.type', 'adaptive thinking is not supported on this model')
  }
  if (thinking.type === 'enabled') checkBudget(body, found, thinking.budget_tokens)
  const choice = isRecord(body.tool_choice) ? body.tool_choice.type : undefined
  if (thinking.type === 'enabled' && (choice === 'any' || choice === 'tool')) {
    found.report('thinking-forced-tool', 'tool_choice', 'Thinking may not be enabled when tool_choice forces tool use.')
  }
  if (typeof body.temperature === 'number' && body.temperature !== 1) {
    found.report('thinking-temperature', 'temperature', '`temperature` may only be set to 1 when thinking is enabled.')
  }
}

function checkBudget(body: Fields, found: RuleContext['found'], budget: unknown): void {
  const path = 'thinking.enabled.budget_tokens'
  if (typeof budget !== 'number' || !Number.isInteger(budget) || budget < 1024) {
    found.report('thinking-budget', path, 'Input should be greater than or equal to 1024')
    return
  }
  // With interleaved thinking the budget spans a whole tool loop; the header says so, the body does not, so tools excuse it.
  const interleaved = recordsIn(body.tools).length > 0
  if (!interleaved && typeof body.max_tokens === 'number' && budget >= body.max_tokens) {
    found.report('thinking-budget', path, '`max_tokens` must be greater than `thinking.budget_tokens`.')
  }
}
