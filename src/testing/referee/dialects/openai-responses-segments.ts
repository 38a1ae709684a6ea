import { type Fields, isRecord, listOf, recordsIn, textOf } from '../../../core/values.ts'
import { peekSeal } from '../issuer.ts'
import type { RequestFacts, Route, Segment } from '../types.ts'
import { describeContent } from './openai-chat-segments.ts'

const BASE = 3
const FRAME = 4
const OUTPUT_FRAME = 9

/** What the provider keeps of a response: everything a chained request continues. */
export interface StoredResponse {
  readonly items: readonly Fields[]
}

export const storedKey = (id: string): string => `response:${id}`

export function readResponses(body: Fields, route: Route, memory: ReadonlyMap<string, unknown>): RequestFacts {
  const tools = recordsIn(body.tools)
  return {
    model: route.model ?? textOf(body.model),
    stream: body.stream === true,
    maxOutput: typeof body.max_output_tokens === 'number' ? body.max_output_tokens : undefined,
    segments: segmentsOf(body, memory),
    tools: tools.map((tool) => textOf(tool.name)).filter((name) => name !== ''),
    asksUsage: true,
    cacheSalt: '',
  }
}

/** Items of the request: those the provider holds, then those that were sent. */
export function itemsOf(body: Fields, memory: ReadonlyMap<string, unknown>): readonly Fields[] {
  return [...ancestorsOf(body, memory), ...inputItems(body)]
}

export function ancestorsOf(body: Fields, memory: ReadonlyMap<string, unknown>): readonly Fields[] {
  const stored = memory.get(storedKey(textOf(body.previous_response_id))) as StoredResponse | undefined
  return stored?.items ?? []
}

export function inputItems(body: Fields): readonly Fields[] {
  if (typeof body.input === 'string') return [{ type: 'message', role: 'user', content: body.input }]
  return recordsIn(body.input)
}

function segmentsOf(body: Fields, memory: ReadonlyMap<string, unknown>): Segment[] {
  const segments: Segment[] = recordsIn(body.tools).map((tool, index) => {
    const text = JSON.stringify(tool)
    return { path: `tools[${index}]`, section: 'tools', key: text, text, extraTokens: 0 }
  })
  const instructions = textOf(body.instructions)
  if (instructions !== '') {
    segments.push({
      path: 'instructions',
      section: 'system',
      key: instructions,
      text: instructions,
      extraTokens: FRAME,
    })
  }
  const held = ancestorsOf(body, memory)
  held.forEach((item, index) => segments.push({ path: `held[${index}]`, section: 'messages', ...describeItem(item) }))
  inputItems(body).forEach((item, index) =>
    segments.push({ path: `input[${index}]`, section: 'messages', ...describeItem(item) }),
  )
  return segments.map((segment, index) =>
    index === 0 ? { ...segment, extraTokens: segment.extraTokens + BASE } : segment,
  )
}

function describeItem(item: Fields): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
  const type = textOf(item.type)
  if (type === '' || type === 'message') {
    const content = describeContent(item.content)
    return { ...content, key: `${textOf(item.role)} ${content.key}`, extraTokens: FRAME + content.extraTokens }
  }
  if (type === 'reasoning' || type === 'compaction') return describeSealed(item, type)
  if (type === 'function_call') {
    const text = `${textOf(item.name)} ${textOf(item.arguments)}`
    return { key: `call ${textOf(item.call_id)} ${text}`, text, extraTokens: FRAME }
  }
  if (type === 'function_call_output') {
    const content = describeContent(typeof item.output === 'string' ? item.output : listOf(item.output))
    return {
      ...content,
      key: `output ${textOf(item.call_id)} ${content.key}`,
      extraTokens: OUTPUT_FRAME + content.extraTokens,
    }
  }
  const { id: _id, status: _status, ...rest } = item
  const text = JSON.stringify(rest)
  return { key: text, text, extraTokens: 0 }
}

/** Sealed content counts what it stands for, which only its issuer knows. */
function describeSealed(item: Fields, type: string): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
  const seal = textOf(item.encrypted_content)
  const summary = recordsIn(item.summary)
    .map((part) => textOf(part.text))
    .join('\n')
  // Content of another issuer is not known, and refused before it is counted.
  const hidden = seal === '' ? undefined : (peekSeal(seal)?.tokens ?? Math.ceil(seal.length / 4))
  const key = `${type} ${seal === '' ? textOf(item.id) : seal}`
  return hidden === undefined ? { key, text: summary, extraTokens: 0 } : { key, text: '', extraTokens: hidden }
}

/** Reasoning is on and may be sealed for a client that keeps its own history. */
export const wantsSeal = (body: Fields): boolean =>
  listOf(body.include).includes('reasoning.encrypted_content') || (isRecord(body.reasoning) && body.store === false)
