import type { RuleOptions, Violation } from '../../core/codec.ts'
import { type Fields, isRecord, listOf, recordsIn, textOf } from '../../core/values.ts'
import { checkBody, isBlank, profilesOf, readImageHeader, shown } from '../kit/rules.ts'
import {
  ANTHROPIC_RULES,
  MANY_IMAGES,
  MAX_BODY_BYTES,
  MAX_CACHE_MARKS,
  MAX_IMAGE_BYTES,
  MAX_IMAGE_SIDE,
  MAX_IMAGE_SIDE_MANY,
  traitsOf,
} from './rule-book.ts'
import {
  checkPairs,
  checkThinking,
  checkThinkingSettings,
  pathOf,
  type PlacedBlock,
  type RuleContext,
  type Turn,
  turnsOf,
} from './rules-turns.ts'

export { ANTHROPIC_RULES } from './rule-book.ts'

const ASSISTANT_ONLY = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use', 'thinking', 'redacted_thinking'])
const USER_ONLY = new Set(['tool_result', 'image', 'document'])
const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** Rules of single blocks: text, place by role, pictures. */
function checkBlocks(context: RuleContext, turns: readonly Turn[]): void {
  const images: PlacedImage[] = []
  for (const turn of turns) {
    for (const placed of turn.blocks) {
      checkBlock(context, turn, placed)
      addImages(images, placed)
    }
  }
  const maxSide = images.length > MANY_IMAGES ? MAX_IMAGE_SIDE_MANY : MAX_IMAGE_SIDE
  for (const image of images) checkImage(context, image, maxSide)
  checkReferences(context, turns)
}

function checkBlock(context: RuleContext, turn: Turn, placed: PlacedBlock): void {
  const { found } = context
  const type = shown(placed.block.type)
  if (type === 'text') checkText(context, placed.block, placed)
  if (turn.role !== 'assistant' && ASSISTANT_ONLY.has(type)) {
    found.report('block-role', pathOf(placed), `\`${type}\` blocks can only be in \`assistant\` messages`)
  }
  if (turn.role !== 'user' && USER_ONLY.has(type)) {
    found.report('block-role', pathOf(placed), `\`${type}\` blocks can only be in \`user\` messages`)
  }
  if (turn.role === 'system' && type !== 'text') {
    found.report('system-message-place', pathOf(placed), "role 'system' messages only take text")
  }
  if (type === 'tool_result') checkResult(context, placed)
}

/** A block, or a part of what the placed block holds. */
function checkText({ found }: RuleContext, block: Fields, placed: PlacedBlock, part?: number): void {
  if (typeof block.text === 'string' && !isBlank(block.text)) return
  const path = part === undefined ? pathOf(placed) : innerPath(placed, part)
  if (typeof block.text !== 'string') found.report('message-shape', `${path}.text`, 'Field required')
  else if (block.text === '') found.report('no-empty-text', path, 'text content blocks must be non-empty')
  else {
    found.report('no-empty-text', path, 'text content blocks must contain non-whitespace text')
  }
}

const innerPath = (placed: PlacedBlock, part: number): string => `${pathOf(placed)}.content.${part}`

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

function checkResult(context: RuleContext, placed: PlacedBlock): void {
  const { block } = placed
  const { content } = block
  const empty = content === undefined || content === null || content === '' || isEmptyList(content)
  if (block.is_error === true && empty) {
    context.found.report('error-result-content', pathOf(placed), 'content cannot be empty if `is_error` is true')
  }
  recordsIn(content).forEach((part, index) => {
    if (part.type === 'text') checkText(context, part, placed, index)
  })
}

interface PlacedImage {
  readonly block: Fields
  readonly path: string
}

/** Pictures of a block: itself, or inside a tool result. */
function addImages(images: PlacedImage[], placed: PlacedBlock): void {
  const { block } = placed
  if (block.type === 'image') images.push({ block, path: pathOf(placed) })
  if (block.type !== 'tool_result') return
  listOf(block.content).forEach((part, index) => {
    if (isRecord(part) && part.type === 'image') images.push({ block: part, path: innerPath(placed, index) })
  })
}

function checkImage({ found }: RuleContext, { block, path }: PlacedImage, maxSide: number): void {
  const source = isRecord(block.source) ? block.source : {}
  if (source.type !== 'base64') return
  const data = typeof source.data === 'string' ? source.data : ''
  const at = `${path}.source.base64`
  if (typeof source.media_type !== 'string' || !IMAGE_TYPES.has(source.media_type)) {
    found.report(
      'image-type',
      `${at}.media_type`,
      "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    )
    return
  }
  // The vendor measures the base64 text, not the bytes it stands for.
  if (data.length > MAX_IMAGE_BYTES) {
    found.report('image-bytes', at, `image exceeds 5 MB maximum: ${data.length} bytes > ${MAX_IMAGE_BYTES} bytes`)
  }
  const header = readImageHeader(data)
  if (header === undefined) return
  if (header.type !== source.media_type) {
    found.report(
      'image-type',
      `${at}.data`,
      `Image does not match the provided media type ${source.media_type}: it appears to be ${header.type}`,
    )
  }
  if (Math.max(header.width ?? 0, header.height ?? 0) > maxSide) {
    const many = maxSide === MAX_IMAGE_SIDE_MANY ? ' for many-image requests' : ''
    found.report(
      'image-pixels',
      `${at}.data`,
      `At least one of the image dimensions exceed max allowed size${many}: ${maxSide} pixels`,
    )
  }
}

/** Tool references of a search result name declared tools. */
function checkReferences({ body, found }: RuleContext, turns: readonly Turn[]): void {
  const declared = new Set(recordsIn(body.tools).map((tool) => tool.name))
  for (const { blocks } of turns) {
    for (const placed of blocks) {
      const { block } = placed
      if (!shown(block.type).endsWith('tool_result')) continue
      const inner = isRecord(block.content) ? block.content.tool_references : block.content
      for (const part of recordsIn(inner)) {
        if (part.type !== 'tool_reference' || declared.has(part.tool_name)) continue
        found.report(
          'tool-reference-declared',
          pathOf(placed),
          `Tool reference '${shown(part.tool_name)}' not found in available tools`,
        )
      }
    }
  }
}

interface PlacedMark {
  readonly mark: Fields
  readonly holder: Fields
  readonly path: string
}

/** Rules of cache marks over the whole request, in the order the vendor processes it: tools, system, messages. */
function checkCacheMarks({ body, found }: RuleContext): void {
  const marks = marksOf(body)
  if (marks.length > MAX_CACHE_MARKS) {
    found.report(
      'cache-marks-max',
      marks[MAX_CACHE_MARKS]?.path ?? '',
      `A maximum of ${MAX_CACHE_MARKS} blocks with cache_control may be provided. Found ${marks.length}.`,
    )
  }
  let short = false
  for (const { mark, holder, path } of marks) {
    const ttl = mark.ttl ?? '5m'
    if (mark.type !== 'ephemeral' || (ttl !== '5m' && ttl !== '1h')) {
      found.report('cache-mark-shape', path, "Input tag should be 'ephemeral', with ttl '5m' or '1h'")
    }
    if (ttl === '1h' && short) {
      found.report(
        'cache-ttl-order',
        path,
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. " +
          'Note that blocks are processed in the following order: `tools`, `system`, `messages`.',
      )
    }
    short ||= ttl !== '1h'
    if (holder.type === 'thinking' || holder.type === 'redacted_thinking') {
      found.report('cache-mark-place', path, `cache_control cannot be set for ${holder.type} blocks`)
    } else if (holder.type === 'text' && holder.text === '') {
      found.report('cache-mark-place', path, 'cache_control cannot be set for empty text blocks')
    }
  }
}

function marksOf(body: Fields): PlacedMark[] {
  const marks: PlacedMark[] = []
  addMarks(marks, body.tools, 'tools')
  addMarks(marks, body.system, 'system')
  listOf(body.messages).forEach((message, index) => {
    if (!isRecord(message)) return
    listOf(message.content).forEach((block, at) => {
      if (!isRecord(block)) return
      const isInside = block.type === 'tool_result' && listOf(block.content).some(isMarked)
      if (!isInside && !isMarked(block)) return
      const path = `messages.${index}.content.${at}`
      if (isInside) addMarks(marks, block.content, `${path}.content`)
      addMark(marks, block, path)
    })
  })
  // At the top level it stands for a mark on the last block that can carry one.
  addMark(marks, body, '')
  return marks
}

const isMarked = (holder: unknown): boolean => isRecord(holder) && isRecord(holder.cache_control)

function addMarks(marks: PlacedMark[], list: unknown, path: string): void {
  listOf(list).forEach((holder, index) => {
    if (isRecord(holder)) addMark(marks, holder, `${path}.${index}`)
  })
}

function addMark(marks: PlacedMark[], holder: Fields, path: string): void {
  const mark = holder.cache_control
  if (isRecord(mark)) marks.push({ mark, holder, path: path === '' ? 'cache_control' : `${path}.cache_control` })
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/

/** Rules of everything around the messages: model, limits, system, tools. */
function checkEnvelope(context: RuleContext): void {
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

/** The rules of the Messages API. */
export const checkAnthropicMessages = (body: unknown, options: RuleOptions = {}): readonly Violation[] =>
  checkBody(ANTHROPIC_RULES, WORDS, body, options, (fields, found) => {
    const model = options.model ?? textOf(fields.model)
    const context = { body: fields, found, traits: traitsOf(model), profiles: profilesOf(options.profile) }
    checkEnvelope(context)
    if (listOf(fields.messages).length > 0) {
      const turns = turnsOf(context)
      checkBlocks(context, turns)
      checkPairs(context, turns)
      checkThinking(context, turns)
    }
    checkCacheMarks(context)
  })

const WORDS = {
  size: { most: MAX_BODY_BYTES, message: 'Request exceeds the maximum size' },
  shape: 'Input should be a valid dictionary',
  surrogate: 'The request body is not valid JSON: no low surrogate in string',
}
