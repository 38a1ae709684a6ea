import type { SdkWire as Wire } from '../support/sdk-wires.ts'
import type { Referee, RefereeResponse, RunningReferee } from '../../src/testing/referee/index.ts'

/** Headers that every referee takes. */
export const HEADERS = {
  'x-api-key': 'k',
  authorization: 'Bearer k',
  'x-goog-api-key': 'k',
  'anthropic-version': '2023-06-01',
}

export const WIRES: readonly Wire[] = ['anthropic-messages', 'openai-chat', 'openai-responses', 'gemini']

/** The smallest body each wire takes, with a text of the given length. */
export function bodyOf(wire: Wire, text = 'Go', stream = false): object {
  const common = stream ? { stream: true } : {}
  switch (wire) {
    case 'anthropic-messages':
      return { model: 'claude-sonnet-4-6', max_tokens: 50, messages: [{ role: 'user', content: text }], ...common }
    case 'openai-chat':
      return { model: 'gpt-4.1', messages: [{ role: 'user', content: text }], ...common }
    case 'openai-responses':
      return { model: 'gpt-5.2', input: text, ...common }
    case 'gemini':
      return { contents: [{ role: 'user', parts: [{ text }] }] }
  }
}

export function pathOf(wire: Wire, stream = false): string {
  switch (wire) {
    case 'anthropic-messages':
      return '/v1/messages'
    case 'openai-chat':
      return '/v1/chat/completions'
    case 'openai-responses':
      return '/v1/responses'
    case 'gemini':
      return `/v1beta/models/gemini-2.5-pro:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
  }
}

export async function textOf(response: RefereeResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Posts a body to a referee in process and reads the whole answer. */
export async function post(
  referee: Referee,
  body: object | string,
  options: { stream?: boolean; headers?: object } = {},
) {
  const { stream = false, headers = {} } = options
  const raw = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const path = pathOf(referee.wire as Wire, stream)
  const response = await referee.handle({ method: 'POST', path, headers: { ...HEADERS, ...headers }, body: raw })
  return { status: response.status, headers: response.headers, text: await textOf(response) }
}

/** The same over the socket. */
export const postHttp = (
  referee: RunningReferee,
  body: object,
  init: RequestInit = {},
  stream = false,
): Promise<Response> =>
  fetch(referee.url + pathOf(referee.wire as Wire, stream), {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify(body),
    ...init,
  })
