import {
  FACE_ARGUMENTS,
  LEDGER_ARGUMENTS,
  LEDGER_READS,
  LIMITS_ARGUMENTS,
  PREPARE,
  RECORD,
  SESSION,
  SESSION_ARGUMENTS,
  TOOL_RESULT,
} from '../../settings/session-shapes.ts'
import { checkArguments, checkGiven } from '../../core/given.ts'
import type { Session, SessionOptions } from '../../engine/session/session.ts'
import type { Plimsoll } from '../../options.ts'
import { checkedFace } from './checked-face.ts'

export { checkOptions } from '../named-policies.ts'

/** The same for what a Plimsoll does itself. */
export const checkedPlimsoll = (plimsoll: Plimsoll): Plimsoll => ({
  ...checkedFace(plimsoll, FACE_ARGUMENTS, ['tools', 'on']),
  limits: checkedFace(plimsoll.limits, LIMITS_ARGUMENTS),
  ledger: checkedFace(plimsoll.ledger, LEDGER_ARGUMENTS, LEDGER_READS),
})

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
    ...checkedFace(session, SESSION_ARGUMENTS),
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
    async fork(id) {
      checkArguments([id], SESSION_ARGUMENTS.fork, 'fork()')
      return checked(await session.fork(id))
    },
  }
  CHECKED.set(session, own)
  return own
}
