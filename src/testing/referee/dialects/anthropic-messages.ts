import type { StreamEvent, Violation } from '../../../core/codec.ts'
import type { Usage } from '../../../core/usage.ts'
import { type Fields, isRecord, listOf, recordsIn, textOf } from '../../../core/values.ts'
import { event, stopOf as wireStopOf, usageOf as wireUsageOf } from '../../../formats/anthropic-messages/answers.ts'
import { nativeBetas } from '../../../formats/anthropic-messages/encode.ts'
import { traitsOf } from '../../../formats/anthropic-messages/rules.ts'
import { checkAnthropicMessages } from '../../../formats/anthropic-messages/rules.ts'
import { readImageHeader } from '../../../formats/kit/rules.ts'
import { type AnswerPart, type Issuer, peekSeal, stopOf } from '../brain.ts'
import { chainOf } from '../prompt-cache.ts'
import type {
  Dialect,
  Failure,
  FailureKind,
  RenderContext,
  Rendered,
  RequestFacts,
  Route,
  Segment,
  Verification,
  VerifyContext,
} from '../types.ts'
import { pieces, routeBy, withBase } from './pieces.ts'

// Measured on exact recordings: a message adds about 4 tokens, a call or result about 12, the first tool about 500 for a hidden system prompt.
const FRAME = 4
const TOOL_BLOCK_FRAME = 12
const TOOLS_PROMPT = 500
const BASE = 3

function readAnthropic(body: Fields, route: Route): RequestFacts {
  const tools = recordsIn(body.tools)
  return {
    model: route.model ?? textOf(body.model),
    stream: body.stream === true,
    maxOutput: typeof body.max_tokens === 'number' ? body.max_tokens : undefined,
    segments: segmentsOf(body),
    tools: tools.map((tool) => textOf(tool.name)).filter((name) => name !== ''),
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
  const last = segments.at(-1)
  // A mark at the top level of the body applies to the last block.
  if (last !== undefined) segments[segments.length - 1] = { ...last, ...markOf(body) }
  return withBase(segments, BASE)
}

function messageSegments(messages: unknown): Segment[] {
  const segments: Segment[] = []
  let start = 0
  listOf(messages).forEach((message, index) => {
    if (!isRecord(message)) return
    let frame = FRAME
    for (const { block, path } of blocksIn(message.content, `messages.${index}.content`)) {
      // The provider no longer reads what its own compaction replaces.
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

/** The content of a block without the fields that clients rename or omit when they send it back. */
function describeBlock(block: Fields): Pick<Segment, 'key' | 'text' | 'extraTokens'> {
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
// Text and picture of a page together.
const BASE64_CHARS_PER_PDF_TOKEN = 40

function describeMedia(block: Fields): Pick<Segment, 'text' | 'extraTokens'> {
  const source = isRecord(block.source) ? block.source : {}
  const data = textOf(source.data)
  if (block.type === 'document') {
    if (source.type === 'text') return { text: data, extraTokens: 0 }
    return { text: '', extraTokens: Math.max(1500, Math.ceil(data.length / BASE64_CHARS_PER_PDF_TOKEN)) }
  }
  return { text: '', extraTokens: pictureTokens(data) }
}

export function pictureTokens(data: string): number {
  const { width = Infinity, height = Infinity } = readImageHeader(data) ?? {}
  return Math.min(MAX_PICTURE_TOKENS, Math.ceil((width * height) / PIXELS_PER_TOKEN))
}

/** The thinking blocks of a response, found by the ids of its calls. */
export interface IssuedThinking {
  readonly blocks: readonly string[]
}

const issuedKey = (callId: string): string => `thinking:${callId}`

/** Checks thinking blocks as the issuer does: sealed by it, unchanged, in place, and after the prefix that they are bound to. */
function verifyAnthropic(context: VerifyContext): Verification {
  const violations: Violation[] = []
  const unbound: string[] = []
  const { body, facts, issuer } = context
  const binds = traitsOf(facts.model).bindsThinking === true
  const chain = binds ? chainOf(facts.segments) : []
  const index = new Map(facts.segments.map((segment, at) => [segment.path, at]))
  listOf(body.messages).forEach((message, at) => {
    listOf(isRecord(message) ? message.content : []).forEach((block, position) => {
      if (!isRecord(block)) return
      const path = `messages.${at}.content.${position}`
      if (block.type === 'compaction' && !isOwnCompaction(block, issuer)) violations.push(invalidCompaction(path))
      const seal = block.type === 'thinking' ? textOf(block.signature) : textOf(block.data)
      if (block.type !== 'thinking' && block.type !== 'redacted_thinking') return
      const opened = issuer.open(seal)
      if (opened === undefined || !opened.matches(textOf(block.thinking))) {
        violations.push(invalidSignature(path, block.type))
        return
      }
      const place = index.get(path)
      // Content that the provider's own compaction replaces is no longer read.
      if (place === undefined) return
      const before = chain[place - 1] ?? ''
      if (binds && opened.prefix !== undefined && opened.prefix !== before) unbound.push(path)
    })
  })
  violations.push(...modified(context), ...withoutBeta(context))
  if (unbound.length > 0 && !dropsUnbound(body, context.headers)) violations.push(boundElsewhere(unbound[0] ?? ''))
  return { violations, dropped: unbound }
}

/** The vendor only knows this option with its beta header. */
function withoutBeta({ body, headers }: VerifyContext): Violation[] {
  const sent = headers['anthropic-beta'] ?? ''
  return nativeBetas(body)
    .filter((beta) => !sent.includes(beta))
    .map(() => ({
      rule: 'context-management-beta',
      path: 'context_management',
      message: 'context_management: Extra inputs are not permitted',
    }))
}

/** A compaction block must come back unchanged; one without a seal is treated as plain text. */
function isOwnCompaction(block: Fields, issuer: Issuer): boolean {
  const seal = textOf(block.encrypted_content)
  return seal === '' || issuer.open(seal)?.matches(textOf(block.content)) === true
}

const invalidCompaction = (path: string): Violation => ({
  rule: 'compaction-unsealed',
  path,
  message: "The `compaction` block's `content` differs from the text its `encrypted_content` recorded.",
})

const invalidSignature = (path: string, type: string): Violation => ({
  rule: 'thinking-signature',
  path,
  message: `Invalid \`${type === 'thinking' ? 'signature' : 'data'}\` in \`${type}\` block`,
})

/** From the vendor's documentation; not verified against the vendor. */
const boundElsewhere = (path: string): Violation => ({
  rule: 'thinking-bound',
  path,
  message:
    'Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block or set ' +
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the value ' +
    '`thinking-binding-controls-2026-08-01` in the `anthropic-beta` header.',
})

/** While thinking is on, the newest assistant message must contain exactly the thinking that was issued with it. */
function modified({ body, memory }: VerifyContext): Violation[] {
  const thinking = isRecord(body.thinking) ? body.thinking.type : undefined
  if (thinking === undefined || thinking === 'disabled') return []
  const messages = recordsIn(body.messages)
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const blocks = recordsIn(messages[at]?.content)
  const callId = blocks.find((block) => block.type === 'tool_use')?.id
  const issued = memory.get(issuedKey(textOf(callId))) as IssuedThinking | undefined
  if (issued === undefined) return []
  const sent = blocks.filter(isThinkingBlock).map((block) => describeBlock(block).key)
  if (sent.length === issued.blocks.length && sent.every((key, place) => key === issued.blocks[place])) return []
  const rule = 'thinking-unmodified'
  return [
    {
      rule,
      path: `messages.${at}`,
      message:
        '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. ' +
        'These blocks must remain as they were in the original response.',
    },
  ]
}

const isThinkingBlock = (block: Fields): boolean => block.type === 'thinking' || block.type === 'redacted_thinking'

/** Whether the request asks the provider to drop unbound thinking instead of refusing it, and has the required header. */
function dropsUnbound(body: Fields, headers: Readonly<Record<string, string>>): boolean {
  const thinking = isRecord(body.thinking) ? body.thinking : {}
  const binding = isRecord(thinking.block_binding) ? thinking.block_binding : {}
  const beta = headers['anthropic-beta'] ?? ''
  return binding.prefix_mismatch_behavior === 'drop_block' && beta.includes('thinking-binding-controls-2026-08-01')
}

function renderAnthropic(context: RenderContext): Rendered {
  const content = contentOf(context)
  remember(context, content)
  const message = {
    id: context.id('msg'),
    type: 'message',
    role: 'assistant',
    model: context.facts.model,
    content,
    stop_reason: wireStopOf(stopOf(context.answer)),
    stop_sequence: null,
    input_transformations: context.dropped.length > 0 ? context.dropped.map(droppedEntry) : undefined,
  }
  const usage = context.usage === undefined ? {} : { usage: usageOf(context.usage) }
  return { body: { ...message, ...usage }, events: eventsOf(context, message) }
}

const droppedEntry = (path: string): Fields => ({
  type: 'thinking_dropped',
  reason: 'prefix_binding_mismatch',
  path,
})

function contentOf(context: RenderContext): Fields[] {
  const { facts, body, answer } = context
  const blocks: Fields[] = []
  const keys = facts.segments.map(({ key, section }) => ({ key, section: section as string }))
  const summary = compactionOf(context)
  if (summary !== undefined) {
    // From here on the provider knows tools, system and the summary, and later thinking is bound to these.
    keys.splice(0, keys.length, ...keys.filter(({ section }) => section !== 'messages'))
    keys.push({ key: `assistant ${describeBlock(summary).key}`, section: 'messages' })
    blocks.push(summary)
  }
  const manual = isRecord(body.thinking) && body.thinking.type === 'enabled'
  const thinks = answer.parts[0]?.type === 'reasoning'
  // With manual thinking every answer begins with thinking; otherwise a script's answer would make its next request invalid.
  const parts: AnswerPart[] = manual && !thinks ? [{ type: 'reasoning', text: 'Let me think.' }] : []
  for (const [index, part] of [...parts, ...answer.parts].entries()) {
    const block = blockOf(context, part, index, () => chainOf(keys).at(-1) ?? '')
    if (block === undefined) continue
    keys.push({ key: `assistant ${describeBlock(block).key}`, section: 'messages' })
    blocks.push(block)
  }
  return blocks
}

const DEFAULT_TRIGGER = 150_000

/** The provider's own compaction, if the request asks for it and the prompt is larger than its trigger. */
function compactionOf({ body, issuer, inputTokens }: RenderContext): Fields | undefined {
  const management = isRecord(body.context_management) ? body.context_management : {}
  const edit = recordsIn(management.edits).find(({ type }) => typeof type === 'string' && type.startsWith('compact_'))
  if (edit === undefined) return undefined
  const trigger =
    isRecord(edit.trigger) && typeof edit.trigger.value === 'number' ? edit.trigger.value : DEFAULT_TRIGGER
  if (inputTokens <= trigger) return undefined
  const content = `Summary of ${inputTokens} tokens of conversation.`
  return { type: 'compaction', content, encrypted_content: issuer.seal(content) }
}

function blockOf(
  { id, issuer, facts, countTokens }: RenderContext,
  part: AnswerPart,
  index: number,
  prefix: () => string,
): Fields | undefined {
  if (part.type === 'text' || part.type === 'refusal') {
    return part.text === '' ? undefined : { type: 'text', text: part.text }
  }
  if (part.type === 'call') {
    return { type: 'tool_use', id: part.id ?? id('toolu', index), name: part.name, input: part.input }
  }
  const binding = {
    model: facts.model,
    tokens: countTokens(part.text),
    prefix: traitsOf(facts.model).bindsThinking === true ? prefix() : undefined,
  }
  if (part.redacted === true) return { type: 'redacted_thinking', data: issuer.seal('', binding) }
  return { type: 'thinking', thinking: part.text, signature: issuer.seal(part.text, binding) }
}

/** Stores the thinking, to verify the next request. */
function remember({ memory }: RenderContext, content: readonly Fields[]): void {
  const blocks = content.filter(isThinkingBlock).map((block) => describeBlock(block).key)
  for (const block of content) if (block.type === 'tool_use') memory.set(issuedKey(String(block.id)), { blocks })
}

/** Adds the fields about cache and thinking that only this vendor reports. */
function usageOf(usage: Usage): Fields {
  const long = usage.cacheWriteLong ?? 0
  return {
    ...wireUsageOf(usage),
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite - long, ephemeral_1h_input_tokens: long },
    output_tokens_details: { thinking_tokens: usage.reasoning },
    service_tier: 'standard',
  }
}

function eventsOf({ usage, usageAtEnd }: RenderContext, message: Fields & { content: Fields[] }): StreamEvent[] {
  const { content, stop_reason, stop_sequence, ...head } = message
  const full = usage === undefined ? {} : usageOf(usage)
  const early =
    usage === undefined ? {} : { usage: usageAtEnd ? wireUsageOf(undefined) : { ...full, output_tokens: 1 } }
  const started = { ...head, content: [], stop_reason: null, stop_sequence: null, ...early }
  const ended = usageAtEnd ? full : { output_tokens: usage?.output ?? 0 }
  return [
    event('message_start', { message: started }),
    ...content.flatMap((block, index) => [
      event('content_block_start', { index, content_block: emptied(block) }),
      ...deltasOf(block).map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', { delta: { stop_reason, stop_sequence }, usage: usage !== undefined ? ended : undefined }),
    event('message_stop'),
  ]
}

function emptied(block: Fields): Fields {
  if (block.type === 'text') return { ...block, text: '' }
  if (block.type === 'thinking') return { ...block, thinking: '', signature: '' }
  if (block.type === 'compaction') return { ...block, content: '' }
  return block.type === 'tool_use' ? { ...block, input: {} } : block
}

function deltasOf(block: Fields): Fields[] {
  if (block.type === 'text') return pieces(String(block.text)).map((text) => ({ type: 'text_delta', text }))
  if (block.type === 'tool_use') {
    return pieces(JSON.stringify(block.input)).map((partial_json) => ({ type: 'input_json_delta', partial_json }))
  }
  if (block.type === 'compaction') return [{ type: 'compaction_delta', content: block.content }]
  if (block.type !== 'thinking') return []
  return [
    ...pieces(String(block.thinking)).map((thinking) => ({ type: 'thinking_delta', thinking })),
    { type: 'signature_delta', signature: block.signature },
  ]
}

const ERROR_TYPES: Record<FailureKind, string> = {
  invalid: 'invalid_request_error',
  overflow: 'invalid_request_error',
  'too-large': 'request_too_large',
  throttle: 'rate_limit_error',
  server: 'api_error',
  overloaded: 'overloaded_error',
  auth: 'authentication_error',
  'not-found': 'not_found_error',
}

/** The Messages API: routes, errors, cache rule, segments, answers and seals. */
export const anthropicMessages: Dialect = {
  wire: 'anthropic-messages',
  route: routeBy({
    'POST /v1/messages': 'generate',
    'POST /v1/messages/count_tokens': 'count',
    'GET /v1/models': 'models',
  }),
  check: checkAnthropicMessages,
  read: readAnthropic,
  authorise({ headers }, apiKey) {
    const given = headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /i, '')
    if (given === undefined) return unauthorised('x-api-key header is required')
    if (apiKey !== undefined && given !== apiKey) return unauthorised('invalid x-api-key')
    if (headers['anthropic-version'] !== undefined) return undefined
    return { kind: 'invalid', status: 400, message: 'anthropic-version: header is required', rule: 'version-header' }
  },
  verify: verifyAnthropic,
  overflow({ input, maxOutput, window }) {
    const message =
      input > window
        ? `prompt is too long: ${input} tokens > ${window} maximum`
        : `input length and \`max_tokens\` exceed context limit: ${input} + ${maxOutput} > ${window}, ` +
          'decrease input length or `max_tokens` and try again'
    return { kind: 'overflow', status: 400, message }
  },
  error: errorBody,
  errorEvent: (failure, id) => ({ event: 'error', data: JSON.stringify(errorBody(failure, id)) }),
  refuseInside(failure, id) {
    const body = errorBody(failure, id)
    const message = {
      id: `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model: 'referee-model',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    }
    return {
      body,
      events: [event('message_start', { message }), event('ping'), { event: 'error', data: JSON.stringify(body) }],
    }
  },
  render: renderAnthropic,
  count: (tokens) => ({ input_tokens: tokens }),
  models: (ids, window) => ({
    data: ids.map((id) => ({
      type: 'model',
      id,
      display_name: id,
      created_at: '2026-01-01T00:00:00Z',
      max_input_tokens: window,
    })),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  }),
  keepAlive: 'event: ping\ndata: {"type": "ping"}\n\n',
  cache: { mode: 'marks', minimumTokens: 1024, blockTokens: 1, shortTtlSeconds: 300, longTtlSeconds: 3600 },
  overloadedStatus: 529,
  namesPaths: true,
  fits: 'input-plus-output',
}

function errorBody(failure: Failure, id: string): unknown {
  const error = { type: ERROR_TYPES[failure.kind], message: failure.message }
  return { type: 'error', error, request_id: id }
}

const unauthorised = (message: string): Failure => ({ kind: 'auth', status: 401, message })
