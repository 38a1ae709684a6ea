import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { Plimsoll } from '../index.ts'
import { checkAdapter } from './kit.ts'

/** What the AWS SDK hands to a request handler, as far as it matters here. */
interface AwsRequest {
  readonly method: string
  readonly protocol: string
  readonly hostname: string
  readonly port?: number
  readonly path: string
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

interface AwsResponse {
  readonly statusCode: number
  readonly reason?: string
  readonly headers: Record<string, string>
  readonly body?: Readable
}

/** Stands behind `new BedrockRuntimeClient({ requestHandler })`. */
export interface AwsRequestHandler {
  readonly metadata: { readonly handlerProtocol: string }
  handle(request: AwsRequest, options?: { readonly abortSignal?: unknown }): Promise<{ response: AwsResponse }>
  destroy(): void
  updateHttpClientConfig(): void
  httpHandlerConfigs(): Record<string, never>
}

/**
 * A request handler for clients of the AWS SDK, over `plimsoll.fetch`. The SDK has signed a request before it gets here; one that we change is
 * signed anew with the standard credential chain.
 */
export function plimsollHandler(plimsoll: Pick<Plimsoll, 'fetch'>): AwsRequestHandler {
  checkAdapter('plimsollHandler', [plimsoll], ['plimsoll'], [])
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(request, { abortSignal } = {}) {
      const { method, headers, body } = request
      const response = await plimsoll.fetch(urlOf(request), {
        method,
        headers,
        body: body as BodyInit,
        signal: abortSignal instanceof AbortSignal ? abortSignal : null,
      })
      const { status: statusCode, statusText: reason } = response
      const stream = response.body === null ? undefined : Readable.fromWeb(response.body as ReadableStream)
      return { response: { statusCode, reason, headers: Object.fromEntries(response.headers), body: stream } }
    },
    destroy: () => undefined,
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  }
}

function urlOf({ protocol, hostname, port, path, query = {} }: AwsRequest): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const one of [value ?? ''].flat()) parameters.append(name, one)
  const search = parameters.size > 0 ? `?${parameters}` : ''
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${search}`
}
