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
