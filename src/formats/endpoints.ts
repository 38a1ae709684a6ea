import type { Endpoint, HeaderReader, RouteMatch, Wire } from './wire/wire.ts'
import { spoken, wires } from './registry.ts'

export type { Endpoint, HeaderReader } from './wire/wire.ts'

/** The wire and purpose of a path. Requests to other paths pass through unchanged. */
export interface Route extends RouteMatch {
  readonly wire: string
  /** The same as it is spoken at that path: a vendor may serve another's bodies in a framing of its own. */
  readonly speaks: Wire
}

/** The route of a path; undefined for paths of no wire. */
export function routeOf(method: string, path: string): Route | undefined {
  if (method !== 'POST') return undefined
  const [pathname = '', query = ''] = path.split('?')
  for (const speaks of spoken) {
    const match = speaks.routes.match(pathname, query)
    if (match !== undefined) return { wire: speaks.id, speaks, ...match }
  }
  return undefined
}

/** Where paths name it; what stands behind a colon is a method on one vendor, and a part of the name on another. */
const PATH_MODEL = /(\/(?:models|deployments)\/)[^/:?]+|(\/model\/)[^/?]+/

/** Whose requests are signed behind a prefix of the proxy, or at an address. */
export const signerAt = (prefix: string, url: URL): Endpoint | undefined =>
  endpoints.find(({ name, signing }) => signing !== undefined && (name === prefix || signing.isAt(url)))

/** The same path asking for another model, where the path names one. */
export function withPathModel(path: string, route: Route, model: string): string {
  return route.model === undefined
    ? path
    : path.replace(PATH_MODEL, (_, before = '', other = '') => `${before}${other}${encodeURIComponent(model)}`)
}

/** The endpoints of the wires' vendors, each once. */
export const endpoints: readonly Endpoint[] = [...new Set(wires.map(({ endpoint }) => endpoint))]

/** The endpoints that are not local servers. */
export const vendors: readonly Endpoint[] = endpoints.filter(({ isLocal }) => !isLocal)

/** The vendor of an API format, as OpenTelemetry's conventions name it. */
export function providerOfFormat(format: string): string | undefined {
  const endpoint = wires.find(({ id }) => id === format)?.endpoint
  return endpoint?.provider ?? endpoint?.name
}

/** The endpoints that `plimsoll chat` knows by name, with their wires. */
export const speakers: readonly { readonly endpoint: Endpoint; readonly wire: Wire }[] = wires
  .flatMap((wire) => [wire.endpoint, ...wire.servers].map((endpoint) => ({ endpoint, wire })))
  .filter(({ endpoint }, at, all) => all.findIndex((other) => other.endpoint.name === endpoint.name) === at)

/** The vendor of a path at the proxy's root, if the path or a header identifies one. */
export function endpointAtRoot(path: string, header: HeaderReader): Endpoint | undefined {
  const route = routeOf('POST', path)
  if (route !== undefined) return route.speaks.endpoint
  return endpoints.find((endpoint) => endpoint.ownsPath?.(path, header) === true)
}

/** The headers and query parameters in which clients of these vendors send credentials. */
export const VENDOR_CREDENTIALS = {
  headers: [...new Set(endpoints.flatMap(({ credentials }) => credentials))],
  parameters: [...new Set(endpoints.flatMap(({ credentialQuery = [] }) => credentialQuery))],
}

/**
 * The variables by which agents and SDKs find their vendor, with values that point at a proxy; `every`: also the less common names. Without local
 * servers, whose clients have no common variable.
 */
export const baseUrlsAt = (url: string, every = false): readonly (readonly [variable: string, value: string])[] =>
  vendors.flatMap(({ name, bases, sdkPath }) =>
    (every ? bases : bases.slice(0, 1)).map((variable) => [variable, `${url}/${name}${sdkPath}`] as const),
  )

/** A path below an SDK's base URL, which may already end in the version. */
export const pathUnder = ({ sdkPath }: Endpoint, path: string): string =>
  path.startsWith(`${sdkPath}/`) ? path.slice(sdkPath.length) : path

/** Model calls in API formats that Plimsoll does not read, by path. */
const UNREAD: readonly { readonly name: string; readonly path: RegExp }[] = [
  { name: 'Vercel AI Gateway', path: /\/v\d+\/ai\/language-model$/ },
  { name: 'Gemini Interactions', path: /\/v1(?:alpha|beta)?\d*\/interactions$/ },
  { name: 'Cohere', path: /^\/v[12]\/chat$/ },
]

/** The name of the API whose call passes through unread; undefined for anything else. */
export function unreadCall(method: string, pathname: string): string | undefined {
  return method === 'POST' ? UNREAD.find(({ path }) => path.test(pathname))?.name : undefined
}

/** Hosts of vendors, which refuse a prompt that is too long. Other servers may silently remove its front. */
const VENDOR_HOSTS =
  /(?:^|\.)(?:openai\.com|anthropic\.com|claude\.ai|googleapis\.com|azure\.com|amazonaws\.com|aliyuncs\.com|openrouter\.ai|mistral\.ai|deepseek\.com|x\.ai|groq\.com|cohere\.com|cohere\.ai|together\.ai|together\.xyz|fireworks\.ai|cerebras\.ai|perplexity\.ai|moonshot\.(?:ai|cn)|z\.ai|bigmodel\.cn|minimax(?:i)?\.(?:io|com|chat)|nvidia\.com|githubcopilot\.com|github\.ai|sambanova\.ai|deepinfra\.com|baseten\.co|vercel\.sh)$/

export const isVendor = (endpoint: string): boolean =>
  URL.canParse(endpoint) && VENDOR_HOSTS.test(new URL(endpoint).hostname)
