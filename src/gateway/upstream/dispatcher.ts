import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import { PlimsollError } from '../../core/errors.ts'
import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici'

export interface ConnectionOptions {
  /** Until an upstream begins to answer. @default 600_000 */
  readonly upstreamTimeoutMs?: number
  /** Silence inside an answer. Models may think for minutes without a byte. @default 600_000 */
  readonly upstreamIdleMs?: number
  /** PEM file with further certificate authorities; NODE_EXTRA_CA_CERTS works as everywhere. */
  readonly caFile?: string
}

const CONNECT_TIMEOUT_MS = 10_000

/** Connections to upstreams: kept alive, through HTTPS_PROXY where that is set and NO_PROXY does not forbid it. */
export function createDispatcher(options: ConnectionOptions): Dispatcher {
  const { upstreamTimeoutMs = 600_000, upstreamIdleMs = 600_000, caFile } = options
  const settings = {
    headersTimeout: upstreamTimeoutMs,
    bodyTimeout: upstreamIdleMs,
    connections: 1_024,
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      ...(caFile !== undefined && { ca: [...rootCertificates, certificatesIn(caFile)] }),
    },
  }
  const { env } = process
  const proxied = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].some((name) => (env[name] ?? '') !== '')
  return proxied ? new EnvHttpProxyAgent(settings) : new Agent(settings)
}

function certificatesIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PlimsollError('bad-config', `The certificate file ${file} cannot be read.`, {
      advice: 'Give a PEM file with --ca-file, PLIMSOLL_CA_FILE or caFile.',
      cause,
    })
  }
}
