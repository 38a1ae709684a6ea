import { listOf, recordOf, recordsIn } from '../../core/values.ts'
import type { WireTraits } from '../../core/wire-traits.ts'
import { nativeBetas } from '../anthropic-messages/encode.ts'
import { wire as anthropicMessages } from '../anthropic-messages/wire.ts'
import { indexJson } from '../json/json-index.ts'
import { spliceMember, spliceText } from '../json/splice.ts'
import { bodyCodec } from '../kit/body.ts'
import { bearer, decodedPart, type Endpoint, PLAIN_TRAITS, type RouteMatch, type Wire } from '../wire/wire.ts'
import { answers, readResponse, steps, stream } from './answers.ts'
import { body, FORMAT } from './decode.ts'
import { declare, encode, write } from './encode.ts'
import { chunkStream, converseStream } from './event-stream.ts'
import { checkConverse } from './rules.ts'

const traits: WireTraits = { ...PLAIN_TRAITS, promptFraming: 'messages', windowHoldsAnswer: true }

/** Regions stand in the names of hosts, those of private endpoints included. */
const REGION = /bedrock-runtime(?:-fips)?\.([a-z]{2,}(?:-[a-z]+)+-\d+)\./

const regionIn = (env: Readonly<Record<string, string | undefined>>): string =>
  env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1'

const urlIn = (region: string): string => `https://bedrock-runtime.${region}.amazonaws.com`

/** The name of this vendor's habits among the rules of Claude's own wire. */
const PROFILE = 'bedrock'

const endpoint: Endpoint = {
  name: 'bedrock',
  provider: 'aws.bedrock',
  label: 'Amazon Bedrock',
  url: urlIn('us-east-1'),
  sdkPath: '',
  isLocal: false,
  keys: ['AWS_BEARER_TOKEN_BEDROCK'],
  bases: ['AWS_ENDPOINT_URL_BEDROCK_RUNTIME', 'ANTHROPIC_BEDROCK_BASE_URL'],
  headers: bearer,
  credentials: ['authorization', 'x-amz-security-token'],
  modelVariable: 'BEDROCK_MODEL',
  base: (env, baseUrl) => baseUrl ?? urlIn(regionIn(env)),
  signing: {
    service: 'bedrock',
    isAt: ({ hostname }) => hostname.endsWith('.amazonaws.com') && hostname.includes('bedrock-runtime'),
    region: ({ hostname }, env) => REGION.exec(hostname)?.[1] ?? regionIn(env),
  },
}

/** Model ids hold colons, and ARNs slashes that are escaped. */
const METHOD = /\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/

function matchOf(pathname: string, methods: readonly [whole: string, streamed: string]): RouteMatch | undefined {
  const [, model, method = ''] = METHOD.exec(pathname) ?? []
  if (model === undefined || !methods.includes(method)) return undefined
  return { action: 'generate', model: decodedPart(model), stream: method === methods[1] ? 'events' : undefined }
}

const pathOf = (model: string, method: string): string => `/model/${encodeURIComponent(model)}/${method}`

const OWN_KEYS = ['inferenceConfig', 'toolConfig', 'additionalModelRequestFields', 'requestMetadata', 'guardrailConfig']

export const wire: Wire = {
  id: FORMAT,
  codec: {
    ...bodyCodec(body, encode),
    traits,
    check: checkConverse,
    readResponse,
    stream,
  },
  framing: converseStream,
  answers,
  steps,
  declare,
  write,
  routes: {
    match: (pathname) => matchOf(pathname, ['converse', 'converse-stream']),
    path: (model, streams) => pathOf(model, streams ? 'converse-stream' : 'converse'),
    counted: (inputTokens) => ({ inputTokens }),
  },
  endpoint,
  servers: [],
  // On the other wires each block says its type.
  resembles(fields) {
    if (!Array.isArray(fields['messages']) || fields['model'] !== undefined) return 0
    const contents = recordsIn(fields['messages']).flatMap(({ content }) => recordsIn(content))
    const [block] = [...contents, ...recordsIn(fields['system'])]
    const isOurs = block !== undefined && block['type'] === undefined && Object.keys(block).length > 0
    return isOurs || OWN_KEYS.some((key) => recordOf(fields[key]) !== undefined) ? 3 : 0
  },
}

const { codec } = anthropicMessages
const { staleThinkingHeaders, ...bindingTraits } = codec.traits

/** Betas stand in the body here, where the vendor's own API has a header. */
function withBetas(text: string): string {
  const root = indexJson(text)
  const fields = recordOf(root.value) ?? {}
  const isBound = recordOf(recordOf(fields['thinking'])?.['block_binding']) !== undefined
  const needed = [...nativeBetas(fields), ...(isBound ? Object.values(staleThinkingHeaders) : [])]
  const own = listOf(fields['anthropic_beta'])
  const betas = [...new Set([...own, ...needed])]
  return betas.length === own.length
    ? text
    : spliceText(text, [spliceMember(root, 'anthropic_beta', JSON.stringify(betas))])
}

/** Claude by InvokeModel: the bodies of its own API, with the model in the URL and each event of a stream in a chunk. */
export const claudeOnBedrock: Wire = {
  ...anthropicMessages,
  codec: {
    ...codec,
    traits: { ...bindingTraits, staleThinkingHeaders: {} },
    encode(conversation) {
      const { text, losses } = codec.encode(conversation)
      return { text: conversation.changes === undefined ? text : withBetas(text), losses }
    },
    nativeHeaders: () => ({}),
    check: (fields, options = {}) =>
      codec.check(fields, { ...options, profile: [options.profile, PROFILE].filter(Boolean).join(',') }),
  },
  framing: chunkStream,
  answers: {
    ...anthropicMessages.answers,
    errorIn: (fields) => answers.errorIn(fields) ?? anthropicMessages.answers.errorIn(fields),
    error: answers.error,
    errorEvent: ({ __type: type, message }) => ({
      event: 'error',
      data: JSON.stringify({ type: String(type).replace(/^./, (letter) => letter.toLowerCase()), message }),
    }),
  },
  routes: {
    match: (pathname) => matchOf(pathname, ['invoke', 'invoke-with-response-stream']),
    path: (model, streams) => pathOf(model, streams ? 'invoke-with-response-stream' : 'invoke'),
    counted: anthropicMessages.routes.counted,
  },
  endpoint,
}
