import type { Routes } from '../wire/routes.ts'

export const routes: Routes = {
  match: (pathname) => (pathname.endsWith('/api/chat') ? { action: 'generate' } : undefined),
  path: () => '/api/chat',
  // The server has no route that counts; this is how it names a prompt's tokens in its answers.
  counted: (prompt_eval_count) => ({ prompt_eval_count }),
}
