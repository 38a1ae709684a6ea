/** Managers that are no packages: none at all, and the published rules of two agents, written anew from their description. */
import type { Chat } from './chat.ts'
import type { Manager, Terms } from './manager.ts'

const sum = (terms: Terms, messages: readonly Chat[]): number =>
  messages.reduce((total, message) => total + terms.count(message), 0)

export const none: Manager = {
  name: 'no management',
  setup: 'the whole history with every call',
  start: () => async (history) => history,
}

/** A place where no result is parted from its call. */
function legalFrom(history: readonly Chat[], from: number): number {
  let at = from
  while (at < history.length && history[at]!.role === 'tool') at++
  return at
}

/** The first exchange stays, with its results; of the rest, half goes, or three quarters when that is not enough. */
export const cline: Manager = {
  name: 'Cline’s rule',
  setup: 'keep the first exchange, drop half of the rest when full, three quarters when half does not suffice',
  start: (terms) => {
    let from = 0
    return async (history) => {
      const opening = legalFrom(history, 2)
      const view = (): readonly Chat[] =>
        from === 0 ? history : [...history.slice(0, opening), ...history.slice(from)]
      if (sum(terms, view()) <= terms.limit) return view()
      const start = Math.max(opening, from)
      const isFarOver = sum(terms, view()) / 2 > terms.limit
      const share = isFarOver ? 3 / 4 : 1 / 2
      from = legalFrom(history, start + Math.floor((history.length - start) * share))
      return view()
    }
  },
}

const PI_KEEPS = 20_000

/** Messages from the end until 20,000 tokens are kept, cut at a user or assistant message; a model sums up the rest. */
export const pi: Manager = {
  name: 'pi’s rule',
  setup: 'keep the newest 20,000 tokens (half of smaller windows), a summary by a model for the rest',
  start: (terms) => {
    let from = 0
    let summary: Chat | undefined
    return async (history) => {
      const view = (): readonly Chat[] => (summary === undefined ? history : [summary, ...history.slice(from)])
      if (sum(terms, view()) <= terms.limit) return view()
      const keep = Math.min(PI_KEEPS, terms.limit / 2)
      let at = history.length
      let kept = 0
      while (at > from && kept + terms.count(history[at - 1]!) <= keep) kept += terms.count(history[--at]!)
      const cut = legalFrom(history, Math.min(at, history.length - 1))
      const told = [...(summary === undefined ? [] : [summary]), ...history.slice(from, cut)]
      const text = terms.summarize(told.map(({ role, text: said }) => `[${role}] ${said}`).join('\n'))
      summary = { role: 'user', text: `The conversation so far, summarized:\n${text}`, calls: [] }
      from = cut
      return view()
    }
  },
}
