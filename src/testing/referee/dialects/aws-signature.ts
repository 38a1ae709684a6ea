import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Failure, RefereeRequest } from '../types.ts'

const sha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, *SignedHeaders=([^,]+), *Signature=([0-9a-f]{64})$/

/** Why a request's signature (AWS's version 4) does not hold; undefined when it does. */
function flawIn(
  { method, path, headers, body }: RefereeRequest,
  accessKeys: Readonly<Record<string, string>>,
): string | undefined {
  const [, id = '', day = '', region = '', service = '', names = '', given = ''] =
    AUTHORIZATION.exec(headers['authorization'] ?? '') ?? []
  const secret = accessKeys[id]
  if (secret === undefined) return 'The security token included in the request is invalid.'
  const time = headers['x-amz-date'] ?? ''
  const signedNames = names.split(';')
  if (!signedNames.includes('host') || !time.startsWith(day)) return 'The request signature is not complete.'
  const [pathname = '', query = ''] = path.split('?')
  const parameters = [...new URLSearchParams(query)].map(([name, value]) => `${escaped(name)}=${escaped(value)}`).sort()
  const canonical = [
    method,
    // The path as it travels, escaped once more.
    pathname.split('/').map(escaped).join('/'),
    parameters.join('&'),
    ...signedNames.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    names,
    sha256(body),
  ].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(
    (key, part) => hmac(key, part),
    `AWS4${secret}`,
  )
  const wanted = hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n'))
  return timingSafeEqual(wanted, Buffer.from(given, 'hex'))
    ? undefined
    : 'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.'
}

/** A key as a bearer token, or a signature. */
export function authoriseAws(
  request: RefereeRequest,
  apiKey: string | undefined,
  accessKeys: Readonly<Record<string, string>> = {},
): Failure | undefined {
  const refused = (message: string): Failure => ({ kind: 'auth', status: 403, message })
  const { authorization } = request.headers
  if (authorization === undefined) return refused('Missing Authentication Token')
  const bearer = /^Bearer (.+)$/.exec(authorization)?.[1]
  if (bearer !== undefined)
    return apiKey === undefined || bearer === apiKey
      ? undefined
      : refused('Authentication failed: Please make sure your API Key is valid.')
  const flaw = flawIn(request, accessKeys)
  return flaw === undefined ? undefined : refused(flaw)
}
