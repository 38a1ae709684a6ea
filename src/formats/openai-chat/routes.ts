import { decodedPart, type Routes } from '../wire/routes.ts'

const AZURE_DEPLOYMENT = /\/deployments\/([^/]+)\/chat\/completions$/

export const routes: Routes = {
  match(pathname) {
    if (!pathname.endsWith('/chat/completions')) return undefined
    const deployment = AZURE_DEPLOYMENT.exec(pathname)?.[1]
    return { action: 'generate', ...(deployment !== undefined && { model: decodedPart(deployment) }) }
  },
  path: () => '/v1/chat/completions',
  // The vendor has no route that counts; this is how its other wire answers.
  counted: (input_tokens) => ({ input_tokens }),
}
