import { visitIdentifiers, createLineMatcher } from '../../src/core/quotes.ts'
import type { Compaction } from '../../src/lab/replay/handover.ts'
import { readableText, RecallIndex } from '../../src/lab/replay/recall.ts'
import type { Recording } from '../../src/lab/transcripts/recording.ts'

/** How the parts of a record begin, in their order. */
const HEADINGS: readonly (readonly [part: string, heading: RegExp])[] = [
  ['commands', /^Commands that (?:failed|passed) last:/],
  ['refused', /^Refused by the user:/],
  ['running', /^Started and not ended:/],
  ['questions', /^Questions to the user without an answer:/],
  ['next', /^Next in the plan:/],
  ['users', /^What the user said, in order/],
  ['rules', /^Rules in longer texts/],
  ['attached', /^Attached by the client/],
  ['plan', /^Plan as last written:/],
  ['account', /^What the model said \(·\) and called/],
  ['files', /^Files touched:/],
  ['media', /^Pictures and documents/],
  ['excerpts', /^Excerpts, verbatim/],
]

/** The texts of a record by part; what stands in none of them is its frame. */
function partsOf(record: string): ReadonlyMap<string, string> {
  const parts = new Map<string, string[]>()
  let at = -1
  let isCall = false
  let label = ''
  for (const line of record.split('\n')) {
    const next = HEADINGS.findIndex(([, heading], i) => i >= at && heading.test(line))
    if (next >= 0) at = next
    const [name = 'frame'] = HEADINGS[at] ?? []
    if (/^[·»«] |^\[message \d+\]$/.test(line)) [isCall, label] = [line.startsWith('»'), line[0]!]
    const part =
      name === 'account'
        ? isCall
          ? 'calls'
          : 'prose'
        : name === 'excerpts'
          ? `excerpts ${label === '«' ? '«' : '»'}`
          : name
    parts.set(part, [...(parts.get(part) ?? []), line])
  }
  return new Map([...parts].map(([part, lines]) => [part, lines.join('\n')]))
}

interface Worth {
  tokens: number
  /** Shares of the quotes and names of calls that stand in no other part and nowhere else in view, added up. */
  quotes: number
  names: number
}

/** What each part of the records was needed for: what answers quoted and named that stood nowhere else in view. */
export class PartWorths {
  readonly #worths = new Map<string, Worth>()
  #calls = 0
  #tokens = 0

  add(
    recording: Recording,
    compactions: readonly (Compaction & { readonly call: number })[],
    count: (text: string) => number,
  ): void {
    const index = new RecallIndex(recording)
    for (const [i, { call, after, inserted }] of compactions.entries()) {
      const parts = partsOf(inserted.join('\n'))
      const rest = after.filter(({ text }) => !inserted.includes(text)).map(readableText)
      const until = compactions[i + 1]?.call ?? recording.calls.length
      for (const [part, text] of parts) {
        const worth = this.#worthOf(part)
        worth.tokens += count(text) * (until - call)
        this.#tokens += count(text) * (until - call)
      }
      const texts = [...parts.values()]
      const names = texts.map(namesIn)
      const others = new Set(rest.flatMap((text) => [...namesIn(text)]))
      for (let at = call; at < until; at++) {
        const needs = index.needsOf(at)
        const since = recording.messages.slice(recording.calls[call]!.to, recording.calls[at]!.to)
        const seen = [...rest, ...since.flatMap((message) => message.parts.map(readableText))]
        this.#calls += needs.quotes.length > 0 ? 1 : 0
        const matcher = createLineMatcher(needs.quotes)
        const elsewhere = new Set(seen.flatMap((text) => matcher.scan(text)))
        const found = texts.map((text) => new Set(matcher.scan(text)))
        for (let quote = 0; quote < matcher.lines.length; quote++) {
          const places = found.flatMap((one, place) => (one.has(quote) ? [place] : []))
          if (elsewhere.has(quote) || places.length !== 1) continue
          this.#worthOf([...parts.keys()][places[0]!]!).quotes += 1 / needs.quotes.length
        }
        const said = new Set(
          since.flatMap((message) => message.parts.flatMap((part) => [...namesIn(readableText(part))])),
        )
        for (const name of needs.names) {
          const places = names.flatMap((one, place) => (one.has(name) ? [place] : []))
          if (others.has(name) || said.has(name) || places.length !== 1) continue
          this.#worthOf([...parts.keys()][places[0]!]!).names += 1 / needs.names.length
        }
      }
    }
  }

  /** Each part with its share of the record's tokens, and what of the calls' quotes and names only it kept. */
  *rows(): Generator<string, void, undefined> {
    yield `    ${'part of the record'.padEnd(22)}${['tokens', 'quotes', 'names'].map((head) => head.padStart(9)).join('')}   share of the record; only here, per thousand of what answers needed`
    for (const [part, { tokens, quotes, names }] of this.#worths) {
      const cells = [
        `${((100 * tokens) / this.#tokens).toFixed(1)} %`,
        ((1000 * quotes) / this.#calls).toFixed(1),
        ((1000 * names) / this.#calls).toFixed(1),
      ]
      yield `    ${part.padEnd(22)}${cells.map((cell) => cell.padStart(9)).join('')}`
    }
  }

  #worthOf(part: string): Worth {
    const known = this.#worths.get(part) ?? { tokens: 0, quotes: 0, names: 0 }
    this.#worths.set(part, known)
    return known
  }
}

function namesIn(text: string): ReadonlySet<string> {
  const names = new Set<string>()
  visitIdentifiers(text, (name) => names.add(name))
  return names
}
