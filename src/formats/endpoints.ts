import type { Endpoint, HeaderReader, RouteMatch, Wire } from './wire/wire.ts'
import { spoken, wires } from './registry.ts'

export type { Endpoint, HeaderReader } from './wire/wire.ts'

/** What a path asks for, of which wire. Everything that has no route passes through unchanged. */
export interface Route extends RouteMatch {
  readonly wire: string
  /** The same as it is spoken at that path: a vendor may serve another's bodies in a framing of its own. */
  readonly speaks: Wire
}

/** Reads the wire off a path. */
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

/** Where the wires' own vendors are, each once. */
export const endpoints: readonly Endpoint[] = [...new Set(wires.map(({ endpoint }) => endpoint))]

/** Those of them that are not servers of one's own. */
export const vendors: readonly Endpoint[] = endpoints.filter(({ isLocal }) => !isLocal)

/** The vendor whose API format this is, in the words of OpenTelemetry's conventions. */
export function providerOfFormat(format: string): string | undefined {
  const endpoint = wires.find(({ id }) => id === format)?.endpoint
  return endpoint?.provider ?? endpoint?.name
}

/** Everybody that a chat may talk to by name, with the wire that is spoken there. */
export const speakers: readonly { readonly endpoint: Endpoint; readonly wire: Wire }[] = wires
  .flatMap((wire) => [wire.endpoint, ...wire.servers].map((endpoint) => ({ endpoint, wire })))
  .filter(({ endpoint }, at, all) => all.findIndex((other) => other.endpoint.name === endpoint.name) === at)

/** At the root of the proxy, where the path or a header leaves no doubt whose API is meant. */
export function endpointAtRoot(path: string, header: HeaderReader): Endpoint | undefined {
  const route = routeOf('POST', path)
  if (route !== undefined) return route.speaks.endpoint
  return endpoints.find((endpoint) => endpoint.ownsPath?.(path, header) === true)
}

/** Where clients of these vendors put what they authenticate with. */
export const VENDOR_CREDENTIALS = {
  headers: [...new Set(endpoints.flatMap(({ credentials }) => credentials))],
  parameters: [...new Set(endpoints.flatMap(({ credentialQuery = [] }) => credentialQuery))],
}

/**
 * Variables by which agents and SDKs find their vendor, pointed at a proxy; `every` where clients disagree about the name. A server of one's
 * own may be anywhere: its clients are pointed by hand.
 */
export const baseUrlsAt = (url: string, every = false): readonly (readonly [variable: string, value: string])[] =>
  vendors.flatMap(({ name, bases, sdkPath }) =>
    (every ? bases : bases.slice(0, 1)).map((variable) => [variable, `${url}/${name}${sdkPath}`] as const),
  )

/** A path below a base URL as SDKs have it, which may end in the version already. */
export const pathUnder = ({ sdkPath }: Endpoint, path: string): string =>
  path.startsWith(`${sdkPath}/`) ? path.slice(sdkPath.length) : path

/** Model calls in API formats that are not read here, by the path that they go to. */
const UNREAD: readonly { readonly name: string; readonly path: RegExp }[] = [
  { name: 'Vercel AI Gateway', path: /\/v\d+\/ai\/language-model$/ },
  { name: 'Gemini Interactions', path: /\/v1(?:alpha|beta)?\d*\/interactions$/ },
  { name: 'Cohere', path: /^\/v[12]\/chat$/ },
]

/** Whose call passes by unread; undefined for what is no model call that is known. */
export function unreadCall(method: string, pathname: string): string | undefined {
  return method === 'POST' ? UNREAD.find(({ path }) => path.test(pathname))?.name : undefined
}

/**
 * Hosts of vendors, which refuse a prompt that is too long. Whatever else answers may be a server that drops the front of it without a word.
 */
const VENDOR_HOSTS =
  /(?:^|\.)(?:openai\.com|anthropic\.com|claude\.ai|googleapis\.com|azure\.com|amazonaws\.com|aliyuncs\.com|openrouter\.ai|mistral\.ai|deepseek\.com|x\.ai|groq\.com|cohere\.com|cohere\.ai|together\.ai|together\.xyz|fireworks\.ai|cerebras\.ai|perplexity\.ai|moonshot\.(?:ai|cn)|z\.ai|bigmodel\.cn|minimax(?:i)?\.(?:io|com|chat)|nvidia\.com|githubcopilot\.com|github\.ai|sambanova\.ai|deepinfra\.com|baseten\.co|vercel\.sh)$/

/** Whether a base URL is a vendor's. */
export const isVendor = (endpoint: string): boolean =>
  URL.canParse(endpoint) && VENDOR_HOSTS.test(new URL(endpoint).hostname)
