import { spliceBytes } from '../../core/splices.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { ReadyRequest } from '../../engine/prepare/prepare.ts'
import { indexJson, member } from '../../formats/json/json-index.ts'
import { withPathModel } from '../../formats/endpoints.ts'
import type { SendToModel } from '../../ports/model-call.ts'
import { isEncoded, readableEncodings } from '../http/encoding.ts'
import type { HeaderReader } from '../identity.ts'
import type { OpenedRequest } from '../open.ts'
import { observeResponse } from '../read-answer.ts'
import type { Outbound, Upstream } from '../types.ts'

/** What goes to an upstream of the client's own wire, on the client's path and with its credentials. */
export function outboundOf(
  request: OpenedRequest,
  upstream: Upstream,
  prepared: Pick<ReadyRequest, 'text' | 'load' | 'splices' | 'headers'>,
): Outbound {
  const { incoming, mode, hidden } = request
  const { model } = upstream
  const untouched = mode === 'observe' || (prepared.text === request.text && model === undefined)
  // An answer that may have to be rewritten has to come plain.
  const encodings = hidden === undefined ? readableEncodings(incoming.header('accept-encoding')) : 'identity'
  const headers: Record<string, string | undefined> = { 'accept-encoding': encodings }
  if (!untouched && isEncoded(incoming.header('content-encoding'))) headers['content-encoding'] = undefined
  if (mode === 'apply') Object.assign(headers, mergeHeaders(prepared.headers, incoming.header))
  return {
    upstream,
    path: pathAt(request, upstream),
    // Untouched requests leave as the bytes that came in, packed or not.
    body: untouched ? incoming.body : bytesOf(request, prepared, model),
    headers,
  }
}

/** The client's path, asking for the upstream's own model where the path names one. */
export const pathAt = ({ incoming, route }: OpenedRequest, { model }: Upstream): string =>
  model === undefined ? incoming.path : withPathModel(incoming.path, route, model)

function bytesOf(
  { incoming: { body, header }, text: source }: OpenedRequest,
  { text, load, splices }: Pick<ReadyRequest, 'text' | 'load' | 'splices'>,
  model: string | undefined,
): Buffer {
  if (model !== undefined) return Buffer.from(withModel(text, model))
  // As many bytes as characters: all of it is ASCII, so that positions in the text are positions in the bytes.
  const isPlain = body.length === source.length && !isEncoded(header('content-encoding'))
  if (splices !== undefined && isPlain) return spliceBytes(body, splices)
  return Buffer.from(text, load.bytes === text.length ? 'latin1' : 'utf8')
}

/** The same body asking for another model; every other byte stays. A body that names none stays as it is. */
export function withModel(text: string, model: string): string {
  const node = member(indexJson(text), 'model')
  return node === undefined ? text : text.slice(0, node.start) + JSON.stringify(model) + text.slice(node.end)
}

/** Lists such as `anthropic-beta` grow by our entry; what the client asked for stays in them. */
export function mergeHeaders(needed: Readonly<Record<string, string>>, own: HeaderReader): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(needed)) {
    const entries = [...(own(name) ?? '').split(','), ...value.split(',')].map((entry) => entry.trim())
    headers[name] = [...new Set(entries.filter((entry) => entry !== ''))].join(',')
  }
  return headers
}

/** A summary is never longer. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** Sends a request of ours to where the client's goes, on its path and with its credentials, and reads the whole answer. */
export const sideRequest =
  (request: OpenedRequest, upstream: Upstream): SendToModel =>
  async ({ body, headers, signal }) => {
    const { incoming, transport, wire } = request
    const answer = await transport({
      aside: true,
      upstream,
      path: pathAt(request, upstream),
      body: Buffer.from(upstream.model === undefined ? body : withModel(body, upstream.model)),
      headers: {
        ...(isEncoded(incoming.header('content-encoding')) && { 'content-encoding': undefined }),
        'accept-encoding': 'identity',
        ...mergeHeaders(headers, incoming.header),
      },
    })
    if (signal.aborted) {
      answer.body.discard()
      throw signal.reason
    }
    const bytes = await answer.body.whole(MAX_ANSWER_BYTES)
    if (bytes === undefined) {
      answer.body.discard()
      throw new PlimsollError('upstream', 'The answer to a request for a summary is too long to be one.')
    }
    if (answer.status >= 400)
      throw new PlimsollError('upstream', `The provider answers ${answer.status} to a request for a summary.`)
    const observer = observeResponse(wire, answer)
    observer.chunk(bytes)
    const response = await observer.end()
    if (response === undefined)
      throw new PlimsollError('upstream', 'The answer to a request for a summary cannot be read.')
    return response
  }
