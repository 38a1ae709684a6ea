import type { StreamEvent } from '../../../core/codec.ts'
import { type Fields, isRecord, recordsIn, textOf } from '../../../core/values.ts'
import { stopOf as wireStopOf, usageOf } from '../../../formats/gemini/answers.ts'
import { valueAt } from '../../../formats/gemini/decode.ts'
import {
  callOf,
  checkGemini,
  partsOf,
  responseOf,
  signatureOf,
  SKIP_SIGNATURES,
} from '../../../formats/gemini/rules.ts'
import { readImageHeader } from '../../../formats/kit/rules.ts'
import { stopOf } from '../brain.ts'
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
import { pieces, toolSegment } from './pieces.ts'

// Measured: a function part adds about 10 tokens, text almost none.
const CALL_FRAME = 10
const TURN_FRAME = 1

function readGemini(body: Fields, route: Route): RequestFacts {
  const asked = requestOf(body)
  const config = valueAt(asked, 'generationConfig')
  const cap = isRecord(config) ? valueAt(config, 'maxOutputTokens') : undefined
  return {
    model: route.model ?? '',
    stream: route.stream === true,
    maxOutput: typeof cap === 'number' ? cap : undefined,
    segments: segmentsOf(asked),
    tools: declarationsOf(asked).map((declared) => textOf(declared.name)),
  }
}

/** The count endpoint also takes a whole request inside another object. */
function requestOf(body: Fields): Fields {
  const inner = valueAt(body, 'generateContentRequest')
  return isRecord(inner) ? inner : body
}

const declarationsOf = (body: Fields): readonly Fields[] =>
  recordsIn(body.tools).flatMap((tool) => recordsIn(valueAt(tool, 'functionDeclarations')))

function segmentsOf(body: Fields): Segment[] {
  const segments: Segment[] = declarationsOf(body).map(toolSegment)
  const system = valueAt(body, 'systemInstruction')
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
  const inline = valueAt(part, 'inlineData')
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

/** The content that a signature seals: the call that it is on. On text, a signature only identifies its issuer. */
function sealedText(part: Fields): string {
  const call = callOf(part)
  return call === undefined ? '' : JSON.stringify([call.name ?? null, call.args ?? {}])
}

/** Signatures must be from this issuer and on the part that they were issued for. */
function verifyGemini({ body, issuer }: VerifyContext): Verification {
  const violations = recordsIn(body.contents).flatMap((content, at) =>
    partsOf(content).flatMap((part, index) => {
      const signature = signatureOf(part)
      if (signature === '' || SKIP_SIGNATURES.has(signature)) return []
      const opened = issuer.open(signature)
      if (opened?.matches(sealedText(part)) === true) return []
      return [
        {
          rule: 'signature-valid',
          path: `contents[${at}].parts[${index}]`,
          message: 'Corrupted thought signature.',
        },
      ]
    }),
  )
  return { violations }
}

function renderGemini(context: RenderContext): Rendered {
  const { usage, facts } = context
  const parts = partsFor(context)
  const finishReason = wireStopOf(stopOf(context.answer))
  const tail = { modelVersion: facts.model, responseId: context.id('resp') }
  const reported = usage === undefined ? {} : { usageMetadata: usageOf(usage) }
  const body = { candidates: [{ content: { role: 'model', parts }, finishReason, index: 0 }], ...reported, ...tail }
  return { body, events: eventsOf(context, parts, finishReason, tail) }
}

function partsFor(context: RenderContext): Fields[] {
  const { answer, issuer, id } = context
  let signed = false
  return answer.parts.flatMap((part, index): Fields[] => {
    if (part.type === 'reasoning') return showsThoughts(context.body) ? [{ text: part.text, thought: true }] : []
    if (part.type !== 'call') return part.text === '' ? [] : [{ text: part.text }]
    const call = { functionCall: { id: part.id ?? id('call', index), name: part.name, args: part.input } }
    // Only the first call of a step is signed, not its parallel siblings.
    if (signed) return [call]
    signed = true
    return [{ ...call, thoughtSignature: issuer.seal(sealedText(call)) }]
  })
}

function showsThoughts(body: Fields): boolean {
  const config = valueAt(body, 'generationConfig')
  const thinking = isRecord(config) ? valueAt(config, 'thinkingConfig') : undefined
  return isRecord(thinking) && valueAt(thinking, 'includeThoughts') === true
}

function eventsOf(context: RenderContext, parts: readonly Fields[], finishReason: string, tail: Fields): StreamEvent[] {
  const { usage, usageAtEnd } = context
  const small = parts.flatMap((part) =>
    typeof part.text === 'string' ? pieces(part.text).map((text) => ({ ...part, text })) : [part],
  )
  const early =
    usage === undefined || usageAtEnd
      ? {}
      : { usageMetadata: { promptTokenCount: usage.input, totalTokenCount: usage.input } }
  const late = usage === undefined ? {} : { usageMetadata: usageOf(usage) }
  const chunk = (fields: Fields, reported: Fields): StreamEvent => ({
    data: JSON.stringify({ candidates: [{ ...fields, index: 0 }], ...reported, ...tail }),
  })
  return [
    ...small.map((part) => chunk({ content: { role: 'model', parts: [part] } }, early)),
    chunk({ content: { role: 'model', parts: [{ text: '' }] }, finishReason }, late),
  ]
}

const STATUSES: Record<FailureKind, string> = {
  invalid: 'INVALID_ARGUMENT',
  overflow: 'INVALID_ARGUMENT',
  'too-large': 'INVALID_ARGUMENT',
  throttle: 'RESOURCE_EXHAUSTED',
  server: 'INTERNAL',
  overloaded: 'UNAVAILABLE',
  auth: 'UNAUTHENTICATED',
  'not-found': 'NOT_FOUND',
}

const ROUTE = /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/

/** generateContent: the path names the model and whether to stream. */
export const gemini: Dialect = {
  wire: 'gemini',
  route(method, path) {
    const [route = ''] = path.split('?')
    const [, model = '', verb] = ROUTE.exec(route) ?? []
    if (method === 'GET' && route.endsWith('/models')) return { kind: 'models' }
    if (method !== 'POST' || verb === undefined) return undefined
    return { kind: verb === 'countTokens' ? 'count' : 'generate', model, stream: verb === 'streamGenerateContent' }
  },
  check: (body, options) => checkGemini(isRecord(body) ? requestOf(body) : body, options),
  read: readGemini,
  authorise({ headers, path }, apiKey) {
    const query = new URLSearchParams(path.split('?')[1] ?? '')
    const given = headers['x-goog-api-key'] ?? query.get('key') ?? headers.authorization?.replace(/^Bearer /i, '')
    if (given === undefined)
      return { kind: 'auth', status: 401, message: 'Request is missing required authentication credential.' }
    if (apiKey === undefined || given === apiKey) return undefined
    return { kind: 'auth', status: 400, message: 'API key not valid. Please pass a valid API key.' }
  },
  verify: verifyGemini,
  overflow({ input, window }) {
    const message = `The input token count (${input}) exceeds the maximum number of tokens allowed (${window}).`
    return { kind: 'overflow', status: 400, message }
  },
  error: errorBody,
  render: renderGemini,
  count: (tokens) => ({ totalTokens: tokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }] }),
  models: (ids, window) => ({
    models: ids.map((id) => ({
      name: `models/${id}`,
      displayName: id,
      inputTokenLimit: window,
      outputTokenLimit: 65_536,
      supportedGenerationMethods: ['generateContent', 'countTokens'],
    })),
  }),
  keepAlive: ': keep-alive\n\n',
  cache: { mode: 'automatic', minimumTokens: 2048, blockTokens: 1, shortTtlSeconds: 300, longTtlSeconds: 3600 },
  fits: 'input',
}

function errorBody(failure: Failure): unknown {
  return { error: { code: failure.status, message: failure.message, status: STATUSES[failure.kind] } }
}
