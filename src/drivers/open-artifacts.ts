import { PlimsollError } from '../core/errors.ts'
import type { ArtifactStore } from '../ports/artifact-store.ts'
import type { Clock } from '../ports/clock.ts'
import { fileArtifacts } from './artifacts/file.ts'
import { memoryArtifacts } from './artifacts/memory.ts'
import { postgresArtifacts } from './artifacts/postgres.ts'
import { s3Artifacts } from './artifacts/s3/index.ts'
import { aesSeal, keyFromEnvironment } from './crypto/seal.ts'
import { aesByteSeal } from './crypto/byte-seal.ts'
import { schemaOf, storeSchemeOf, withoutPassword } from './open-store.ts'

export interface OpenArtifactsOptions {
  /** Key of the handles, e.g. from `storeSecret`. */
  secret: Uint8Array
  /** Encryption at rest, in files, Postgres and S3. @default PLIMSOLL_KEY or PLIMSOLL_KEY_FILE, else none */
  encryptionKey?: Uint8Array
  quotaBytes?: number
  clock?: Clock
  /** Where the credentials of S3 are found: `AWS_ACCESS_KEY_ID` and so on. @default process.env */
  environment?: Readonly<Record<string, string | undefined>>
}

/** `memory:`, `file:./artifacts`, `postgres://user@host/database`, `s3://bucket/prefix?region=…&endpoint=…`. */
export function openArtifacts(url: string, options: OpenArtifactsOptions): ArtifactStore {
  const { environment = process.env, encryptionKey = keyFromEnvironment(environment), ...common } = options
  const scheme = url.slice(0, url.indexOf(':'))
  const rest = url.slice(scheme.length + 1)
  const seals = encryptionKey && { bytes: aesByteSeal(encryptionKey), text: aesSeal(encryptionKey) }
  if (scheme === 'memory' && rest === '') return memoryArtifacts(common)
  if (scheme === 'file' && rest !== '') {
    return fileArtifacts({ ...common, seals, directory: rest.replace(/^\/\/(?=\/|\.)/, '') })
  }
  if (scheme === 'postgres' || scheme === 'postgresql') return postgresArtifacts({ ...common, seals, ...schemaOf(url) })
  if (scheme === 's3') return s3Artifacts({ ...common, seals, ...bucketOf(url, environment) })
  throw new PlimsollError(
    'bad-config',
    `There is no artifact store for the address ${JSON.stringify(withoutPassword(url))}.`,
    {
      advice: 'Use memory:, file:./artifacts, postgres://user@host/database or s3://bucket/prefix.',
    },
  )
}

function bucketOf(url: string, environment: Readonly<Record<string, string | undefined>>) {
  const { hostname: bucket, pathname, searchParams } = new URL(url)
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = environment
  if (bucket === '' || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new PlimsollError('bad-config', 'Artifacts in S3 need a bucket, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.')
  }
  const region = searchParams.get('region') ?? environment['AWS_REGION'] ?? environment['AWS_DEFAULT_REGION']
  const endpoint = searchParams.get('endpoint') ?? environment['AWS_ENDPOINT_URL_S3'] ?? environment['AWS_ENDPOINT_URL']
  const prefix = pathname.replace(/^\/+|\/+$/g, '')
  return {
    bucket,
    prefix: prefix === '' ? '' : `${prefix}/`,
    region,
    endpoint,
    credentials: { accessKeyId, secretAccessKey, sessionToken },
  }
}

/** Artifacts live beside the session store unless told otherwise. */
export const artifactsBeside = (store: string): string => storeSchemeOf(store).artifacts(store)
