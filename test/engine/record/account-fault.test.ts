import { describe, expect, it } from 'vitest'
import { accountFault } from '../../../src/engine/epoch/summary/account-fault.ts'
import { said, step, user } from './items.ts'

const HISTORY = [
  user('The login page loses its session after a redirect. Find out why.'),
  ...step('read', { path: 'src/auth/session-store.ts' }, 'export function restoreSession(token) {}'),
  said('`restoreSession` in src/auth/session-store.ts drops the token when `SameSite` is Strict.'),
  ...step('bash', { command: 'npm test' }, 'FAIL E1042 redirect drops cookie\nexit code 1'),
]

describe('a model’s account', () => {
  it.each([
    ['names what happened', 'Finding: restoreSession in src/auth/session-store.ts drops the token (E1042).'],
    ['shortens a path', 'See auth/session-store.ts; next: set SameSite to Lax.'],
    ['is in another language', 'Befund: restoreSession verwirft das Token. Nächster Schritt: Test erneut starten.'],
    ['has no names but speaks of the request', 'The login page still loses its session; nothing was decided.'],
  ])('that %s is taken', (_, account) => {
    expect(accountFault(account, HISTORY)).toBeUndefined()
  })

  it.each([
    ['speaks of something else', 'Bananas are yellow.', /names nothing of what happened/],
    [
      'names what never occurred',
      'Changed src/db/pool.ts, src/db/migrate.ts and src/cache/redis_client.ts; see restoreSession.',
      /does not occur.*src\/db\/pool\.ts/,
    ],
  ])('that %s is not', (_, account, reason) => {
    expect(accountFault(account, HISTORY)).toMatch(reason)
  })
})
