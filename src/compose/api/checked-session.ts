import { PREPARE, RECORD, SESSION, TOOL_RESULT } from '../../config/session-shapes.ts'
import { checkGiven } from '../../core/given.ts'
import type { Session, SessionOptions } from '../../engine/session/session.ts'

export { checkOptions } from '../named-policies.ts'

/** Programs hold a session and compare it: one checked one for each. */
const CHECKED = new WeakMap<Session, Session>()

/** A session as a program gets it: what it is given is checked first. The gateway, whose requests are its own, does without. */
export function checkedSession(wanted: SessionOptions, open: (wanted: SessionOptions) => Session): Session {
  checkGiven(wanted, SESSION, 'session()', 'bad-input')
  return checked(open(wanted))
}

function checked(session: Session): Session {
  const known = CHECKED.get(session)
  if (known !== undefined) return known
  const own: Session = {
    ...session,
    async toolResult(request) {
      checkGiven(request, TOOL_RESULT, 'toolResult()', 'bad-input')
      return session.toolResult(request)
    },
    async prepare(request) {
      checkGiven(request, PREPARE, 'prepare()', 'bad-input')
      return session.prepare(request)
    },
    async record(request) {
      checkGiven(request, RECORD, 'record()', 'bad-input')
      return session.record(request)
    },
    fork: async (id) => checked(await session.fork(id)),
  }
  CHECKED.set(session, own)
  return own
}
