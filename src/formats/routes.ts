import { PlimsollError } from '../core/errors.ts'
import { wires } from './wires.ts'
import type { RouteMatch } from './wire/routes.ts'

/** What a path asks for, of which wire. Everything that has no route passes through unchanged. */
export interface Route extends RouteMatch {
  readonly wire: string
}

/** Reads the wire off a path. */
export function routeOf(method: string, path: string): Route | undefined {
  if (method !== 'POST') return undefined
  const [pathname = '', query = ''] = path.split('?')
  for (const { id, routes } of wires) {
    const match = routes.match(pathname, query)
    if (match !== undefined) return { wire: id, ...match }
  }
  return undefined
}

/** The same path asking for another model, where the path names one. */
export function withPathModel(path: string, route: Route, model: string): string {
  return route.model === undefined
    ? path
    : path.replace(/(\/(?:models|deployments)\/)[^/:?]+/, (_, before: string) => before + encodeURIComponent(model))
}

/** Bedrock's own wires; Claude on Bedrock frames its stream in a binary format. */
const BEDROCK = /\/model\/[^/]+\/(converse|converse-stream|invoke|invoke-with-response-stream)$/

/** @throws PlimsollError `unsupported` for model calls of wires that we do not speak: passing them on would look like managing them. */
export function refuseUnspoken(path: string, prefixes: readonly string[]): void {
  if (!BEDROCK.test(path.split('?')[0]!)) return
  const known = prefixes.map((name) => `/${name}`)
  throw new PlimsollError('unsupported', 'Bedrock has wires of its own, which this proxy does not speak yet.', {
    advice: `Use the provider’s own API, or Vertex or Azure, through ${known.slice(0, -1).join(', ')} or ${known.at(-1)}.`,
  })
}
