/** Context managers as simple as they come: yardsticks for the engine, and independent of it. */

/** Something that a manager sends: a message, or one of its own making. Equal ids are equal bytes. */
export interface Shown {
  readonly id: string
  readonly texts: readonly string[]
  readonly tokens: number
}

/** A message as the managers see it. */
export interface Message {
  readonly index: number
  readonly tokens: number
  readonly isResult: boolean
  readonly parts: readonly { readonly kind: string; readonly text: string; readonly tool: string }[]
  readonly whole: Shown
  /** The same message with its results cleared. */
  readonly cleared: Shown
}

/** What a manager sends for one call. */
export type View = readonly Shown[]

export interface Manager {
  readonly name: string
  /** Begins a session. The function gets the whole history at each call. */
  start(window: number, count: (text: string) => number): (history: readonly Message[]) => View
}

export const tokensOf = (view: View): number => view.reduce((sum, { tokens }) => sum + tokens, 0)

const whole = (messages: readonly Message[]): View => messages.map((message) => message.whole)

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
      return isCleared ? message.cleared : message.whole
    })
  },
}

export const firstAndLast: Manager = {
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
        (from === 0 ? history : [first, ...history.slice(from)]).map((message) =>
          cleared.has(message.index) ? message.cleared : message.whole,
        )
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

const CALL_CHARACTERS = 120
const EDITS = /edit|write|patch|replace|create/i

/**
 * The yardstick of the record: the first message, everything that was said, one line for each call, then the newest edits and results whole
 * while there is room, and the newest messages as they are. Whatever the engine does beyond it has to earn its place.
 */
export const proseAndNewest: Manager = {
  name: 'prose, call lines, newest results, 60 %',
  start: (window, count) => {
    let from = 0
    let record: Shown | undefined
    return (history) => {
      const first = history[0] as Message
      const view = (): View =>
        record === undefined ? whole(history) : [first.whole, record, ...whole(history.slice(from))]
      if (tokensOf(view()) <= window) return view()
      const low = 0.6 * window - first.tokens
      from = (newestThatFit(history, 0.15 * window)[0] as Message).index
      const folded = history.slice(1, from).flatMap(({ parts }) => parts)
      const tail = history.slice(from).reduce((sum, { tokens }) => sum + tokens, 0)
      record = recordOf(folded, low - tail, count, from)
      return view()
    }
  },
}

function recordOf(parts: Message['parts'], budget: number, count: (text: string) => number, id: number): Shown {
  const lines = parts.map(({ kind, text, tool }) => {
    if (kind === 'call') return `» ${tool} ${text.trim().replaceAll('\n', ' ').slice(0, CALL_CHARACTERS)}`
    return kind === 'user' || kind === 'assistant' ? text : ''
  })
  let left = budget - lines.reduce((sum, line) => sum + count(line), 0)
  for (let i = parts.length - 1; i >= 0; i--) {
    const { kind, text, tool } = parts[i]!
    if (kind !== 'result' && !(kind === 'call' && EDITS.test(tool))) continue
    const tokens = count(text)
    if (tokens > left) continue
    left -= tokens
    lines[i] = kind === 'call' ? `» ${tool}\n${text}` : text
  }
  // Whatever does not fit even so gives way from the oldest on.
  let over = -left
  for (let i = 0; i < lines.length && over > 0; i++) {
    over -= count(lines[i]!)
    lines[i] = ''
  }
  const texts = [lines.filter((line) => line !== '').join('\n')]
  return { id: `record ${id}`, texts, tokens: count(texts[0]!) }
}

export const MANAGERS: readonly Manager[] = [
  { name: 'send everything', start: () => whole },
  lastThatFit,
  clearOldResults,
  firstAndLast,
  clearByValue,
  proseAndNewest,
]
