/** What a path asks for. Everything that has no route passes through unchanged. */
export interface Route {
  readonly wire: string
  readonly action: 'generate' | 'count'
  /** Gemini, Azure and Vertex name the model in the path. */
  readonly model?: string
  /** Gemini asks for a stream in the path; the other wires in the body. */
  readonly stream?: 'sse' | 'json-array'
}

const GEMINI = /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/
/** Claude on Vertex: the Messages wire with the model in the path. */
const VERTEX_CLAUDE = /\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/
const AZURE_DEPLOYMENT = /\/deployments\/([^/]+)\/chat\/completions$/
/** Bedrock's own wires; Claude on Bedrock frames its stream in a binary format. */
const BEDROCK = /\/model\/[^/]+\/(converse|converse-stream|invoke|invoke-with-response-stream)$/

/** Reads the wire off a path. */
export function routeOf(method: string, path: string): Route | undefined {
  if (method !== 'POST') return undefined
  const [pathname = '', query = ''] = path.split('?')
  if (pathname.endsWith('/messages')) return { wire: 'anthropic-messages', action: 'generate' }
  if (pathname.endsWith('/messages/count_tokens')) return { wire: 'anthropic-messages', action: 'count' }
  if (pathname.endsWith('/chat/completions')) {
    const deployment = AZURE_DEPLOYMENT.exec(pathname)?.[1]
    return { wire: 'openai-chat', action: 'generate', ...(deployment !== undefined && { model: decode(deployment) }) }
  }
  if (pathname.endsWith('/responses/input_tokens')) return { wire: 'openai-responses', action: 'count' }
  if (pathname.endsWith('/responses')) return { wire: 'openai-responses', action: 'generate' }
  const vertex = VERTEX_CLAUDE.exec(pathname)
  if (vertex !== null) return { wire: 'anthropic-messages', action: 'generate', model: decode(vertex[1]!) }
  const gemini = GEMINI.exec(pathname)
  if (gemini === null) return undefined
  return {
    wire: 'gemini',
    action: gemini[2] === 'countTokens' ? 'count' : 'generate',
    model: decode(gemini[1]!),
    ...(gemini[2] === 'streamGenerateContent' && {
      stream: new URLSearchParams(query).get('alt') === 'sse' ? ('sse' as const) : ('json-array' as const),
    }),
  }
}

/** Where a wire's model calls go, for a place that the client's own path means nothing to. */
export function pathOf(wire: string, model: string, stream: boolean): string {
  if (wire === 'anthropic-messages') return '/v1/messages'
  if (wire === 'openai-responses') return '/v1/responses'
  if (wire === 'openai-chat') return '/v1/chat/completions'
  const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return `/v1beta/models/${encodeURIComponent(model)}:${verb}`
}

export const isBedrock = (path: string): boolean => BEDROCK.test(path.split('?')[0]!)

/** The same path asking for another model, where the path names one. */
export function withPathModel(path: string, route: Route, model: string): string {
  return route.model === undefined
    ? path
    : path.replace(/(\/(?:models|deployments)\/)[^/:?]+/, (_, before: string) => before + encodeURIComponent(model))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
