import { wires } from './wires.ts'
import { routeOf } from './routes.ts'
import type { Endpoint, HeaderReader } from './wire/endpoint.ts'
import type { Wire } from './wire/wire.ts'

export type { Endpoint, HeaderReader } from './wire/endpoint.ts'

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
  if (route !== undefined) return wires.find(({ id }) => id === route.wire)!.endpoint
  return endpoints.find((endpoint) => endpoint.ownsPath(path, header))
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
