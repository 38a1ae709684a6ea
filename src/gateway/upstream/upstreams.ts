import type { UpstreamConfig, Upstreams } from '../../settings/settings.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { HeaderReader } from '../identity.ts'
import { endpointAtRoot } from '../../formats/endpoints.ts'
import type { Upstream } from '../types.ts'

/** A upstream with what only the shell needs to know about it. */
export interface ProxyUpstream extends Upstream {
  readonly base: URL
  readonly headers: Readonly<Record<string, string>>
}

export interface UpstreamTable {
  readonly prefixes: readonly string[]
  /** Where a request goes, and its path there; undefined when no upstream is meant. */
  resolve(
    path: string,
    header: HeaderReader,
  ): { readonly upstreams: readonly ProxyUpstream[]; readonly path: string } | undefined
}

/** @throws PlimsollError `bad-config` for what is no http(s) URL. */
export function upstreamTable(upstreams: Upstreams): UpstreamTable {
  const table = new Map<string, readonly ProxyUpstream[]>()
  for (const [prefix, given] of Object.entries(upstreams)) {
    const list = (Array.isArray(given) ? given : [given]) as readonly (string | UpstreamConfig)[]
    if (list.length > 0)
      table.set(
        prefix,
        list.map((one) => readUpstream(prefix, one)),
      )
  }
  return {
    prefixes: [...table.keys()],
    resolve(path, header) {
      const [, first = '', rest = ''] = /^\/([^/?]*)(.*)$/s.exec(path) ?? []
      const named = table.get(first)
      if (named !== undefined) return { upstreams: named, path: rest.startsWith('/') ? rest : `/${rest}` }
      const meant = table.get(endpointAtRoot(path, header)?.name ?? '')
      return meant === undefined ? undefined : { upstreams: meant, path }
    },
  }
}

/**
 * The first upstream that takes the client's bytes as they are.
 * @throws PlimsollError `unsupported` when all of them speak another wire.
 */
export function ownUpstream<P extends Upstream>(upstreams: readonly P[], wire: string | undefined): P {
  const own = upstreams.find((upstream) => upstream.wire === undefined || upstream.wire === wire)
  if (own !== undefined) return own
  throw new PlimsollError(
    'unsupported',
    'Every upstream of this route uses another API format; only model calls can be converted.',
  )
}

function readUpstream(provider: string, given: string | UpstreamConfig): ProxyUpstream {
  const { url, model, window, wire, headers = {} } = typeof given === 'string' ? { url: given } : given
  let base: URL
  try {
    base = new URL(url)
  } catch (cause) {
    throw new PlimsollError('bad-config', `The upstream ${JSON.stringify(url)} of ${provider} is not a URL.`, {
      advice: 'Use an address such as http://127.0.0.1:8080.',
      cause,
    })
  }
  if (base.protocol !== 'http:' && base.protocol !== 'https:') {
    throw new PlimsollError(
      'bad-config',
      `The upstream ${JSON.stringify(url)} of ${provider} is not an http or https address.`,
    )
  }
  if (wire !== undefined && model === undefined) {
    throw new PlimsollError(
      'bad-config',
      `The upstream ${url} has the API format ${wire} and needs a model of its own.`,
      {
        advice: 'Add model to it.',
      },
    )
  }
  return {
    endpoint: base.origin + base.pathname.replace(/\/+$/, ''),
    base,
    provider,
    headers,
    model,
    window,
    wire,
  }
}

/**
 * The URL to call. A base that ends in the version (`…/v1`) takes a path that begins with it.
 * @throws PlimsollError `bad-input` when dots in the path lead out of the configured base.
 */
export function upstreamUrl({ base }: ProxyUpstream, path: string): URL {
  const root = base.pathname.replace(/\/+$/, '')
  const version = /\/v\d+[a-z]*$/.exec(root)?.[0]
  const repeated = version !== undefined && (path === version || path.startsWith(`${version}/`))
  const url = new URL(base.origin + root + (repeated ? path.slice(version.length) : path))
  if (url.origin !== base.origin || !(url.pathname === root || url.pathname.startsWith(`${root}/`))) {
    throw new PlimsollError('bad-input', 'The path leads out of the configured upstream.')
  }
  return url
}
