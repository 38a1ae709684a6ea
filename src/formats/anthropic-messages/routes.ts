import { decodedPart, type Routes } from '../wire/routes.ts'

/** Claude on Vertex: the same wire with the model in the path. */
const VERTEX = /\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/

export const routes: Routes = {
  match(pathname) {
    if (pathname.endsWith('/messages')) return { action: 'generate' }
    if (pathname.endsWith('/messages/count_tokens')) return { action: 'count' }
    const model = VERTEX.exec(pathname)?.[1]
    return model === undefined ? undefined : { action: 'generate', model: decodedPart(model) }
  },
  path: () => '/v1/messages',
  counted: (input_tokens) => ({ input_tokens }),
}
