/** Context managers as simple as they come: yardsticks for the engine, and independent of it. */

/** A message as the managers see it. */
export interface Message {
  readonly index: number
  readonly texts: readonly string[]
  readonly tokens: number
  readonly isResult: boolean
  /** The same message with its results cleared. */
  readonly cleared: { readonly texts: readonly string[]; readonly tokens: number }
}

/** What a manager sends for one call: messages, each whole or cleared. */
export type View = readonly { readonly message: Message; readonly isCleared: boolean }[]

export interface Manager {
  readonly name: string
  /** Begins a session. The function gets the whole history at each call. */
  start(window: number): (history: readonly Message[]) => View
}

export const tokensOf = (view: View): number =>
  view.reduce((sum, { message, isCleared }) => sum + (isCleared ? message.cleared.tokens : message.tokens), 0)

const whole = (messages: readonly Message[]): View => messages.map((message) => ({ message, isCleared: false }))

/** The newest messages that fit, from a place where no result loses its call; at least the newest exchange. */
function newestThatFit(history: readonly Message[], budget: number): readonly Message[] {
  let from = history.length
  let tokens = 0
  while (from > 0 && tokens + (history[from - 1] as Message).tokens <= budget) {
    from--
    tokens += (history[from] as Message).tokens
  }
  while (from < history.length && (history[from] as Message).isResult) from++
  // Nothing fits: the open exchange goes out all the same and counts as an overflow.
  if (from === history.length) {
    from = history.length - 1
    while (from > 0 && (history[from] as Message).isResult) from--
  }
  return history.slice(from)
}

const lastThatFit: Manager = {
  name: 'last messages that fit',
  start: (window) => (history) => whole(newestThatFit(history, window)),
}

const clearOldResults: Manager = {
  name: 'clear old tool results when over',
  start: (window) => (history) => {
    let tokens = history.reduce((sum, message) => sum + message.tokens, 0)
    const newest = history.length - 1
    return history.map((message) => {
      const isCleared = tokens > window && message.isResult && message.index < newest
      if (isCleared) tokens -= message.tokens - message.cleared.tokens
      return { message, isCleared }
    })
  },
}

const firstAndLast: Manager = {
  name: 'first + last, cut to 50 % when full',
  start: (window) => {
    let from = 0
    return (history) => {
      const first = history[0] as Message
      const view = () => whole(from === 0 ? history : [first, ...history.slice(from)])
      if (tokensOf(view()) <= window) return view()
      from = (newestThatFit(history, window / 2 - first.tokens)[0] as Message).index
      return view()
    }
  },
}

const clearByValue: Manager = {
  name: 'clear by value down to 50 %, sticky',
  start: (window) => {
    const cleared = new Set<number>()
    let from = 0
    return (history) => {
      const first = history[0] as Message
      const view = (): View =>
        (from === 0 ? history : [first, ...history.slice(from)]).map((message) => ({
          message,
          isCleared: cleared.has(message.index),
        }))
      if (tokensOf(view()) <= window) return view()
      // Large and old results are worth least per token.
      const worthless = (message: Message) => message.tokens * (history.length - message.index)
      const candidates = history
        .filter((message) => message.isResult && message.index < history.length - 1 && !cleared.has(message.index))
        .toSorted((a, b) => worthless(b) - worthless(a))
      for (const message of candidates) {
        if (tokensOf(view()) <= window / 2) break
        cleared.add(message.index)
      }
      if (tokensOf(view()) <= window) return view()
      const shrunk = history.map((message) =>
        cleared.has(message.index) ? { ...message, tokens: message.cleared.tokens } : message,
      )
      from = (newestThatFit(shrunk, window / 2 - first.tokens)[0] as Message).index
      return view()
    }
  },
}

export const MANAGERS: readonly Manager[] = [
  { name: 'send everything', start: () => whole },
  lastThatFit,
  clearOldResults,
  firstAndLast,
  clearByValue,
]
