import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

/** A request of a socket as the fetch API knows it; its signal fires when the client leaves before its answer is out. */
export function requestOf(incoming: IncomingMessage, response: ServerResponse, path: string): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers))
    for (const each of Array.isArray(value) ? value : [value ?? '']) headers.append(name, each)
  const left = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) left.abort(new DOMException('The client closed the connection.', 'AbortError'))
  })
  const method = incoming.method ?? 'GET'
  const body =
    method === 'GET' || method === 'HEAD'
      ? {}
      : { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' as const }
  return new Request(new URL(path, 'http://mcp'), { method, headers, signal: left.signal, ...body })
}

/** Writes an answer out as fast as the client reads it. */
export async function sendResponse(response: ServerResponse, { status, headers, body }: Response): Promise<void> {
  for (const [name, value] of headers) response.setHeader(name, value)
  response.writeHead(status)
  if (body === null) return void response.end()
  response.flushHeaders()
  const reader = body.getReader()
  response.once('close', () => void reader.cancel().catch(() => undefined))
  for (;;) {
    const { done, value } = await reader.read()
    if (done || response.destroyed) break
    if (!response.write(value)) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve))
  }
  response.end()
}
