import { readImageHeader } from '../../../formats/kit/image-header.ts'
import { type Fields, isRecord, recordsIn, textOf } from '../../../core/values.ts'
import type { RequestFacts, Route, Segment } from '../types.ts'

// Exact for text on this wire: 3 tokens for the answer's frame, 4 for each message; about 10 for a call.
const BASE = 3
const FRAME = 4
const CALL_FRAME = 10

export function readChat(body: Fields, route: Route): RequestFacts {
  const tools = recordsIn(body.tools)
  const options = isRecord(body.stream_options) ? body.stream_options : {}
  const cap = body.max_completion_tokens ?? body.max_tokens
  return {
    model: route.model ?? textOf(body.model),
    stream: body.stream === true,
    maxOutput: typeof cap === 'number' ? cap : undefined,
    segments: segmentsOf(body),
    tools: tools
      .map((tool) => (isRecord(tool.function) ? textOf(tool.function.name) : ''))
      .filter((name) => name !== ''),
    asksUsage: body.stream !== true || options.include_usage === true,
    cacheSalt: '',
  }
}

function segmentsOf(body: Fields): Segment[] {
  const tools = recordsIn(body.tools).map((tool, index): Segment => {
    const text = JSON.stringify(tool)
    return { path: `tools[${index}]`, section: 'tools', key: text, text, extraTokens: 0 }
  })
  const messages = recordsIn(body.messages).map((message, index): Segment => {
    const path = `messages[${index}]`
    const section = message.role === 'system' || message.role === 'developer' ? 'system' : 'messages'
    return { path, section, ...describeMessage(message) }
  })
  return [...tools, ...messages].map((segment, index) =>
    index === 0 ? { ...segment, extraTokens: segment.extraTokens + BASE } : segment,
  )
}

function describeMessage(message: Fields): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
  const content = describeContent(message.content)
  const calls = recordsIn(message.tool_calls).map((call) => {
    const declared = isRecord(call.function) ? call.function : {}
    return `${textOf(call.id)} ${textOf(declared.name)} ${textOf(declared.arguments)}`
  })
  const reasoning = textOf(message.reasoning_content)
  const text = [reasoning, content.text, ...calls].filter((part) => part !== '').join('\n')
  return {
    key: `${textOf(message.role)} ${textOf(message.tool_call_id)} ${content.key} ${calls.join('\u0001')} ${reasoning}`,
    text,
    extraTokens: FRAME + calls.length * CALL_FRAME + content.extraTokens,
  }
}

export function describeContent(content: unknown): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
  if (typeof content === 'string') return { key: content, text: content, extraTokens: 0 }
  const keys: string[] = []
  const texts: string[] = []
  let extraTokens = 0
  for (const part of recordsIn(content)) {
    const text = textOf(part.text)
    const url = imageUrlOf(part)
    if (url === '') {
      keys.push(text === '' ? JSON.stringify(part) : text)
      texts.push(text)
    } else {
      keys.push(url)
      extraTokens += imageTokens(url)
    }
  }
  return { key: keys.join('\u0001'), text: texts.join('\n'), extraTokens }
}

function imageUrlOf(part: Fields): string {
  if (part.type === 'input_image') return textOf(part.image_url)
  return isRecord(part.image_url) ? textOf(part.image_url.url) : ''
}

// The vendor's rule: 85 tokens, and 170 for each tile of 512 pixels after scaling the short side to 768.
const TILE = 512
const SHORT_SIDE = 768
const LONG_SIDE = 2048

function imageTokens(url: string): number {
  const comma = url.indexOf(',')
  const header =
    url.startsWith('data:') && comma !== -1 ? readImageHeader(url.slice(comma + 1, comma + 176_001)) : undefined
  const { width = SHORT_SIDE, height = SHORT_SIDE } = header ?? {}
  const fit = Math.min(1, LONG_SIDE / Math.max(width, height, 1))
  const scale = fit * Math.min(1, SHORT_SIDE / Math.max(1, Math.min(width, height) * fit))
  return 85 + 170 * Math.ceil((width * scale) / TILE) * Math.ceil((height * scale) / TILE)
}
