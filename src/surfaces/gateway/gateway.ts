import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import type { Codec } from '../../core/codec.ts'
import type { PreparedTurn } from '../../engine/prepare.ts'
import type { Session, SessionOptions } from '../../engine/session.ts'
import { AGENT_HEADER, sessionOf, tenantOf, type HeaderReader } from './identity.ts'
import { observeResponse, type ResponseObserver } from './observe.ts'
import { errorAnswer, type Answer } from './answer.ts'
import { routeOf } from './routes.ts'

/** What both shells hand over: the request as it came, whole. */
export interface IncomingRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly header: HeaderReader
  readonly body: Uint8Array
  /** Where it is going; windows are learned per endpoint. */
  readonly endpoint: string
}

/** What a shell does next. */
export type Outgoing =
  /** Send the bytes on as they came and do not look at the answer. */
  | { readonly kind: 'pass' }
  | {
      readonly kind: 'forward'
      readonly body: string
      readonly headers: Readonly<Record<string, string>>
      readonly turn: GatewayTurn
    }
  | { readonly kind: 'answer'; readonly answer: Answer }

export interface GatewayTurn {
  readonly prepared: PreparedTurn
  /** Told about the answer's bytes while they pass by. */
  observe(status: number, contentType: string): ResponseObserver
}

export interface GatewayDeps {
  readonly secret: () => Promise<Uint8Array>
  readonly codecs: ReadonlyMap<string, Codec>
  readonly session: (options: SessionOptions) => Session
  readonly window?: number
  readonly warn: (topic: string, message: string) => void
}

export interface Gateway {
  accept(request: IncomingRequest): Promise<Outgoing>
}

const PASS: Outgoing = { kind: 'pass' }

/** The one handler behind the in-process `fetch` and the proxy: same request in, same bytes out. */
export function createGateway(deps: GatewayDeps): Gateway {
  return {
    async accept(request) {
      const route = routeOf(request.method, request.path)
      const codec = route === undefined ? undefined : deps.codecs.get(route.wire)
      if (route === undefined || codec === undefined || route.action !== 'generate') return PASS
      try {
        return await manage(deps, codec, request, route.model)
      } catch (error) {
        if (!isPlimsollError(error)) throw error
        // What is no request of this wire is the provider's to refuse, in its own words.
        if (error.code === 'bad-input') return PASS
        return { kind: 'answer', answer: errorAnswer(codec.format, error) }
      }
    },
  }
}

async function manage(
  deps: GatewayDeps,
  codec: Codec,
  request: IncomingRequest,
  pathModel: string | undefined,
): Promise<Outgoing> {
  const body = utf8(request.body)
  const conversation = codec.decode(body)
  const tenant = tenantOf(await deps.secret(), request.header)
  const id = sessionOf(request.header, JSON.parse(body), () => beginningOf(conversation.items))
  const session = deps.session({ tenant, id, agent: request.header(AGENT_HEADER) ?? 'main' })
  const model = pathModel ?? conversation.settings.model ?? 'unknown'
  const target = { model, endpoint: request.endpoint, ...(deps.window !== undefined && { window: deps.window }) }
  const prepared = await session.prepare({ format: codec.format, body, targets: [target] })
  return {
    kind: 'forward',
    body: prepared.text,
    headers: reportHeaders(prepared, id),
    turn: {
      prepared,
      observe: (status, contentType) =>
        observeResponse(codec, contentType, status, async (answer) => {
          try {
            await session.record({ turn: prepared.id, ...(answer?.usage !== undefined && { usage: answer.usage }) })
          } catch (error) {
            deps.warn('record', (error as Error).message)
          }
        }),
    },
  }
}

function beginningOf(items: readonly { readonly kind: string; readonly text: string }[]): string {
  const first = items.find((item) => item.kind === 'user')
  return Buffer.from(first?.text ?? '')
    .toString('base64url')
    .slice(0, 16)
}

function reportHeaders(turn: PreparedTurn, session: string): Record<string, string> {
  return {
    'x-plimsoll-session': encodeURIComponent(session),
    'x-plimsoll-load': String(Math.ceil(turn.load.count.high)),
    'x-plimsoll-limit': String(turn.limit.tokens),
    'x-plimsoll-verdict': turn.verdict.kind,
    ...(turn.epoch !== undefined && { 'x-plimsoll-epoch': turn.epoch }),
  }
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new PlimsollError('bad-input', 'The body is not valid UTF-8.', { cause })
  }
}
