import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { StreamEvent, Violation } from '../../../core/codec.ts'
import { type Fields, isRecord, listOf, recordOf, recordsIn, textOf } from '../../../core/values.ts'
import { event, exceptionOf, stopOf as wireStopOf, usageOf } from '../../../formats/bedrock-converse/answers.ts'
import { isCachePoint, toolName } from '../../../formats/bedrock-converse/decode.ts'
import { chunkStream } from '../../../formats/bedrock-converse/event-stream.ts'
import { checkConverse } from '../../../formats/bedrock-converse/rules.ts'
import { stopOf } from '../brain.ts'
import type {
  Dialect,
  Failure,
  RenderContext,
  Rendered,
  RequestFacts,
  Route,
  Segment,
  Verification,
  VerifyContext,
  RefereeRequest,
} from '../types.ts'
import { anthropicMessages, pictureTokens } from './anthropic-messages.ts'
import { pieces } from './pieces.ts'

const FRAME = 4
const TOOL_BLOCK_FRAME = 12

function read(body: Fields, route: Route): RequestFacts {
  const config = recordOf(body['toolConfig'])
  const cap = recordOf(body['inferenceConfig'])?.['maxTokens']
  return {
    model: route.model ?? '',
    stream: route.stream === true,
    maxOutput: typeof cap === 'number' ? cap : undefined,
    segments: segmentsOf(body),
    tools: recordsIn(config?.['tools'])
      .map(toolName)
      .filter((name) => name !== ''),
    cacheSalt: JSON.stringify([config?.['toolChoice'] ?? null]),
  }
}

/** A cache point marks what stands before it. */
function segmentsOf(body: Fields): Segment[] {
  const segments: Segment[] = []
  const take = (list: unknown, path: string, section: Segment['section'], role = ''): void => {
    let frame = section === 'messages' ? FRAME : 0
    listOf(list).forEach((block, index) => {
      if (!isRecord(block)) return
      const last = segments.at(-1)
      if (isCachePoint(block)) {
        const mark = recordOf(block['cachePoint'])?.['ttl'] === '1h' ? 'long' : 'short'
        if (last !== undefined) segments[segments.length - 1] = { ...last, mark }
        return
      }
      const { text, extraTokens } = described(block)
      const key = `${role} ${JSON.stringify(block)}`
      segments.push({ path: `${path}.${index}`, section, key, text, extraTokens: extraTokens + frame })
      frame = 0
    })
  }
  take(recordOf(body['toolConfig'])?.['tools'], 'toolConfig.tools', 'tools')
  take(body['system'], 'system', 'system')
  recordsIn(body['messages']).forEach(({ role, content }, at) =>
    take(content, `messages.${at}.content`, 'messages', textOf(role)),
  )
  return segments
}

function described(block: Fields): Pick<Segment, 'text' | 'extraTokens'> {
  if (typeof block['text'] === 'string') return { text: block['text'], extraTokens: 0 }
  const call = recordOf(block['toolUse'])
  if (call !== undefined)
    return { text: `${textOf(call['name'])} ${JSON.stringify(call['input'])}`, extraTokens: TOOL_BLOCK_FRAME }
  const result = recordOf(block['toolResult'])
  if (result !== undefined) {
    const parts = recordsIn(result['content']).map(described)
    return {
      text: parts.map(({ text }) => text).join('\n'),
      extraTokens: parts.reduce((sum, part) => sum + part.extraTokens, TOOL_BLOCK_FRAME),
    }
  }
  const reasoning = recordOf(recordOf(block['reasoningContent'])?.['reasoningText'])
  if (reasoning !== undefined) return { text: textOf(reasoning['text']), extraTokens: 0 }
  const picture = recordOf(recordOf(block['image'])?.['source'])
  if (picture === undefined) return { text: JSON.stringify(block), extraTokens: 0 }
  return { text: '', extraTokens: pictureTokens(textOf(picture['bytes'])) }
}

/** Thinking comes back from this issuer, unchanged. */
function verify({ body, issuer }: VerifyContext): Verification {
  const violations = recordsIn(body['messages']).flatMap((message, at) =>
    recordsIn(message['content']).flatMap((block, index): Violation[] => {
      const said = recordOf(recordOf(block['reasoningContent'])?.['reasoningText'])
      if (said === undefined || issuer.open(textOf(said['signature']))?.matches(textOf(said['text'])) === true)
        return []
      const path = `messages.${at}.content.${index}`
      return [
        {
          rule: 'thinking-signature',
          path,
          message: `The signature in the reasoningContent block at ${path} is invalid.`,
        },
      ]
    }),
  )
  return { violations }
}

function render(context: RenderContext): Rendered {
  const { answer, body, usage, issuer, id } = context
  const isThinking = recordOf(recordOf(body['additionalModelRequestFields'])?.['thinking'])?.['type'] === 'enabled'
  const content = answer.parts.flatMap((part, index): Fields[] => {
    if (part.type === 'call')
      return [{ toolUse: { toolUseId: part.id ?? id('tooluse', index), name: part.name, input: part.input } }]
    if (part.type !== 'reasoning') return [{ text: part.text }]
    const reasoningText = { text: part.text, signature: issuer.seal(part.text) }
    return isThinking ? [{ reasoningContent: { reasoningText } }] : []
  })
  const stopReason = wireStopOf(stopOf(answer))
  const reported = usage === undefined ? {} : { usage: usageOf(usage) }
  const metrics = { latencyMs: 1 }
  return {
    body: { output: { message: { role: 'assistant', content } }, stopReason, ...reported, metrics },
    events: [
      event('messageStart', { role: 'assistant' }),
      ...content.flatMap(blockEvents),
      event('messageStop', { stopReason }),
      event('metadata', { ...reported, metrics }),
    ],
  }
}

function blockEvents(block: Fields, contentBlockIndex: number): StreamEvent[] {
  const delta = (fields: Fields): StreamEvent => event('contentBlockDelta', { delta: fields, contentBlockIndex })
  const stop = event('contentBlockStop', { contentBlockIndex })
  const call = recordOf(block['toolUse'])
  if (call !== undefined) {
    const { input, ...start } = call
    const grown = pieces(JSON.stringify(input)).map((text) => delta({ toolUse: { input: text } }))
    return [event('contentBlockStart', { start: { toolUse: start }, contentBlockIndex }), ...grown, stop]
  }
  const said = recordOf(recordOf(block['reasoningContent'])?.['reasoningText'])
  if (said === undefined) return [...pieces(textOf(block['text'])).map((text) => delta({ text })), stop]
  return [
    ...pieces(textOf(said['text'])).map((text) => delta({ reasoningContent: { text } })),
    delta({ reasoningContent: { signature: said['signature'] } }),
    stop,
  ]
}

const METHOD = /\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/

function routeTo(methods: readonly string[]): Dialect['route'] {
  return (verb, path) => {
    const [, model = '', method = ''] = METHOD.exec(path.split('?')[0]!) ?? []
    if (verb !== 'POST' || !methods.includes(method)) return undefined
    return { kind: 'generate', model: decodeURIComponent(model), stream: method.endsWith('stream') }
  }
}

const errorBody = ({ status, message }: Failure): Fields => ({ __type: exceptionOf(status), message })

const nameOf = (status: number): string => exceptionOf(status).replace(/^./, (letter) => letter.toLowerCase())

/** Converse and ConverseStream: the model and the streaming stand in the path. */
export const bedrockConverse: Dialect = {
  wire: 'bedrock-converse',
  route: routeTo(['converse', 'converse-stream']),
  check: checkConverse,
  read,
  authorise: authoriseAws,
  verify,
  overflow: ({ input, window }) => ({
    kind: 'overflow',
    status: 400,
    message: `The model returned the following errors: prompt is too long: ${input} tokens > ${window} maximum`,
  }),
  error: errorBody,
  errorEvent: ({ status, message }) => event(nameOf(status), { message }),
  render,
  count: (inputTokens) => ({ inputTokens }),
  models: (ids) => ({ modelSummaries: ids.map((modelId) => ({ modelId })) }),
  keepAlive: '',
  cache: { mode: 'marks', minimumTokens: 1024, blockTokens: 1, shortTtlSeconds: 300, longTtlSeconds: 3600 },
  fits: 'input-plus-output',
}

/** InvokeModel for Claude: its own bodies and events, the model in the path, betas in the body. */
export const claudeOnBedrock: Dialect = {
  ...anthropicMessages,
  framing: chunkStream,
  route: routeTo(['invoke', 'invoke-with-response-stream']),
  check: (body, options) => [
    ...foreignMembers(body),
    ...anthropicMessages.check(body, { ...options, profile: 'bedrock' }),
  ],
  read: (body, route) => ({ ...anthropicMessages.read(body, route, new Map()), stream: route.stream === true }),
  authorise: authoriseAws,
  verify: (context) =>
    anthropicMessages.verify!({
      ...context,
      headers: { 'anthropic-beta': listOf(context.body['anthropic_beta']).join(',') },
    }),
  // The vendor's shortest words for it.
  overflow: () => ({ kind: 'overflow', status: 400, message: 'Input is too long for requested model.' }),
  error: errorBody,
  errorEvent: ({ status, message }) => ({
    event: 'error',
    data: JSON.stringify({ type: 'error', error: { type: nameOf(status), message } }),
  }),
  keepAlive: '',
}

/** Members that stand in the path here, and the one without which no body is read. */
function foreignMembers(body: unknown): Violation[] {
  const fields = recordOf(body) ?? {}
  const extra = ['model', 'stream'].filter((key) => fields[key] !== undefined)
  const found = extra.map((path) => ({
    rule: 'invoke-members',
    path,
    message: `${path}: Extra inputs are not permitted`,
  }))
  return typeof fields['anthropic_version'] === 'string'
    ? found
    : [...found, { rule: 'invoke-version', path: 'anthropic_version', message: 'anthropic_version: Field required' }]
}

const sha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, *SignedHeaders=([^,]+), *Signature=([0-9a-f]{64})$/

/** Why a request's signature (AWS's version 4) does not hold; undefined when it does. */
function flawIn(
  { method, path, headers, body }: RefereeRequest,
  accessKeys: Readonly<Record<string, string>>,
): string | undefined {
  const [, id = '', day = '', region = '', service = '', names = '', given = ''] =
    AUTHORIZATION.exec(headers['authorization'] ?? '') ?? []
  const secret = accessKeys[id]
  if (secret === undefined) return 'The security token included in the request is invalid.'
  const time = headers['x-amz-date'] ?? ''
  const signedNames = names.split(';')
  if (!signedNames.includes('host') || !time.startsWith(day)) return 'The request signature is not complete.'
  const [pathname = '', query = ''] = path.split('?')
  const parameters = [...new URLSearchParams(query)].map(([name, value]) => `${escaped(name)}=${escaped(value)}`).sort()
  const canonical = [
    method,
    // The path as it travels, escaped once more.
    pathname.split('/').map(escaped).join('/'),
    parameters.join('&'),
    ...signedNames.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    names,
    sha256(body),
  ].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(
    (key, part) => hmac(key, part),
    `AWS4${secret}`,
  )
  const wanted = hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n'))
  return timingSafeEqual(wanted, Buffer.from(given, 'hex'))
    ? undefined
    : 'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.'
}

/** A key as a bearer token, or a signature. */
function authoriseAws(
  request: RefereeRequest,
  apiKey: string | undefined,
  accessKeys: Readonly<Record<string, string>> = {},
): Failure | undefined {
  const refused = (message: string): Failure => ({ kind: 'auth', status: 403, message })
  const { authorization } = request.headers
  if (authorization === undefined) return refused('Missing Authentication Token')
  const bearer = /^Bearer (.+)$/.exec(authorization)?.[1]
  if (bearer !== undefined)
    return apiKey === undefined || bearer === apiKey
      ? undefined
      : refused('Authentication failed: Please make sure your API Key is valid.')
  const flaw = flawIn(request, accessKeys)
  return flaw === undefined ? undefined : refused(flaw)
}
