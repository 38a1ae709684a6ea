import type { StreamEvent, Violation } from '../../../core/codec.ts'
import { type Fields, isRecord, listOf, recordsIn, textOf } from '../../../core/values.ts'
import { findings } from '../../../formats/kit/rules.ts'
import { usageOf } from '../../../formats/openai-responses/answers.ts'
import {
  checkItemPairs,
  checkOpenAiResponses,
  OPENAI_RESPONSES_RULES,
} from '../../../formats/openai-responses/rules.ts'
import { type AnswerPart, peekSeal, stopOf } from '../brain.ts'
import type {
  Dialect,
  RenderContext,
  Rendered,
  RequestFacts,
  Route,
  Segment,
  Verification,
  VerifyContext,
} from '../types.ts'
import { authoriseBearer, describeContent, openAiError, openAiModels } from './openai-chat.ts'
import { pieces, routeBy, toolSegment, withBase } from './pieces.ts'

type Emit = (type: string, fields: Fields) => void

/** A response as the events of its stream. On this wire, only the last event has usage. */
function responseEvents(response: Fields & { readonly output: readonly Fields[] }): StreamEvent[] {
  const events: StreamEvent[] = []
  const emit: Emit = (type, fields) => {
    events.push({ event: type, data: JSON.stringify({ type, sequence_number: events.length, ...fields }) })
  }
  const started = { ...response, status: 'in_progress', output: [], usage: null, incomplete_details: null }
  emit('response.created', { response: started })
  emit('response.in_progress', { response: started })
  response.output.forEach((item, output_index) => emitItem(emit, item, output_index))
  emit(response.status === 'incomplete' ? 'response.incomplete' : 'response.completed', { response })
  return events
}

function emitItem(emit: Emit, item: Fields, output_index: number): void {
  const place = { item_id: item.id, output_index }
  if (item.type === 'function_call') {
    emit('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', arguments: '' } })
    const text = textOf(item.arguments)
    for (const delta of pieces(text)) emit('response.function_call_arguments.delta', { ...place, delta })
    emit('response.function_call_arguments.done', { ...place, name: item.name, arguments: text })
  } else if (item.type === 'reasoning') {
    emit('response.output_item.added', { output_index, item: { ...item, summary: [] } })
    const [part, text] = ['response.reasoning_summary_part', 'response.reasoning_summary_text']
    for (const [summary_index, each] of recordsIn(item.summary).entries())
      emitPart(emit, { ...place, summary_index }, each, part, text)
  } else {
    emit('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } })
    for (const [content_index, each] of recordsIn(item.content).entries()) {
      const text = each.type === 'refusal' ? 'response.refusal' : 'response.output_text'
      emitPart(emit, { ...place, content_index }, each, 'response.content_part', text)
    }
  }
  emit('response.output_item.done', { output_index, item })
}

/** Emits the events of a part and its text, which have different names. */
function emitPart(emit: Emit, place: Fields, part: Fields, partEvent: string, textEvent: string): void {
  const field = part.type === 'refusal' ? 'refusal' : 'text'
  const text = textOf(part[field])
  const logprobs = part.type === 'output_text' ? { logprobs: [] } : {}
  emit(`${partEvent}.added`, { ...place, part: { ...part, [field]: '' } })
  for (const delta of pieces(text)) emit(`${textEvent}.delta`, { ...place, delta, ...logprobs })
  emit(`${textEvent}.done`, { ...place, [field]: text, ...logprobs })
  emit(`${partEvent}.done`, { ...place, part })
}

const BASE = 3
const FRAME = 4
const OUTPUT_FRAME = 9

/** What the provider stores of a response for requests that continue it. */
export interface StoredResponse {
  readonly items: readonly Fields[]
}

const storedKey = (id: string): string => `response:${id}`

function readResponses(body: Fields, route: Route, memory: ReadonlyMap<string, unknown>): RequestFacts {
  const tools = recordsIn(body.tools)
  return {
    model: route.model ?? textOf(body.model),
    stream: body.stream === true,
    maxOutput: typeof body.max_output_tokens === 'number' ? body.max_output_tokens : undefined,
    segments: segmentsOf(body, memory),
    tools: tools.map((tool) => textOf(tool.name)).filter((name) => name !== ''),
  }
}

/** Items of the request: first those that the provider holds, then those in the body. */
function itemsOf(body: Fields, memory: ReadonlyMap<string, unknown>): readonly Fields[] {
  return [...ancestorsOf(body, memory), ...inputItems(body)]
}

function ancestorsOf(body: Fields, memory: ReadonlyMap<string, unknown>): readonly Fields[] {
  const stored = memory.get(storedKey(textOf(body.previous_response_id))) as StoredResponse | undefined
  return stored?.items ?? []
}

function inputItems(body: Fields): readonly Fields[] {
  if (typeof body.input === 'string') return [{ type: 'message', role: 'user', content: body.input }]
  return recordsIn(body.input)
}

function segmentsOf(body: Fields, memory: ReadonlyMap<string, unknown>): Segment[] {
  const segments: Segment[] = recordsIn(body.tools).map(toolSegment)
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
  return withBase(segments, BASE)
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

/** Sealed content counts with its hidden size, which only its issuer knows. */
function describeSealed(item: Fields, type: string): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
  const seal = textOf(item.encrypted_content)
  const summary = recordsIn(item.summary)
    .map((part) => textOf(part.text))
    .join('\n')
  // Another issuer's content has an unknown size; the request is refused before it is counted.
  const hidden = seal === '' ? undefined : (peekSeal(seal)?.tokens ?? Math.ceil(seal.length / 4))
  const key = `${type} ${seal === '' ? textOf(item.id) : seal}`
  return hidden === undefined ? { key, text: summary, extraTokens: 0 } : { key, text: '', extraTokens: hidden }
}

/** Reasoning is on and may be sealed for a client that keeps its own history. */
const wantsSeal = (body: Fields): boolean =>
  listOf(body.include).includes('reasoning.encrypted_content') || (isRecord(body.reasoning) && body.store === false)

const reasoningKey = (itemId: string): string => `reasoning-of:${itemId}`

/** Rules about issued content: seals, the reasoning of a call, and responses that the provider holds. */
function verifyResponses(context: VerifyContext): Verification {
  const { body, memory } = context
  const previous = textOf(body.previous_response_id)
  if (previous !== '' && !memory.has(storedKey(previous))) return { violations: [unknownResponse(previous)] }
  const chain = previous === '' ? [] : [...checkRepeats(context), ...checkWhole(context)]
  return { violations: [...chain, ...checkSeals(context), ...checkReasoning(context)] }
}

const unknownResponse = (id: string): Violation => ({
  rule: 'previous-response-known',
  path: 'previous_response_id',
  message: `Previous response with id '${id}' not found.`,
})

function checkSeals({ body, issuer }: VerifyContext): Violation[] {
  return inputItems(body).flatMap((item, index) => {
    const seal = textOf(item.encrypted_content)
    if (seal === '') return []
    const opened = issuer.open(seal)
    // A client may omit the id; if it sends one, the seal must belong to that item.
    if (opened !== undefined && (typeof item.id !== 'string' || opened.matches(item.id))) return []
    return [
      {
        rule: item.type === 'compaction' ? 'compaction-unsealed' : 'reasoning-unsealed',
        path: `input[${index}]`,
        message: `The encrypted content for item ${textOf(item.id)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      },
    ]
  })
}

/** A call that was issued after reasoning must not be sent without it. */
function checkReasoning({ body, memory }: VerifyContext): Violation[] {
  const seen = new Set(ancestorsOf(body, memory).map((item) => textOf(item.id)))
  return inputItems(body).flatMap((item, index) => {
    const id = textOf(item.id)
    seen.add(id)
    const needed = memory.get(reasoningKey(id)) as string | undefined
    if (needed === undefined || seen.has(needed)) return []
    return [
      {
        rule: 'call-has-reasoning',
        path: `input[${index}]`,
        message: `Item '${id}' of type '${textOf(item.type)}' was provided without its required 'reasoning' item: '${needed}'.`,
      },
    ]
  })
}

/** Items that the provider holds must not be sent again. */
function checkRepeats({ body, memory }: VerifyContext): Violation[] {
  const held = new Set(ancestorsOf(body, memory).map((item) => textOf(item.id)))
  return inputItems(body).flatMap((item, index) => {
    const id = textOf(item.id)
    if (id === '' || !held.has(id)) return []
    const message = `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`
    return [
      {
        rule: 'unique-item-ids',
        path: `input[${index}].id`,
        message,
      },
    ]
  })
}

/** Checks pairs over held and sent items, because the provider sees both. */
function checkWhole({ body, memory }: VerifyContext): readonly Violation[] {
  const found = findings(OPENAI_RESPONSES_RULES)
  const items: readonly Fields[] = itemsOf(body, memory)
  checkItemPairs(items, false, found)
  return found.list
}

function renderResponses(context: RenderContext): Rendered {
  if (context.route.kind === 'compact') return { body: compacted(context), events: [] }
  const { body, facts, usage } = context
  const output = outputOf(context)
  const length = stopOf(context.answer) === 'length'
  const response = {
    id: context.id('resp'),
    object: 'response',
    created_at: context.nowSeconds,
    status: length ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: length ? { reason: 'max_output_tokens' } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: facts.maxOutput ?? null,
    model: facts.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    store: body.store !== false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: listOf(body.tools),
    top_p: 1,
    truncation: 'disabled',
    usage: usage === undefined ? null : usageOf(usage),
    metadata: {},
  }
  remember(context, response.id, output)
  return { body: response, events: responseEvents(response) }
}

function outputOf(context: RenderContext): Fields[] {
  const items = context.answer.parts.map((part, index) => itemOf(context, part, index))
  const threshold = recordsIn(context.body.context_management).find(({ type }) => type === 'compaction')
  const limit = threshold?.compact_threshold
  return typeof limit === 'number' && context.inputTokens > limit ? [compactionItem(context), ...items] : items
}

/** One sealed item that replaces a history. */
function compactionItem({ id, issuer, inputTokens }: RenderContext): Fields {
  const itemId = id('cmp')
  const tokens = Math.ceil(inputTokens * COMPACTED_SHARE)
  return { id: itemId, type: 'compaction', encrypted_content: issuer.seal(itemId, { tokens }) }
}

function itemOf({ id, issuer, body, countTokens }: RenderContext, part: AnswerPart, index: number): Fields {
  if (part.type === 'call') {
    const callId = part.id ?? id('call', index)
    const text = JSON.stringify(part.input)
    return {
      id: id('fc', index),
      type: 'function_call',
      status: 'completed',
      call_id: callId,
      name: part.name,
      arguments: text,
    }
  }
  if (part.type === 'reasoning') {
    const itemId = id('rs', index)
    const sealed = wantsSeal(body) ? { encrypted_content: issuer.seal(itemId, { tokens: countTokens(part.text) }) } : {}
    const summary = part.redacted === true ? [] : [{ type: 'summary_text', text: part.text }]
    return { id: itemId, type: 'reasoning', summary, ...sealed }
  }
  const content =
    part.type === 'refusal'
      ? { type: 'refusal', refusal: part.text }
      : { type: 'output_text', annotations: [], logprobs: [], text: part.text }
  return { id: id('msg', index), type: 'message', status: 'completed', role: 'assistant', content: [content] }
}

function remember({ body, memory }: RenderContext, id: string, output: readonly Fields[]): void {
  output.forEach((item, index) => {
    const before = output[index - 1]
    if (before?.type === 'reasoning') memory.set(reasoningKey(textOf(item.id)), textOf(before.id))
  })
  if (body.store === false) return
  memory.set(storedKey(id), { items: [...itemsOf(body, memory), ...output] })
}

// A compacted history counts about this share of what it replaced.
const COMPACTED_SHARE = 0.1

/** All user messages, and one sealed item for everything else. */
function compacted(context: RenderContext): Fields {
  const { body, memory, id, usage, nowSeconds } = context
  const items = itemsOf(body, memory)
  const users = items.filter((item) => (item.type === undefined || item.type === 'message') && item.role === 'user')
  return {
    id: id('resp'),
    object: 'response.compaction',
    created_at: nowSeconds,
    output: [...users, compactionItem(context)],
    usage: usage === undefined ? null : usageOf(usage),
  }
}

/** The Responses API, stateless or chained by `previous_response_id`. */
export const openAiResponses: Dialect = {
  wire: 'openai-responses',
  route: routeBy({
    'POST /responses': 'generate',
    'POST /responses/compact': 'compact',
    'POST /responses/input_tokens': 'count',
    'GET /models': 'models',
  }),
  check: checkOpenAiResponses,
  read: readResponses,
  authorise: authoriseBearer,
  verify: verifyResponses,
  overflow: () => ({
    kind: 'overflow',
    status: 400,
    message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    param: 'input',
  }),
  error: openAiError,
  errorEvent: (failure) => ({
    event: 'error',
    data: JSON.stringify({ type: 'error', sequence_number: 1, ...openAiError(failure) }),
  }),
  refuseInside(failure, id, created_at) {
    const { code, message } = openAiError(failure).error
    const begun = { id: `resp_${id}`, object: 'response', created_at, status: 'in_progress', error: null, output: [] }
    const body = { ...begun, status: 'failed', error: { code, message }, usage: null }
    const event = (type: string, sequence_number: number, response: object): StreamEvent => ({
      event: type,
      data: JSON.stringify({ type, sequence_number, response }),
    })
    return {
      body,
      events: [
        event('response.created', 0, begun),
        event('response.in_progress', 1, begun),
        event('response.failed', 2, body),
      ],
    }
  },
  render: renderResponses,
  count: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  models: openAiModels,
  keepAlive: 'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n',
  cache: { mode: 'automatic', minimumTokens: 1024, blockTokens: 128, shortTtlSeconds: 600, longTtlSeconds: 86_400 },
  // Only the input is refused; the answer is cut at the end of the window.
  fits: 'input',
}
