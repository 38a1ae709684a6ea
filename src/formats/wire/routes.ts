/** What a path asks for. */
export interface RouteMatch {
  readonly action: 'generate' | 'count'
  /** Some paths name the model. */
  readonly model?: string
  /** Some paths ask for a stream; else the body does. */
  readonly stream?: StreamKind
}

/** Events in the wire's framing, or one JSON array of chunks. */
export type StreamKind = 'events' | 'json-array'

export interface Routes {
  match(pathname: string, query: string): RouteMatch | undefined
  /** Where model calls go, for a place that the client's own path means nothing to. */
  path(model: string, stream: boolean): string
  /** How the vendor answers the question for a token count. */
  counted(tokens: number): object
}

export function decodedPart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
