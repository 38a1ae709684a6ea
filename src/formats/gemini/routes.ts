import { decodedPart, type Routes } from '../wire/routes.ts'

const METHOD = /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/

export const routes: Routes = {
  match(pathname, query) {
    const [, model, method] = METHOD.exec(pathname) ?? []
    if (model === undefined) return undefined
    return {
      action: method === 'countTokens' ? 'count' : 'generate',
      model: decodedPart(model),
      ...(method === 'streamGenerateContent' && {
        stream: new URLSearchParams(query).get('alt') === 'sse' ? 'events' : 'json-array',
      }),
    }
  },
  path: (model, stream) =>
    `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  counted: (totalTokens) => ({ totalTokens }),
}
