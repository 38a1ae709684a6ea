import type { Headers } from '../read-answer.ts'

/** `off`: not looked at. `observe`: reported and left alone. A name: that policy. */
export const POLICY_HEADER = 'x-plimsoll-policy'

/** What compactions are for, over the settings. */
export const AIM_HEADER = 'x-plimsoll-aim'

/** Headers that belong to one connection, or to the body as it came, and are never passed on. */
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

/** Names that a `Connection` header says are for this connection only. */
const namedIn = ({ connection = '' }: Headers): readonly string[] =>
  String(connection)
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())

/** A client's headers as they go to the upstream, with changes. What is addressed to us, or to this connection, stays here. */
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

/** Undefined takes a header out. */
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

/** Headers by which a server lets pages of others read it. Which pages may read us is ours to say. */
const isAboutOrigins = (name: string): boolean =>
  name.startsWith('access-control-') || name === 'timing-allow-origin' || name === 'cross-origin-resource-policy'

/** An upstream's headers as they go to the client, with ours. It cannot speak in our name. */
export function toClient(headers: Headers, own: Headers = {}): Record<string, string | readonly string[]> {
  const out: Record<string, string | readonly string[]> = {}
  const connection = namedIn(headers)
  for (const [name, value] of Object.entries(headers)) {
    const isOurs = CONNECTION_ONLY.has(name) || name.startsWith('x-plimsoll-') || connection.includes(name)
    if (value !== undefined && !isOurs && !isAboutOrigins(name)) out[name] = value
  }
  return changed(out, own)
}
