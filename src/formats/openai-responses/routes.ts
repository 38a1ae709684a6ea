import type { Routes } from '../wire/routes.ts'

export const routes: Routes = {
  match(pathname) {
    if (pathname.endsWith('/responses/input_tokens')) return { action: 'count' }
    return pathname.endsWith('/responses') ? { action: 'generate' } : undefined
  },
  path: () => '/v1/responses',
  counted: (input_tokens) => ({ object: 'response.input_tokens', input_tokens }),
}
