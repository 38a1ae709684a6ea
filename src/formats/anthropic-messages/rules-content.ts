import { readImageHeader } from '../kit/image-header.ts'
import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import { isBlank, shown } from '../kit/rule-kit.ts'
import { MANY_IMAGES, MAX_IMAGE_BYTES, MAX_IMAGE_SIDE, MAX_IMAGE_SIDE_MANY } from './rule-book.ts'
import { pathOf, type PlacedBlock, type RuleContext, type Turn } from './rule-turns.ts'

const ASSISTANT_ONLY = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use', 'thinking', 'redacted_thinking'])
const USER_ONLY = new Set(['tool_result', 'image', 'document'])
const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** Rules of single blocks: text, place by role, pictures. */
export function checkBlocks(context: RuleContext, turns: readonly Turn[]): void {
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
