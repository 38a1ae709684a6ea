import { PlimsollError } from '../../core/errors.ts'
import { importOptional } from '../optional-package.ts'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Called for each request, because some credentials expire and are renewed. */
export type CredentialSource = () => Promise<AwsCredentials>

export interface Unsigned {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly service: string
  readonly region: string
}

/** The signer in an `Authorization` header; undefined for a key, a token, or none. */
export function signatureIn(
  authorization = '',
): { readonly accessKeyId: string; readonly region: string; readonly service: string } | undefined {
  const [, accessKeyId, region, service] = SCOPE.exec(authorization) ?? []
  return service === undefined ? undefined : { accessKeyId: accessKeyId!, region: region!, service }
}

const SCOPE = /^AWS4-HMAC-SHA256 +Credential=([^/,\s]+)\/\d{8}\/([a-z0-9-]+)\/([a-z0-9-]+)\//

/** Headers of an earlier signature. */
const SIGNED = ['authorization', 'x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256', 'host']

/** A request's headers with a signature over exactly this request, which replaces an earlier one. */
export async function signed(
  request: Unsigned,
  source: CredentialSource = credentialChain,
): Promise<Record<string, string>> {
  const { method, url, body, service, region } = request
  const { AwsV4Signer } = await importOptional<typeof import('aws4fetch')>('aws4fetch', NEEDED_FOR)
  const { accessKeyId, secretAccessKey, sessionToken } = await source()
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !SIGNED.includes(name)))
  const signer = new AwsV4Signer({
    accessKeyId,
    secretAccessKey,
    sessionToken,
    method,
    url: url.href,
    headers,
    body: body as Uint8Array<ArrayBuffer>,
    service,
    region,
  })
  // The host is part of the signature, and is set by the client that sends the request.
  const { host: _host, ...own } = Object.fromEntries((await signer.sign()).headers)
  return own
}

/** The optional package for the credential chain beyond the environment. */
const CHAIN = '@aws-sdk/credential-provider-node'
const NEEDED_FOR = 'Signing requests for AWS'

let chain: CredentialSource | undefined

/** The standard chain: environment, shared files, single sign-on, roles of containers and machines. */
export async function credentialChain(): Promise<AwsCredentials> {
  try {
    chain ??= await importOptional<{ defaultProvider(): CredentialSource }>(CHAIN, NEEDED_FOR).then(
      ({ defaultProvider }) => defaultProvider(),
      (missing: unknown) => () => fromEnvironment(missing),
    )
    return await chain()
  } catch (cause) {
    if (cause instanceof PlimsollError) throw cause
    throw new PlimsollError('bad-config', `AWS gives no credentials to sign with: ${(cause as Error).message}`, {
      advice: 'Run `aws sso login` or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or send an API key.',
      cause,
    })
  }
}

/** Credentials from the environment, which are all that is read without the package; a profile would have priority. */
async function fromEnvironment(missing: unknown): Promise<AwsCredentials> {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_PROFILE: profile } = process.env
  if (!accessKeyId || !secretAccessKey || profile) throw missing
  return { accessKeyId, secretAccessKey, sessionToken: process.env['AWS_SESSION_TOKEN'] || undefined }
}
