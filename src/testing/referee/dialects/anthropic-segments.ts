import { readImageHeader } from '../../../formats/kit/image-header.ts'
import { type Fields, isRecord, listOf, recordsIn, textOf } from '../../../core/values.ts'
import { peekSeal } from '../issuer.ts'
import type { RequestFacts, Route, Segment } from '../types.ts'

// Measured on exact recordings: a message costs about 4 tokens of frame, a call or result about 12, the first tool a
// hidden system prompt of about 500.
const FRAME = 4
const TOOL_BLOCK_FRAME = 12
const TOOLS_PROMPT = 500
const BASE = 3

export function readAnthropic(body: Fields, route: Route): RequestFacts {
  const tools = recordsIn(body.tools)
  return {
    model: route.model ?? textOf(body.model),
    stream: body.stream === true,
    maxOutput: typeof body.max_tokens === 'number' ? body.max_tokens : undefined,
    segments: segmentsOf(body),
    tools: tools.map((tool) => textOf(tool.name)).filter((name) => name !== ''),
    asksUsage: true,
    cacheSalt: JSON.stringify([body.tool_choice ?? null, isRecord(body.thinking) ? body.thinking.type : null]),
  }
}

function segmentsOf(body: Fields): Segment[] {
  const segments: Segment[] = []
  recordsIn(body.tools).forEach((tool, index) => {
    const text = JSON.stringify(unmarked(tool))
    const extraTokens = index === 0 ? TOOLS_PROMPT : 0
    segments.push({ path: `tools.${index}`, section: 'tools', key: text, text, extraTokens, ...markOf(tool) })
  })
  for (const { block, path } of blocksIn(body.system, 'system')) {
    segments.push({ ...describeBlock(block), path, section: 'system', ...markOf(block) })
  }
  segments.push(...messageSegments(body.messages))
  return withFrame(segments, isRecord(body.cache_control) ? markOf(body) : {})
}

/** The fixed cost stands at the front; a mark at the top level of the body stands on the last block. */
function withFrame(segments: readonly Segment[], mark: Pick<Segment, 'mark'>): Segment[] {
  return segments.map((segment, index) => ({
    ...segment,
    extraTokens: segment.extraTokens + (index === 0 ? BASE : 0),
    ...(index === segments.length - 1 && mark),
  }))
}

function messageSegments(messages: unknown): Segment[] {
  const segments: Segment[] = []
  let start = 0
  listOf(messages).forEach((message, index) => {
    if (!isRecord(message)) return
    let frame = FRAME
    for (const { block, path } of blocksIn(message.content, `messages.${index}.content`)) {
      // The provider forgets everything that its own compaction stands for.
      if (block.type === 'compaction') start = segments.length
      const described = describeBlock(block)
      segments.push({
        path,
        section: 'messages',
        key: `${textOf(message.role)} ${described.key}`,
        text: described.text,
        extraTokens: described.extraTokens + frame,
        ...markOf(block),
      })
      frame = 0
    }
  })
  return segments.slice(start)
}

function blocksIn(content: unknown, path: string): { readonly block: Fields; readonly path: string }[] {
  if (typeof content === 'string') {
    return content === '' ? [] : [{ block: { type: 'text', text: content }, path: `${path}.0` }]
  }
  return listOf(content).flatMap((block, index) => (isRecord(block) ? [{ block, path: `${path}.${index}` }] : []))
}

function markOf(holder: Fields): Pick<Segment, 'mark'> {
  if (!isRecord(holder.cache_control)) return {}
  return { mark: holder.cache_control.ttl === '1h' ? 'long' : 'short' }
}

function unmarked(value: Fields): Fields {
  const { cache_control: _mark, ...rest } = value
  return rest
}

/** What a block means, without fields that clients rename or leave out when they send a response back. */
export function describeBlock(block: Fields): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
  switch (block.type) {
    case 'text':
      return { key: `text ${textOf(block.text)}`, text: textOf(block.text), extraTokens: 0 }
    case 'thinking':
      return {
        key: `thinking ${textOf(block.signature)} ${textOf(block.thinking)}`,
        text: textOf(block.thinking),
        extraTokens: 0,
      }
    case 'redacted_thinking': {
      const data = textOf(block.data)
      const extraTokens = peekSeal(data)?.tokens ?? Math.ceil(data.length / 4)
      return { key: `redacted ${data}`, text: '', extraTokens }
    }
    case 'compaction': {
      const text = textOf(block.content)
      return { key: `compaction ${textOf(block.encrypted_content)} ${text}`, text, extraTokens: 0 }
    }
    case 'tool_use': {
      const input = JSON.stringify(block.input ?? {})
      const text = `${textOf(block.name)} ${input}`
      return { key: `call ${textOf(block.id)} ${text}`, text, extraTokens: TOOL_BLOCK_FRAME }
    }
    case 'tool_result':
      return describeResult(block)
    case 'image':
    case 'document':
      return { key: JSON.stringify(unmarked(block)), ...describeMedia(block) }
    default: {
      const text = JSON.stringify(unmarked(block))
      return { key: text, text, extraTokens: 0 }
    }
  }
}

function describeResult(block: Fields): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
  const parts = typeof block.content === 'string' ? [{ type: 'text', text: block.content }] : recordsIn(block.content)
  const described = parts.map((part) => describeBlock(part))
  const flag = block.is_error === true ? 'error' : 'ok'
  return {
    key: `result ${textOf(block.tool_use_id)} ${flag} ${described.map(({ key }) => key).join('\u0001')}`,
    text: described.map(({ text }) => text).join('\n'),
    extraTokens: described.reduce((sum, part) => sum + part.extraTokens, TOOL_BLOCK_FRAME),
  }
}

// The vendor's rule for pictures: one token per 750 pixels, after scaling to about 1.15 megapixels.
const PIXELS_PER_TOKEN = 750
const MAX_PICTURE_TOKENS = 1600
// Text and rendering of one page together.
const BASE64_CHARS_PER_PDF_TOKEN = 40

function describeMedia(block: Fields): Pick<Segment, 'text' | 'extraTokens'> {
  const source = isRecord(block.source) ? block.source : {}
  const data = textOf(source.data)
  if (block.type === 'document') {
    if (source.type === 'text') return { text: data, extraTokens: 0 }
    return { text: '', extraTokens: Math.max(1500, Math.ceil(data.length / BASE64_CHARS_PER_PDF_TOKEN)) }
  }
  const header = readImageHeader(data)
  if (header?.width === undefined || header.height === undefined) return { text: '', extraTokens: MAX_PICTURE_TOKENS }
  const tokens = Math.ceil((header.width * header.height) / PIXELS_PER_TOKEN)
  return { text: '', extraTokens: Math.min(MAX_PICTURE_TOKENS, tokens) }
}
