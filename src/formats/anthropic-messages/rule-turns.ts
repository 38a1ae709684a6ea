import { type Fields, isRecord, listOf } from '../../core/values.ts'
import type { Findings } from '../kit/rule-kit.ts'
import type { ModelTraits } from './model-traits.ts'
import type { AnthropicRule } from './rule-book.ts'

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
export const isServerBlock = (type: unknown): boolean =>
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
