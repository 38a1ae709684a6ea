import type { Codec } from '../../core/codec.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { SendToModel } from '../../ports/model-call.ts'
import { wholeOf, type IncomingRequest, type Place, type Upstream } from '../exchange-types.ts'
import { isEncoded } from '../http/encoding.ts'
import { besideOwn } from './beside-own.ts'
import { observeResponse } from '../request/observe.ts'
import { withPathModel, type Route } from '../../formats/endpoints.ts'
import { withModel } from '../request/with-model.ts'

/** A summary is never longer. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

interface Aside<B> {
  readonly request: IncomingRequest
  readonly route: Route
  readonly codec: Codec
  readonly upstream: Upstream<B>
}

/** Sends a request of ours to where the client's goes, on its path and with its credentials, and reads the whole answer. */
export const sideRequest =
  <B>({ request, route, codec, upstream }: Aside<B>, place: Place): SendToModel =>
  async ({ body, headers, signal }) => {
    const answer = await upstream.send({
      aside: true,
      place,
      path: place.model === undefined ? request.path : withPathModel(request.path, route, place.model),
      body: Buffer.from(place.model === undefined ? body : withModel(body, place.model)),
      headers: {
        ...(isEncoded(request.header('content-encoding')) && { 'content-encoding': undefined }),
        'accept-encoding': 'identity',
        ...besideOwn(headers, request.header),
      },
    })
    if (signal.aborted) {
      answer.discard()
      throw signal.reason
    }
    const bytes = await wholeOf(answer, MAX_ANSWER_BYTES)
    if (bytes === undefined) {
      answer.discard()
      throw new PlimsollError('upstream', 'The answer to a request for a summary is too long to be one.')
    }
    if (answer.status >= 400)
      throw new PlimsollError('upstream', `The provider answers ${answer.status} to a request for a summary.`)
    const observer = observeResponse(codec, {
      contentType: answer.header('content-type') ?? '',
      contentEncoding: answer.header('content-encoding'),
    })
    observer.chunk(bytes)
    const response = await observer.end()
    if (response === undefined)
      throw new PlimsollError('upstream', 'The answer to a request for a summary cannot be read.')
    return response
  }
