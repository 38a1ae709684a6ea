import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { temporaryFolder } from './temporary.ts'

interface S3rverInstance {
  run(): Promise<{ address: string; port: number }>
  close(): Promise<void>
}

type S3rverConstructor = new (options: Record<string, unknown>) => S3rverInstance

export interface S3Server {
  readonly endpoint: string
  readonly bucket: string
  readonly credentials: { accessKeyId: string; secretAccessKey: string }
  stop(): Promise<void>
}

const CREDENTIALS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }

/**
 * s3rver from npm keeps the objects. It neither checks version 4 signatures nor holds `If-None-Match`, so a gate in front of
 * it does both, from the bytes on the wire. Throws when the server cannot be had.
 */
export async function startS3(): Promise<S3Server> {
  const S3rver = createRequire(import.meta.url)('s3rver') as S3rverConstructor
  const { folder, remove } = await temporaryFolder()
  const bucket = 'plimsoll-test'
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: folder,
    configureBuckets: [{ name: bucket }],
  })
  const { port } = await server.run()
  const gate = createServer((request, response) => {
    pass(request, response, `http://127.0.0.1:${port}`).catch((error: unknown) => {
      response.writeHead(500).end(String(error))
    })
  })
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve))
  return {
    endpoint: `http://127.0.0.1:${(gate.address() as AddressInfo).port}`,
    bucket,
    credentials: CREDENTIALS,
    async stop() {
      gate.closeAllConnections()
      await new Promise((resolve) => gate.close(resolve))
      await server.close()
      await remove()
    },
  }
}

/** Conditional writes of one key go one after the other. */
const writing = new Map<string, Promise<unknown>>()

async function pass(request: IncomingMessage, response: ServerResponse, upstream: string): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const body = Buffer.concat(parts)
  const { method = 'GET', url = '/' } = request
  if (!isSigned(request, body)) {
    response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>')
    return
  }
  const send = () =>
    fetch(upstream + url, {
      method,
      headers: request.headers.range === undefined ? {} : { range: request.headers.range },
      ...(method === 'PUT' && { body }),
    })
  const answer = async (): Promise<Response> => {
    if (request.headers['if-none-match'] !== '*') return send()
    const before = writing.get(url) ?? Promise.resolve()
    const mine = before.then(async () => {
      const there = await fetch(upstream + url, { method: 'HEAD' })
      return there.ok ? new Response('<Error><Code>PreconditionFailed</Code></Error>', { status: 412 }) : send()
    })
    writing.set(
      url,
      mine.catch(() => undefined),
    )
    return mine
  }
  const answered = await answer()
  const {
    'content-encoding': _,
    'content-length': __,
    'transfer-encoding': ___,
    connection: ____,
    ...headers
  } = Object.fromEntries(answered.headers)
  response.writeHead(answered.status, { ...headers, date: new Date().toUTCString() })
  response.end(Buffer.from(await answered.arrayBuffer()))
}

/** AWS Signature Version 4 as a server checks it: from the request line, the header lines and the body that came. */
function isSigned(request: IncomingMessage, body: Buffer): boolean {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    )
  if (match === null) return false
  const [, id, day = '', region = '', names = '', signature = ''] = match
  const stamp = String(request.headers['x-amz-date'])
  const fresh =
    Math.abs(
      Date.now() - Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')),
    ) < 900_000
  if (id !== CREDENTIALS.accessKeyId || !fresh || request.headers['x-amz-content-sha256'] !== hashOf(body)) return false
  for (const needed of ['host', 'x-amz-date', 'x-amz-content-sha256'])
    if (!names.split(';').includes(needed)) return false
  const [path = '', query = ''] = (request.url ?? '').split('?')
  const pairs = query === '' ? [] : query.split('&').map((pair) => (pair.includes('=') ? pair : `${pair}=`))
  const lines = names.split(';').map((name) => `${name}:${String(request.headers[name]).trim().replace(/ +/g, ' ')}\n`)
  const canonical = `${request.method}\n${path}\n${pairs.sort().join('&')}\n${lines.join('')}\n${names}\n${hashOf(body)}`
  const toSign = `AWS4-HMAC-SHA256\n${stamp}\n${day}/${region}/s3/aws4_request\n${hashOf(canonical)}`
  const key = sign(sign(sign(sign(`AWS4${CREDENTIALS.secretAccessKey}`, day), region), 's3'), 'aws4_request')
  return timingSafeEqual(sign(key, toSign), Buffer.from(signature, 'hex'))
}

const hashOf = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
const sign = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
