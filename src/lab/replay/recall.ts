import { createLineMatcher, type LineMatcher, quotableLines, visitIdentifiers } from '../../core/quotes.ts'
import { readableText } from './source.ts'
import type { ReplayCall, ReplaySource } from './source.ts'

/** What an answer took from before it, in its own words. */
export interface TurnNeeds {
  /** Lines that occurred verbatim earlier in the transcript. */
  readonly quotes: readonly string[]
  /** Identifiers that occurred earlier in the transcript. */
  readonly names: readonly string[]
}

/** The text of one view, as far as quotes and names are concerned. */
export interface ViewText {
  /** A line that some answer of the recording quotes stands verbatim in this view. */
  contains(line: string): boolean
  /** An identifier that some answer uses stands in this view. */
  names(identifier: string): boolean
}

/**
 * Knows every line and name that the answers of a recording take from before them, and in which texts those stand. Each
 * distinct text is read once, however many views contain it, so that thousands of calls over megabytes take seconds.
 */
export class RecallIndex {
  readonly #needs: readonly TurnNeeds[]
  readonly #matcher: LineMatcher
  /** Texts by number, and for each line or name the numbers of the texts that it stands in. */
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

  /** A view is the texts that it shows; call arguments as `readableText` gives them. */
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

  /** Texts are numbered as they are read, so a term occurred earlier when its first text has been read. */
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

/** Text and every string in the tool inputs; reasoning is not what the turn does. */
function turnTerms(call: ReplayCall): TurnTerms {
  const texts = call.response.parts
    .filter((part) => part.kind === 'assistant' || part.kind === 'call')
    .map(readableText)
  const names = new Set<string>()
  for (const text of texts) visitIdentifiers(text, (name) => names.add(name))
  return { lines: quotableLines(texts), names: [...names] }
}
