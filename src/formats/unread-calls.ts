import { PlimsollError } from '../core/errors.ts'

/** Model calls in API formats that are not read here, by the path that they go to. */
const UNREAD: readonly { readonly name: string; readonly path: RegExp }[] = [
  { name: 'AWS Bedrock', path: /^\/model\/[^/]+\/(?:invoke|converse)/ },
  { name: 'Vercel AI Gateway', path: /\/v\d+\/ai\/language-model$/ },
  { name: 'Cohere', path: /^\/v[12]\/chat$/ },
]

/** Whose call passes by unread; undefined for what is no model call that is known. */
export function unreadCall(method: string, pathname: string): string | undefined {
  return method === 'POST' ? UNREAD.find(({ path }) => path.test(pathname))?.name : undefined
}

/** Bedrock's own wires; Claude on Bedrock frames its stream in a binary format. */
const BEDROCK = /\/model\/[^/]+\/(converse|converse-stream|invoke|invoke-with-response-stream)$/

/** @throws PlimsollError `unsupported` for model calls of wires that we do not speak: passing them on would look like managing them. */
export function refuseUnspoken(path: string, prefixes: readonly string[]): void {
  if (!BEDROCK.test(path.split('?')[0]!)) return
  const known = prefixes.map((name) => `/${name}`)
  throw new PlimsollError('unsupported', 'Bedrock has wires of its own, which this proxy does not speak yet.', {
    advice: `Use the provider’s own API, or Vertex or Azure, through ${known.slice(0, -1).join(', ')} or ${known.at(-1)}.`,
  })
}
