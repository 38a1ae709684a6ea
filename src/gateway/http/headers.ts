import type { Headers } from '../read-answer.ts'

/** `off`: the request is forwarded unread. `observe`: it is forwarded unchanged and reported. Any other value is a policy's name. */
export const POLICY_HEADER = 'x-plimsoll-policy'

/** What compactions are for, over the settings. */
export const AIM_HEADER = 'x-plimsoll-aim'

/** Headers that apply to one connection, or to the original body, and are never forwarded. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'expect',
])

/** The names in a `Connection` header, which apply to this connection only. */
const namedIn = ({ connection = '' }: Headers): readonly string[] =>
  String(connection)
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())

/** A client's headers for the upstream, with changes. Headers for us, or for this connection, are removed. */
export function toUpstream(
  own: Headers,
  changes: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const out: Record<string, string> = {}
  const connection = namedIn(own)
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined || HOP_BY_HOP.has(name) || name.startsWith('x-plimsoll-') || connection.includes(name))
      continue
    out[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return changed(out, changes)
}

/** Undefined removes a header. */
function changed<H extends Record<string, unknown>>(headers: H, changes: Headers): H {
  Object.assign(headers, changes)
  for (const [name, value] of Object.entries(changes)) if (value === undefined) delete headers[name]
  return headers
}

const CONNECTION_ONLY = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'proxy-authenticate',
  'trailer',
  'upgrade',
])

/** CORS headers. The upstream's are replaced by ours. */
const isAboutOrigins = (name: string): boolean =>
  name.startsWith('access-control-') || name === 'timing-allow-origin' || name === 'cross-origin-resource-policy'

/** An upstream's headers for the client, with ours. Headers of the upstream with our prefix are removed. */
export function toClient(headers: Headers, own: Headers = {}): Record<string, string | readonly string[]> {
  const out: Record<string, string | readonly string[]> = {}
  const connection = namedIn(headers)
  for (const [name, value] of Object.entries(headers)) {
    const isOurs = CONNECTION_ONLY.has(name) || name.startsWith('x-plimsoll-') || connection.includes(name)
    if (value !== undefined && !isOurs && !isAboutOrigins(name)) out[name] = value
  }
  return changed(out, own)
}
