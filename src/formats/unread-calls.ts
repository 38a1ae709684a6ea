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
