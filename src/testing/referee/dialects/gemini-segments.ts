import { readImageHeader } from '../../../formats/kit/image-header.ts'
import { callOf, fieldOf, partsOf, responseOf, signatureOf } from '../../../formats/gemini/parts.ts'
import { type Fields, isRecord, recordsIn, textOf } from '../../../core/values.ts'
import type { RequestFacts, Route, Segment } from '../types.ts'

// Measured: about 10 tokens of frame for a function part, next to none for text.
const CALL_FRAME = 10
const TURN_FRAME = 1

export function readGemini(body: Fields, route: Route): RequestFacts {
  const asked = requestOf(body)
  const config = fieldOf(asked, 'generationConfig', 'generation_config')
  const cap = isRecord(config) ? fieldOf(config, 'maxOutputTokens', 'max_output_tokens') : undefined
  return {
    model: route.model ?? '',
    stream: route.stream === true,
    maxOutput: typeof cap === 'number' ? cap : undefined,
    segments: segmentsOf(asked),
    tools: declarationsOf(asked).map((declared) => textOf(declared.name)),
    asksUsage: true,
    cacheSalt: '',
  }
}

/** The count endpoint also takes a whole request inside another object. */
export function requestOf(body: Fields): Fields {
  const inner = fieldOf(body, 'generateContentRequest', 'generate_content_request')
  return isRecord(inner) ? inner : body
}

const declarationsOf = (body: Fields): readonly Fields[] =>
  recordsIn(body.tools).flatMap((tool) => recordsIn(fieldOf(tool, 'functionDeclarations', 'function_declarations')))

function segmentsOf(body: Fields): Segment[] {
  const segments: Segment[] = []
  declarationsOf(body).forEach((declared, index) => {
    const text = JSON.stringify(declared)
    segments.push({ path: `tools[${index}]`, section: 'tools', key: text, text, extraTokens: 0 })
  })
  const system = fieldOf(body, 'systemInstruction', 'system_instruction')
  const systemParts = typeof system === 'string' ? [{ text: system }] : isRecord(system) ? partsOf(system) : []
  systemParts.forEach((part, index) =>
    segments.push({ path: `systemInstruction.parts[${index}]`, section: 'system', ...describePart(part) }),
  )
  recordsIn(body.contents).forEach((content, at) => {
    partsOf(content).forEach((part, index) => {
      const described = describePart(part)
      segments.push({
        path: `contents[${at}].parts[${index}]`,
        section: 'messages',
        key: `${textOf(content.role)} ${described.key}`,
        text: described.text,
        extraTokens: described.extraTokens + (index === 0 ? TURN_FRAME : 0),
      })
    })
  })
  return segments
}

function describePart(part: Fields): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
  const call = callOf(part)
  const response = responseOf(part)
  const seal = signatureOf(part)
  if (call !== undefined || response !== undefined) {
    const text = JSON.stringify(call ?? response)
    return { key: `${call === undefined ? 'response' : 'call'} ${text} ${seal}`, text, extraTokens: CALL_FRAME }
  }
  const inline = fieldOf(part, 'inlineData', 'inline_data')
  if (isRecord(inline)) {
    const data = textOf(inline.data)
    return { key: `inline ${data}`, text: '', extraTokens: mediaTokens(data) }
  }
  if (typeof part.text === 'string') return { key: `text ${part.text} ${seal}`, text: part.text, extraTokens: 0 }
  const text = JSON.stringify(part)
  return { key: text, text, extraTokens: 0 }
}

// The vendor's rule: 258 tokens for a small picture, and for each tile of 768 pixels of a larger one.
const TILE = 768
const TILE_TOKENS = 258
const SMALL = 384

function mediaTokens(data: string): number {
  const header = readImageHeader(data)
  if (header === undefined) return Math.max(TILE_TOKENS, Math.ceil(data.length / 40))
  const { width = TILE, height = TILE } = header
  if (width <= SMALL && height <= SMALL) return TILE_TOKENS
  return TILE_TOKENS * Math.ceil(width / TILE) * Math.ceil(height / TILE)
}
