import { parsedJson } from '../../core/values.ts'
import { visitIdentifiers, createLineMatcher, quotableLines, type LineMatcher, stringsIn } from '../../core/quotes.ts'
import type { Part, RecordedCall } from '../transcripts/recording.ts'

/** The parts of a recording that the measures read. */
export interface ReplaySource {
  readonly system?: string
  readonly messages: readonly { readonly parts: readonly ReplayPart[] }[]
  readonly calls: readonly ReplayCall[]
}

type ReplayPart = Pick<Part, 'text' | 'input'> & { readonly kind: string }

/** `to`: the number of messages before the call. */
type ReplayCall = Pick<RecordedCall, 'to' | 'at'> & { readonly response: { readonly parts: readonly ReplayPart[] } }

/** A part's text as a model reads it. The strings in a call's arguments are read one by one, because JSON escapes would hide a quoted line. */
export function readableText(part: ReplayPart): string {
  if (part.kind !== 'call') return part.text
  const text = callTexts.get(part) ?? stringsIn(part.input ?? argumentsOf(part.text)).join('\n')
  callTexts.set(part, text)
  return text
}

/** Cached, because each later view contains the call again. */
const callTexts = new WeakMap<ReplayPart, string>()

const argumentsOf = (text: string): unknown => parsedJson(text) ?? text

/** The lines and names that an answer took from earlier text. */
export interface TurnNeeds {
  /** Lines that occurred verbatim earlier in the transcript. */
  readonly quotes: readonly string[]
  /** Identifiers that occurred earlier in the transcript. */
  readonly names: readonly string[]
}

/** The text of one view, for looking up quotes and names. */
export interface ViewText {
  /** Whether the view contains this line, which an answer of the recording quotes. */
  contains(line: string): boolean
  /** Whether the view contains this identifier, which an answer of the recording uses. */
  names(identifier: string): boolean
}

/**
 * Finds every line and name that the recording's answers take from earlier text, and the texts that contain them. Each distinct text is read once,
 * whatever the number of views, so that thousands of calls over megabytes take seconds.
 */
export class RecallIndex {
  readonly #needs: readonly TurnNeeds[]
  readonly #matcher: LineMatcher
  /** The number of each text, and for each line or name the numbers of the texts that contain it. */
  readonly #textIds = new Map<string, number>()
  readonly #lines = new Map<string, number[]>()
  readonly #names = new Map<string, number[]>()

  constructor(source: ReplaySource) {
    const turns = source.calls.map(turnTerms)
    for (const turn of turns) {
      for (const line of turn.lines) this.#lines.set(line, [])
      for (const name of turn.names) this.#names.set(name, [])
    }
    this.#matcher = createLineMatcher([...this.#lines.keys()])
    this.#needs = this.#occurredEarlier(source, turns)
  }

  needsOf(call: number): TurnNeeds {
    return this.#needs[call] ?? { quotes: [], names: [] }
  }

  /** A view is given as its texts, with calls in the form of `readableText`. */
  view(texts: Iterable<string>): ViewText {
    const ids = new Set<number>()
    for (const text of texts) ids.add(this.#idOf(text))
    const shows = (textIds: readonly number[] | undefined) => textIds?.some((id) => ids.has(id)) === true
    return {
      contains: (line) => shows(this.#lines.get(line)),
      names: (identifier) => shows(this.#names.get(identifier)),
    }
  }

  #idOf(text: string): number {
    const known = this.#textIds.get(text)
    if (known !== undefined) return known
    const id = this.#textIds.size
    this.#textIds.set(text, id)
    for (const index of this.#matcher.scan(text)) this.#lines.get(this.#matcher.lines[index] as string)?.push(id)
    visitIdentifiers(text, (name) => {
      const textIds = this.#names.get(name)
      if (textIds !== undefined && textIds.at(-1) !== id) textIds.push(id)
    })
    return id
  }

  /** Texts are numbered in the order in which they are read, so a term occurred earlier if its first text was already read. */
  #occurredEarlier(source: ReplaySource, turns: readonly TurnTerms[]): readonly TurnNeeds[] {
    let read = 0
    if (source.system !== undefined) this.#idOf(source.system)
    return source.calls.map((call, index) => {
      for (; read < call.to; read++) {
        for (const part of source.messages[read]?.parts ?? []) this.#idOf(readableText(part))
      }
      const turn = turns[index] as TurnTerms
      return {
        quotes: turn.lines.filter((line) => this.#lines.get(line)?.length !== 0),
        names: turn.names.filter((name) => this.#names.get(name)?.length !== 0),
      }
    })
  }
}

interface TurnTerms {
  readonly lines: readonly string[]
  readonly names: readonly string[]
}

/** Text and all strings in tool inputs. Reasoning is left out: it is not part of what the turn does. */
function turnTerms(call: ReplayCall): TurnTerms {
  const texts = call.response.parts
    .filter((part) => part.kind === 'assistant' || part.kind === 'call')
    .map(readableText)
  const names = new Set<string>()
  for (const text of texts) visitIdentifiers(text, (name) => names.add(name))
  return { lines: quotableLines(texts), names: [...names] }
}

/**
 * Shares of what the answers needed. A recall is the mean over the calls that needed anything, so that one call that repeats a file of four hundred
 * lines does not dominate.
 */
export interface Recall {
  readonly quoteRecall: number
  readonly nameRecall: number
  /** Quotes and names in the view, or in an artifact that the view mentions and a tool of the request can open. */
  readonly recoverableRecall: number
  /** Number of quotes and names that were needed, over all calls. */
  readonly quotes: number
  readonly names: number
}

/** Sums up how much of what the answers needed the views contained. */
export class RecallTally {
  readonly #quotes = new Share()
  readonly #names = new Share()
  readonly #recoverable = new Share()

  /** `reachable`: the texts of artifacts that the view mentions and a tool of the request can open. */
  add(index: RecallIndex, call: number, view: ViewText, reachable?: ViewText): void {
    const { quotes, names } = index.needsOf(call)
    const lostQuotes = quotes.filter((line) => !view.contains(line))
    const lostNames = names.filter((name) => !view.names(name))
    const beyondReach =
      lostQuotes.filter((line) => reachable?.contains(line) !== true).length +
      lostNames.filter((name) => reachable?.names(name) !== true).length
    this.#quotes.add(quotes.length - lostQuotes.length, quotes.length)
    this.#names.add(names.length - lostNames.length, names.length)
    const all = quotes.length + names.length
    this.#recoverable.add(all - beyondReach, all)
  }

  total(): Recall {
    return {
      quoteRecall: this.#quotes.mean,
      nameRecall: this.#names.mean,
      recoverableRecall: this.#recoverable.mean,
      quotes: this.#quotes.whole,
      names: this.#names.whole,
    }
  }
}

/** A share that is 1 when nothing was needed. */
class Share {
  #shares = 0
  #calls = 0
  whole = 0

  add(part: number, whole: number): void {
    if (whole === 0) return
    this.#shares += part / whole
    this.#calls++
    this.whole += whole
  }

  get mean(): number {
    return this.#calls === 0 ? 1 : this.#shares / this.#calls
  }
}
