import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import {
  messageAsGiven,
  checkBody,
  isBlank,
  type Findings,
  quoted,
  readImageHeader,
  type RuleBook,
  shown,
} from '../kit/rules.ts'

// Anthropic takes four cache marks per request and answers 400 to a fifth.
const MAX_CACHE_MARKS = 4
const MAX_BODY_BYTES = 32 * 1024 * 1024
const MAX_IMAGE_BYTES = 5 * 1024 * 1024
const MAX_IMAGE_SIDE = 8_000
// From the 21st image on, the smaller limit applies to every image of the request, so a late image can make an early one illegal.
const MANY_IMAGES = 20
const MAX_IMAGE_SIDE_MANY = 2_000

/** The differences between Claude models on this wire, by the model's id. Unknown ids have no traits, and no rule fires. */
interface ModelTraits {
  /** A request may end with an assistant message, which the model continues. */
  readonly prefill?: boolean
  readonly manualThinking?: boolean
  readonly adaptiveThinking?: boolean
  readonly systemMessages?: boolean
  /** Thinking blocks are bound to everything before them. From the documentation, not verified against the vendor. */
  readonly bindsThinking?: boolean
}

// claude-opus-4-6, claude-sonnet-4-5-20250929, claude-fable-5-1; prefixes such as `us.anthropic.` are allowed.
const NEW_STYLE = /claude-(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/
// claude-3-5-sonnet-20241022
const OLD_STYLE = /claude-(\d)(?:[-.](\d))?-(?:opus|sonnet|haiku)/

export function traitsOf(model: string): ModelTraits {
  const fresh = NEW_STYLE.exec(model)
  if (fresh !== null) return traitsOfVersion(Number(fresh[2]) + Number(fresh[3] ?? 0) / 100, fresh[1] ?? '')
  const old = OLD_STYLE.exec(model)
  return old === null ? {} : traitsOfVersion(Number(old[1]) + Number(old[2] ?? 0) / 100, '')
}

const traitsOfVersion = (version: number, family: string): ModelTraits => ({
  prefill: version < 4.06,
  manualThinking: version < 4.07,
  adaptiveThinking: version >= 4.06,
  systemMessages: version >= 4.08,
  // Mythos records the binding without enforcing it; Fable is the first that refuses.
  bindsThinking: version >= 5.01 && family !== 'mythos' && family !== 'haiku',
})

/** The rules of the Messages API, with the vendor's messages. */
export const ANTHROPIC_RULES = {
  'body-shape': messageAsGiven,
  'max-tokens': messageAsGiven,
  'body-bytes': 'Request exceeds the maximum size',
  'well-formed-text': 'The request body is not valid JSON: no low surrogate in string',
  'message-shape': messageAsGiven,
  'first-message-user': 'A conversation must start with a user message.',
  'system-message-place': messageAsGiven,
  'no-prefill': 'This model does not support assistant message prefill. The conversation must end with a user message.',
  'no-trailing-space': 'final assistant content cannot end with trailing whitespace',
  'no-empty-content': 'all messages must have non-empty content except for the optional final assistant message',
  'no-empty-text': (text: string) =>
    `text content blocks must ${text === '' ? 'be non-empty' : 'contain non-whitespace text'}`,
  'block-role': (type: string, role: string) => `\`${type}\` blocks can only be in \`${role}\` messages`,
  'calls-answered': (ids: string) =>
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. ` +
    'Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
  'results-have-calls': (id: string) =>
    `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
    'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
  'results-once': (id: string) =>
    `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
  'results-first': '`tool_result` blocks must come first in the content of a `user` message',
  'error-result-content': 'content cannot be empty if `is_error` is true',
  'unique-call-ids': '`tool_use` ids must be unique',
  'call-id-format': "String should match pattern '^[a-zA-Z0-9_-]+$'",
  'server-tool-pairs': messageAsGiven,
  'history-tools-declared': 'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
  'tool-choice-needs-tools': messageAsGiven,
  'unique-tool-names': 'Tool names must be unique.',
  'tool-name-format': "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
  'deferred-tools': 'At least one tool must have defer_loading=false.',
  'tool-reference-declared': (name: string) => `Tool reference '${name}' not found in available tools`,
  'cache-marks-max': (count: number) =>
    `A maximum of ${MAX_CACHE_MARKS} blocks with cache_control may be provided. Found ${count}.`,
  'cache-mark-place': (type: string) => `cache_control cannot be set for ${type} blocks`,
  'cache-mark-shape': "Input tag should be 'ephemeral', with ttl '5m' or '1h'",
  'cache-ttl-order':
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. " +
    'Note that blocks are processed in the following order: `tools`, `system`, `messages`.',
  'thinking-shape': 'Field required',
  'thinking-first': (type: string) =>
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\`. When \`thinking\` is enabled, ` +
    'a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and ' +
    '`tool_result` blocks).',
  'thinking-budget': messageAsGiven,
  'thinking-mode': messageAsGiven,
  'thinking-forced-tool': 'Thinking may not be enabled when tool_choice forces tool use.',
  'thinking-temperature': '`temperature` may only be set to 1 when thinking is enabled.',
  'clear-thinking-needs-thinking': (type: string) =>
    `\`${type}\` strategy requires \`thinking\` to be enabled or adaptive`,
  'image-type': messageAsGiven,
  'image-bytes': (size: number) => `image exceeds 5 MB maximum: ${size} bytes > ${MAX_IMAGE_BYTES} bytes`,
  'image-pixels': (side: number) =>
    `At least one of the image dimensions exceed max allowed size${side === MAX_IMAGE_SIDE ? '' : ' for many-image requests'}: ${side} pixels`,
} as const satisfies RuleBook

/** What all groups of rules use. */
interface RuleContext {
  readonly body: Fields
  readonly found: Findings<typeof ANTHROPIC_RULES>
  readonly traits: ModelTraits
  readonly profiles: ReadonlySet<string>
}

/** A block, or a part of one, and its path. */
interface PlacedBlock {
  readonly block: Fields
  readonly path: string
}

/** The objects in a list, with their paths. */
const placedIn = (list: unknown, path: string): PlacedBlock[] =>
  listOf(list).flatMap((block, at) => (isRecord(block) ? [{ block, path: `${path}.${at}` }] : []))

/** Neighbouring messages of one role: the API joins them before it checks pairs. */
interface Turn {
  readonly role: 'user' | 'assistant' | 'system'
  /** The path of the first message. */
  readonly path: string
  readonly blocks: PlacedBlock[]
}

export const checkAnthropicMessages = checkBody(
  ANTHROPIC_RULES,
  'Input should be a valid dictionary',
  ({ model, ...given }) => {
    const context: RuleContext = { ...given, traits: traitsOf(model) }
    checkEnvelope(context)
    if (listOf(context.body.messages).length > 0) {
      const turns = turnsOf(context)
      checkBlocks(context, turns)
      checkPairs(context, turns)
      checkThinking(context, turns)
    }
    checkCacheMarks(context)
  },
  MAX_BODY_BYTES,
)

const ASSISTANT_ONLY = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use', 'thinking', 'redacted_thinking'])
const USER_ONLY = new Set(['tool_result', 'image', 'document'])
const IMAGE_TYPES = new Set<unknown>(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** Rules of single blocks: text, allowed roles, pictures. */
function checkBlocks(context: RuleContext, turns: readonly Turn[]): void {
  const { found } = context
  const images: PlacedBlock[] = []
  for (const { role, blocks } of turns) {
    for (const placed of blocks) {
      const { block, path } = placed
      const type = shown(block.type)
      if (type === 'text') checkText(context, placed)
      if (type === 'image') images.push(placed)
      if (role !== 'assistant' && ASSISTANT_ONLY.has(type)) found.report('block-role', path, type, 'assistant')
      if (role !== 'user' && USER_ONLY.has(type)) found.report('block-role', path, type, 'user')
      if (role === 'system' && type !== 'text')
        found.report('system-message-place', path, "role 'system' messages only take text")
      if (type === 'tool_result') images.push(...checkResult(context, placed))
    }
  }
  const maxSide = images.length > MANY_IMAGES ? MAX_IMAGE_SIDE_MANY : MAX_IMAGE_SIDE
  for (const image of images) checkImage(context, image, maxSide)
  checkReferences(context, turns)
}

function checkText({ found }: RuleContext, { block: { text }, path }: PlacedBlock): void {
  if (typeof text !== 'string') found.report('message-shape', `${path}.text`, 'Field required')
  else if (isBlank(text)) found.report('no-empty-text', path, text)
}

/** Checks a result and returns its pictures. */
function checkResult(context: RuleContext, { block, path }: PlacedBlock): PlacedBlock[] {
  const { content } = block
  const isEmpty = content === undefined || content === null || content === ''
  if (block.is_error === true && (isEmpty || (Array.isArray(content) && content.length === 0)))
    context.found.report('error-result-content', path)
  const parts = placedIn(content, `${path}.content`)
  for (const part of parts) if (part.block.type === 'text') checkText(context, part)
  return parts.filter((part) => part.block.type === 'image')
}

function checkImage({ found }: RuleContext, { block, path }: PlacedBlock, maxSide: number): void {
  const source = isRecord(block.source) ? block.source : {}
  if (source.type !== 'base64') return
  const data = typeof source.data === 'string' ? source.data : ''
  const at = `${path}.source.base64`
  if (!IMAGE_TYPES.has(source.media_type)) {
    const message = "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
    found.report('image-type', `${at}.media_type`, message)
    return
  }
  // The vendor measures the base64 text, not the decoded bytes.
  if (data.length > MAX_IMAGE_BYTES) found.report('image-bytes', at, data.length)
  const { type, width = 0, height = 0 } = readImageHeader(data) ?? {}
  if (type !== undefined && type !== source.media_type) {
    const message = `Image does not match the provided media type ${shown(source.media_type)}: it appears to be ${type}`
    found.report('image-type', `${at}.data`, message)
  }
  if (Math.max(width, height) > maxSide) found.report('image-pixels', `${at}.data`, maxSide)
}

/** Tool references in search results must name declared tools. */
function checkReferences({ body, found }: RuleContext, turns: readonly Turn[]): void {
  const declared = new Set(recordsIn(body.tools).map((tool) => tool.name))
  for (const { block, path } of turns.flatMap(({ blocks }) => blocks)) {
    if (!shown(block.type).endsWith('tool_result')) continue
    const inner = isRecord(block.content) ? block.content.tool_references : block.content
    for (const { type, tool_name: name } of recordsIn(inner))
      if (type === 'tool_reference' && !declared.has(name)) found.report('tool-reference-declared', path, shown(name))
  }
}

/** Rules of cache marks over the whole request, in the vendor's order: tools, system, messages. */
function checkCacheMarks({ body, found }: RuleContext): void {
  const holders = markedIn(body)
  const pathOf = ({ path }: PlacedBlock): string => (path === '' ? 'cache_control' : `${path}.cache_control`)
  const tooMany = holders[MAX_CACHE_MARKS]
  if (tooMany !== undefined) found.report('cache-marks-max', pathOf(tooMany), holders.length)
  let isShort = false
  for (const holder of holders) {
    const { cache_control: mark, type, text } = holder.block
    const { type: kind, ttl: given } = mark as Fields
    const ttl = given ?? '5m'
    const path = pathOf(holder)
    if (kind !== 'ephemeral' || (ttl !== '5m' && ttl !== '1h')) found.report('cache-mark-shape', path)
    if (ttl === '1h' && isShort) found.report('cache-ttl-order', path)
    isShort ||= ttl !== '1h'
    if (type === 'thinking' || type === 'redacted_thinking') found.report('cache-mark-place', path, type)
    else if (type === 'text' && text === '') found.report('cache-mark-place', path, 'empty text')
  }
}

/** Blocks with a mark. A mark at the top level applies to the last block that can have one. */
function markedIn(body: Fields): PlacedBlock[] {
  const messages = placedIn(body.messages, 'messages')
  const blocks = messages.flatMap(({ block, path }) => placedIn(block.content, `${path}.content`))
  const withParts = blocks.flatMap((placed) => {
    const { block, path } = placed
    return block.type === 'tool_result' ? [...placedIn(block.content, `${path}.content`), placed] : [placed]
  })
  const all = [...placedIn(body.tools, 'tools'), ...placedIn(body.system, 'system'), ...withParts]
  return [...all, { block: body, path: '' }].filter(({ block }) => isRecord(block.cache_control))
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/

/** Rules of everything outside the messages: model, limits, system, tools. */
function checkEnvelope(context: RuleContext): void {
  const { body, found, profiles } = context
  const { max_tokens: cap, messages } = body
  // On Bedrock and Vertex, the URL names the model.
  if (typeof body.model !== 'string' && !profiles.has('bedrock') && !profiles.has('vertex'))
    found.report('body-shape', 'model', 'Field required')
  // A body for count_tokens needs no output cap.
  if (!profiles.has('count-tokens')) {
    if (cap === undefined) found.report('max-tokens', 'max_tokens', 'Field required')
    else if (typeof cap !== 'number' || !Number.isInteger(cap) || cap < 1)
      found.report('max-tokens', 'max_tokens', 'Input should be greater than or equal to 1')
  }
  if (!Array.isArray(messages)) found.report('body-shape', 'messages', 'Field required')
  else if (messages.length === 0) found.report('body-shape', 'messages', 'at least one message is required')
  checkSystem(context)
  checkTools(context)
  checkThinkingSettings(context)
}

function checkSystem({ body: { system }, found }: RuleContext): void {
  if (system === undefined || typeof system === 'string') return
  if (!Array.isArray(system)) {
    found.report('body-shape', 'system', 'Input should be a valid string or list of text blocks')
    return
  }
  listOf(system).forEach((block, index) => {
    const path = `system.${index}`
    if (!isRecord(block) || block.type !== 'text' || typeof block.text !== 'string')
      found.report('body-shape', path, 'Input should be a text block')
    else if (isBlank(block.text)) found.report('no-empty-text', path, '')
  })
}

function checkTools({ body, found }: RuleContext): void {
  const tools = recordsIn(body.tools)
  const names = new Set<unknown>()
  tools.forEach(({ name, type }, index) => {
    const path = `tools.${index}`
    // MCP toolsets and similar tools have no name.
    if (name === undefined && type !== undefined && type !== 'custom') return
    if (typeof name !== 'string' || !TOOL_NAME.test(name)) found.report('tool-name-format', `${path}.name`)
    else if (names.has(name)) found.report('unique-tool-names', path)
    names.add(name)
  })
  if (tools.length > 0 && tools.every((tool) => tool.defer_loading === true)) found.report('deferred-tools', 'tools')
  const choice = body.tool_choice
  if (!isRecord(choice)) return
  if (tools.length === 0) {
    const message = 'tool_choice may only be specified while providing tools.'
    found.report('tool-choice-needs-tools', 'tool_choice', message)
  } else if (choice.type === 'tool' && !names.has(choice.name)) {
    const message = `Tool '${shown(choice.name)}' not found in provided tools`
    found.report('tool-choice-needs-tools', 'tool_choice', message)
  }
}

/** Rules that relate the thinking setting to the other settings. */
function checkThinkingSettings({ body, found, traits }: RuleContext): void {
  const { type, budget_tokens: budget } = isRecord(body.thinking) ? body.thinking : {}
  const isOn = type === 'enabled' || type === 'adaptive'
  const edits = isRecord(body.context_management) ? recordsIn(body.context_management.edits) : []
  // Newer models think by default, so only an explicit switch-off or an older model breaks this rule.
  const mayThink = isOn || (type === undefined && traits.manualThinking === false)
  edits.forEach((edit, index) => {
    const name = shown(edit.type)
    if (!name.startsWith('clear_thinking') || mayThink) return
    found.report('clear-thinking-needs-thinking', `context_management.edits.${index}`, name)
  })
  if (type === 'enabled') {
    if (traits.manualThinking === false) {
      const message = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".'
      found.report('thinking-mode', 'thinking.type', message)
    }
    checkBudget(body, found, budget)
    const choice = isRecord(body.tool_choice) ? body.tool_choice.type : undefined
    if (choice === 'any' || choice === 'tool') found.report('thinking-forced-tool', 'tool_choice')
  }
  if (type === 'adaptive' && traits.adaptiveThinking === false)
    found.report('thinking-mode', 'thinking.type', 'adaptive thinking is not supported on this model')
  if (isOn && typeof body.temperature === 'number' && body.temperature !== 1)
    found.report('thinking-temperature', 'temperature')
}

function checkBudget(body: Fields, found: RuleContext['found'], budget: unknown): void {
  const path = 'thinking.enabled.budget_tokens'
  if (typeof budget !== 'number' || !Number.isInteger(budget) || budget < 1024) {
    found.report('thinking-budget', path, 'Input should be greater than or equal to 1024')
    return
  }
  // With interleaved thinking, the budget covers a whole tool loop. Only a header says so, so requests with tools are exempt.
  const isInterleaved = recordsIn(body.tools).length > 0
  if (!isInterleaved && typeof body.max_tokens === 'number' && budget >= body.max_tokens)
    found.report('thinking-budget', path, '`max_tokens` must be greater than `thinking.budget_tokens`.')
}

const ROLES = new Set<unknown>(['user', 'assistant', 'system'])

/** Groups the messages into turns, and checks their shape and order. */
function turnsOf(context: RuleContext): Turn[] {
  const { found, traits, profiles } = context
  const messages = listOf(context.body.messages)
  const turns: Turn[] = []
  messages.forEach((message, index) => {
    const path = `messages.${index}`
    if (!isRecord(message) || !ROLES.has(message.role)) {
      found.report('message-shape', path, "Input should be a message with role 'user' or 'assistant'")
      return
    }
    const role = message.role as Turn['role']
    const previous = turns.at(-1)
    if (previous === undefined && role === 'assistant' && profiles.has('bedrock'))
      found.report('first-message-user', path)
    if (role === 'system') {
      if (traits.systemMessages === false)
        found.report('system-message-place', path, "role 'system' is not supported on this model")
      else if (previous?.role !== 'user' && previous?.role !== 'system')
        found.report('system-message-place', path, "role 'system' must follow a 'user' message")
    }
    const turn = previous?.role === role ? previous : { role, path, blocks: [] }
    if (turn !== previous) turns.push(turn)
    addBlocks(context, turn, message.content, path, index === messages.length - 1)
  })
  checkEnd(context, turns)
  return turns
}

function addBlocks({ found }: RuleContext, turn: Turn, content: unknown, message: string, isLast: boolean): void {
  const path = `${message}.content`
  if (content === '' || (Array.isArray(content) && content.length === 0)) {
    if (!isLast || turn.role !== 'assistant') found.report('no-empty-content', message)
  } else if (typeof content === 'string') turn.blocks.push({ block: { type: 'text', text: content }, path })
  else if (Array.isArray(content)) {
    content.forEach((block: unknown, at) => {
      if (isRecord(block) && typeof block.type === 'string') turn.blocks.push({ block, path: `${path}.${at}` })
      else found.report('message-shape', `${path}.${at}`, 'Input should be a content block with a type')
    })
  } else found.report('message-shape', path, 'Input should be a valid string or list of content blocks')
}

// A turn that the server paused is sent back unchanged, and ends with a block of a server tool.
const isServerBlock = ({ block: { type } }: PlacedBlock): boolean =>
  typeof type === 'string' && type !== 'tool_use' && type !== 'tool_result' && /_tool_(?:use|result)$/.test(type)

function checkEnd({ found, traits }: RuleContext, turns: readonly Turn[]): void {
  const last = turns.at(-1)
  if (last?.role !== 'assistant' || last.blocks.some(isServerBlock)) return
  if (traits.prefill === false) found.report('no-prefill', last.path)
  const end = last.blocks.at(-1)
  if (end?.block.type === 'text' && typeof end.block.text === 'string' && /\s$/.test(end.block.text))
    found.report('no-trailing-space', end.path)
}

const CALL_ID = /^[a-zA-Z0-9_-]+$/

/** Pairs calls with results by position, not only by id. */
function checkPairs(context: RuleContext, turns: readonly Turn[]): void {
  const seen = new Set<string>()
  turns.forEach((turn, index) => {
    if (turn.role === 'assistant') {
      checkCalls(context, turn, turns[index + 1], seen)
      checkServerPairs(context, turn, index === turns.length - 1)
    } else if (turn.role === 'user') checkResults(context, turn, turns[index - 1])
  })
  checkDeclared(context, turns)
}

const blocksOf = (turn: Turn | undefined, role: Turn['role'], type: string): readonly PlacedBlock[] =>
  turn?.role === role ? turn.blocks.filter(({ block }) => block.type === type) : []

function checkCalls({ found }: RuleContext, turn: Turn, next: Turn | undefined, seen: Set<string>): void {
  const answered = new Set(blocksOf(next, 'user', 'tool_result').map(({ block }) => block.tool_use_id))
  const open: string[] = []
  for (const { block, path } of blocksOf(turn, 'assistant', 'tool_use')) {
    const id = typeof block.id === 'string' ? block.id : ''
    if (!CALL_ID.test(id)) found.report('call-id-format', `${path}.id`)
    if (seen.has(id)) found.report('unique-call-ids', path)
    seen.add(id)
    if (!answered.has(id)) open.push(id)
  }
  if (open.length > 0) found.report('calls-answered', turn.path, quoted(open))
}

function checkResults({ found }: RuleContext, turn: Turn, previous: Turn | undefined): void {
  const calls = new Set(blocksOf(previous, 'assistant', 'tool_use').map(({ block }) => block.id))
  const answered = new Set<unknown>()
  let hasOther = false
  for (const { block, path } of turn.blocks) {
    if (block.type !== 'tool_result') {
      hasOther = true
      continue
    }
    const id = block.tool_use_id
    if (!calls.has(id)) found.report('results-have-calls', path, shown(id))
    else if (answered.has(id)) found.report('results-once', path, shown(id))
    else if (hasOther) found.report('results-first', path)
    answered.add(id)
  }
}

/** Server tools have their results within the assistant turn. Types are paired by their names' pattern, which covers new ones. */
function checkServerPairs({ found }: RuleContext, turn: Turn, isLast: boolean): void {
  const open = new Map<unknown, PlacedBlock>()
  for (const placed of turn.blocks.filter(isServerBlock)) {
    const { block, path } = placed
    const type = shown(block.type)
    if (type.endsWith('_use')) open.set(block.id, placed)
    else if (!open.delete(block.tool_use_id)) {
      const callType = type === 'mcp_tool_result' ? 'mcp_tool_use' : 'server_tool_use'
      const message =
        `unexpected \`tool_use_id\` found in \`${type}\` blocks: ${shown(block.tool_use_id)}. ` +
        `Each \`${type}\` block must have a corresponding \`${callType}\` block before it.`
      found.report('server-tool-pairs', path, message)
    }
  }
  // A paused turn may end with an open server call, which the API then continues.
  if (isLast) return
  for (const { block, path } of open.values()) {
    const message = `\`${shown(block.type)}\` ids were found without a corresponding result block: ${shown(block.id)}`
    found.report('server-tool-pairs', path, message)
  }
}

function checkDeclared({ body, found, profiles }: RuleContext, turns: readonly Turn[]): void {
  if (!profiles.has('bedrock') || listOf(body.tools).length > 0) return
  const used = turns.find(({ blocks }) =>
    blocks.some(({ block }) => block.type === 'tool_use' || block.type === 'tool_result'),
  )
  if (used !== undefined) found.report('history-tools-declared', used.path)
}

const isThinking = ({ block: { type } }: PlacedBlock): boolean => type === 'thinking' || type === 'redacted_thinking'

const isFilled = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** Rules of thinking that a single body can break. Signatures and bindings need the issuer: the referee checks those. */
function checkThinking(context: RuleContext, turns: readonly Turn[]): void {
  const { body, found } = context
  for (const { block, path } of turns.flatMap(({ blocks }) => blocks)) {
    if (block.type === 'thinking' && (typeof block.thinking !== 'string' || !isFilled(block.signature)))
      found.report('thinking-shape', `${path}.signature`)
    else if (block.type === 'redacted_thinking' && !isFilled(block.data)) found.report('thinking-shape', `${path}.data`)
  }
  if (isRecord(body.thinking) && body.thinking.type === 'enabled') checkOpenStep(context, turns)
}

/** In an open tool step, the first assistant turn after the user's text must begin with thinking. */
function checkOpenStep({ found }: RuleContext, turns: readonly Turn[]): void {
  if (blocksOf(turns.at(-1), 'user', 'tool_result').length === 0) return
  const step = turns.at(-2)
  const first = step?.blocks[0]
  if (step?.role !== 'assistant' || first === undefined || isThinking(first)) return
  found.report('thinking-first', first.path, shown(first.block.type))
}
