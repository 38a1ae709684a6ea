import { describe, expect, it } from 'vitest'
import { accountFault } from '../../../src/engine/epoch/summary/summary-writer.ts'
import { said, step, user } from './items.ts'

const HISTORY = [
  user('The login page loses its session after a redirect. Find out why.'),
  ...step('read', { path: 'src/auth/session-store.ts' }, 'export function restoreSession(token) {}'),
  said('`restoreSession` in src/auth/session-store.ts drops the token when `SameSite` is Strict.'),
  said('The recording of it is on YouTube.'),
  ...step('bash', { command: 'npm test' }, 'FAIL E1042 redirect drops cookie\nexit code 1'),
]

describe('a model’s account', () => {
  it.each([
    ['names what happened', 'Finding: restoreSession in src/auth/session-store.ts drops the token (E1042).'],
    ['shortens a path', 'See auth/session-store.ts; next: set SameSite to Lax.'],
    ['is in another language', 'Befund: restoreSession verwirft das Token. Nächster Schritt: Test erneut starten.'],
    ['has no names but speaks of the request', 'The login page still loses its session; nothing was decided.'],
    ['is one short sentence', 'Tests still fail: the redirect drops the cookie.'],
    [
      'is in another language and names nothing',
      'Der Login verliert die Session beim Redirect; der Test ist noch rot.',
    ],
    [
      'is long, in another language, and names several things',
      'Auftrag: herausfinden, warum die Anmeldung nach einer Weiterleitung verloren geht. Befund: restoreSession in src/auth/session-store.ts verwirft den Wert, sobald SameSite streng eingestellt ist. Entscheidung: noch keine getroffen. Stand: Prüfungen schlagen weiterhin fehl, E1042. Nächster Schritt: Einstellung lockern, danach erneut prüfen.',
    ],
    [
      'has headings in capitals, products and common compounds',
      'INTENT: keep the login session. FINDINGS: cookie dropped on redirect (see GitHub, end-to-end, read/write/run). DECISIONS: none. NEXT STEP: rerun on 2026-11-16, 1200 ms.',
    ],
    [
      'names what the next step makes out of what was spoken of',
      'The redirect loses the token. Next step: src/auth/redirect-cookie.ts with dropCookie, restoreRedirect and sessionToken.',
    ],
  ])('that %s is taken', (_, account) => {
    expect(accountFault(account, HISTORY)).toBeUndefined()
  })

  it.each([
    ['speaks of something else', 'Bananas are yellow.', /names nothing of what happened/],
    ['speaks of something else in another language', 'Bananen sind gelb und krumm.', /names nothing of what happened/],
    [
      'speaks of something else at length',
      'The Amazon rainforest covers most of the basin of the river, which belongs to nine nations. Brazil holds the largest part of it, with sixty percent of the forest, followed by Peru and Colombia. It represents over half of the remaining tropical woods on the planet, and comprises the most diverse tract of trees in the world.',
      /names nothing of what happened/,
    ],
    [
      'names what never occurred',
      'Changed src/db/pool.ts, src/db/migrate.ts and src/cache/redis_client.ts; see restoreSession.',
      /does not occur.*src\/db\/pool\.ts/,
    ],
    [
      'speaks of something else at length with one name of the conversation in it',
      'The Amazon rainforest covers most of the basin of the river, as a film on YouTube shows, which belongs to nine nations. Brazil holds the largest part of it, with sixty percent of the forest, followed by Peru and Colombia. It represents over half of the remaining tropical woods on the planet.',
      /names nothing of what happened/,
    ],
  ])('that %s is not', (_, account, reason) => {
    expect(accountFault(account, HISTORY)).toMatch(reason)
  })
})

describe('an account in a script without spaces', () => {
  const history = [user('登录页面在重定向后丢失会话，请找出原因。'), said('会话在重定向时被丢弃，因为令牌没有保存。')]

  it('is taken when it speaks of the request', () => {
    expect(accountFault('登录会话在重定向后丢失；令牌需要保存。', history)).toBeUndefined()
  })

  it('is not when it speaks of something else', () => {
    expect(accountFault('香蕉是黄色的。', history)).toBe('it speaks of something else')
  })
})
