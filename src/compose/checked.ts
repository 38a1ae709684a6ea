import { PREPARE, RECORD, SESSION, SESSION_ARGUMENTS, TOOL_RESULT } from '../config/session-shapes.ts'
import { checkArguments, checkGiven, type Argument } from '../core/given.ts'
import type { Session, SessionOptions } from '../engine/session/session.ts'

export { checkOptions } from './named-policies.ts'

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

type Face = Readonly<Record<string, unknown>>

/** The same object, whose functions check their arguments first. They give promises and refuse in them, but for those that are `atOnce`. */
export function checkedFace<T extends object>(
  face: T,
  wanted: { readonly [name in keyof T]?: readonly Argument[] },
  atOnce: readonly (keyof T)[] = [],
): T {
  const guarded = Object.entries(wanted).map(([name, args]): [string, unknown] => {
    const run = (face as Face)[name] as (...given: unknown[]) => unknown
    return [
      name,
      (...given: unknown[]) => {
        try {
          checkArguments(given, args as readonly Argument[], `${name}()`)
        } catch (error) {
          if ((atOnce as readonly string[]).includes(name)) throw error
          return Promise.reject(error as Error)
        }
        return run(...given)
      },
    ]
  })
  return { ...face, ...Object.fromEntries(guarded) }
}
