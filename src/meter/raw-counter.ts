import { type Count, NO_TOKENS } from '../core/count.ts'
import type { Item } from '../core/item.ts'
import { modelName } from '../core/model-name.ts'
import { estimateTokens } from './estimator/estimate.ts'
import type { ContentKind } from './estimator/features.ts'
import type { MeterEvents, ModelFacts, ModelLookup, TextCounter } from './limit.ts'
import type { Overhead } from './overhead.ts'
import { type CountedItem, countItem, createTally, type ItemContext } from './tally.ts'
import { BoundedMap } from '../util/bounded-map.ts'
import type { Prefixes } from '../util/prefix-memo.ts'

export interface RawCounterOptions {
  readonly catalogue: ModelLookup
  readonly tokenizerFor: ((family: string) => TextCounter | undefined) | undefined
  readonly cachedCharacters?: number
  readonly onEvent: MeterEvents
  readonly overheadFor: (lens: Pick<Lens, 'model' | 'family'>, format: string) => Overhead
  readonly prefixes: Prefixes<Item>
}

/** How a model counts: its facts and, when loaded, its exact tokenizer. `key` tells counts of different lenses apart. */
export interface Lens {
  readonly model: string
  readonly facts: ModelFacts
  readonly family: string
  /** Whether the catalogue knows the model. */
  readonly isKnown: boolean
  readonly exact: TextCounter | undefined
  readonly key: string
  /** Tokens of sealed content by its seal. */
  readonly hidden: ReadonlyMap<string, number> | undefined
  /** Whose texts: how long a count takes must not tell one tenant what another has sent. */
  readonly owner: string | undefined
  /** What belongs to counting so in one API format, made when it is asked for. */
  readonly formats: Map<string, LensFormat>
}

export interface LensFormat {
  readonly overhead: Overhead
  /** Items that were counted. */
  readonly seen: WeakMap<Item, CountedItem>
  /** Histories that were added up. */
  readonly tally: ReturnType<typeof createTally>
}

/** Counts before calibration. Content is counted once: by item object, and by text for clients that resend new objects. */
export interface RawCounter {
  /** `mayBeExact`: by a loaded vocabulary, where there is one. @default true */
  lensOf(model: string, mayBeExact?: boolean): Lens
  formatOf(lens: Lens, format: string): LensFormat
  /** Tokenizer family of a model. */
  familyOf(model: string): string
  text(lens: Lens, text: string): { readonly count: Count; readonly kind: ContentKind }
  item(lens: Lens, item: Item, format: string): CountedItem
}

const MOST_MODELS = 1000
const MOST_LENSES = 64
const MOST_FORMATS = 32
/** What a remembered count takes beside its text, as characters. */
const ENTRY_CHARACTERS = 400

export function createRawCounter(options: RawCounterOptions): RawCounter {
  const { catalogue, tokenizerFor, cachedCharacters = 8_000_000, onEvent, overheadFor, prefixes } = options
  /** Texts whose count is known, by who sent them and how they were counted. */
  const texts = new BoundedMap<string, { count: Count; kind: ContentKind }>(cachedCharacters)
  /** By model: of those that may be exact, and of those that may not. */
  const lenses = [true, false].map(() => new BoundedMap<string, Lens>(MOST_LENSES))
  const facts = new BoundedMap<string, { readonly info: ModelFacts; readonly isKnown: boolean }>(MOST_MODELS)
  const failed = new Set<string>()

  function factsOf(model: string): { readonly info: ModelFacts; readonly isKnown: boolean } {
    const known = facts.get(model)
    if (known !== undefined) return known
    const { info, match } = catalogue.resolve(model)
    if (match === 'default') {
      onEvent({
        type: 'warning',
        topic: 'unknown-model',
        message: `Model "${model}" is not in the catalogue; taking a window of ${info.window} tokens and the tokenizer family ${info.tokenizer}.`,
      })
    }
    const found = { info, isKnown: match !== 'default' }
    facts.set(model, found)
    return found
  }

  /** A tokenizer that fails is not asked again. */
  function exactCount(lens: Lens, text: string): Count | undefined {
    if (lens.exact === undefined || failed.has(lens.family)) return undefined
    try {
      return lens.exact.count(text)
    } catch (error) {
      failed.add(lens.family)
      onEvent({
        type: 'degraded',
        what: `tokenizer ${lens.exact.name}`,
        cause: error instanceof Error ? error.message : String(error),
      })
      return undefined
    }
  }

  function countText(lens: Lens, text: string): { count: Count; kind: ContentKind } {
    if (text === '') return { count: NO_TOKENS, kind: 'prose' }
    if (text.length <= LONG_TEXT) return countPiece(lens, text)
    const parts = [...textPieces(text)].map((piece) => countPiece(lens, piece))
    const sum = (of: (count: Count) => number): number => parts.reduce((all, { count }) => all + of(count), 0)
    // What is wrong about one piece is wrong about the next: their errors add up.
    const { kind, count } = parts[0]!
    return { count: { ...count, tokens: sum((c) => c.tokens), low: sum((c) => c.low), high: sum((c) => c.high) }, kind }
  }

  function countPiece(lens: Lens, text: string): { count: Count; kind: ContentKind } {
    const key = `${lens.key}|${lens.owner ?? ''}\0${text}`
    const known = texts.get(key)
    if (known !== undefined) return known
    const { kind, ...estimate } = estimateTokens(text, lens.family)
    const counted = { count: exactCount(lens, text) ?? estimate, kind }
    texts.set(key, counted, text.length + ENTRY_CHARACTERS)
    return counted
  }

  function formatOf(lens: Lens, format: string): LensFormat {
    const known = lens.formats.get(format)
    if (known !== undefined) return known
    const overhead = overheadFor(lens, format)
    // Formats around which the same is added count alike.
    const found = [...lens.formats.values()].find((other) => other.overhead === overhead) ?? {
      overhead,
      seen: new WeakMap<Item, CountedItem>(),
      tally: createTally(prefixes),
    }
    if (lens.formats.size >= MOST_FORMATS) lens.formats.clear()
    lens.formats.set(format, found)
    return found
  }

  return {
    lensOf(given, mayBeExact = true) {
      const model = modelName(given)
      const { info, isKnown } = factsOf(model)
      const exact = !mayBeExact || failed.has(info.tokenizer) ? undefined : tokenizerFor?.(info.tokenizer)
      const known = lenses[mayBeExact ? 0 : 1]!.get(model)
      // A vocabulary may have been loaded since, and the catalogue may have forgotten a model and looked it up again.
      if (known !== undefined && known.exact === exact && known.facts === info) return known
      const lens: Lens = {
        model,
        facts: info,
        family: info.tokenizer,
        isKnown,
        exact,
        key: `${info.tokenizer}/${exact?.name ?? 'estimate'}`,
        hidden: undefined,
        owner: undefined,
        formats: new Map(),
      }
      lenses[mayBeExact ? 0 : 1]!.set(model, lens)
      return lens
    },
    formatOf,
    familyOf: (model) => factsOf(modelName(model)).info.tokenizer,
    text: countText,
    item(lens, item, format) {
      const { seen, overhead } = formatOf(lens, format)
      const known = seen.get(item)
      if (known !== undefined) return known
      let text = 0
      let kind: ContentKind = 'prose'
      const context: ItemContext = {
        model: lens.model,
        family: lens.family,
        isKnown: lens.isKnown,
        overhead,
        countText(part) {
          const counted = countText(lens, part)
          if (part === item.text) kind = counted.kind
          text += counted.count.tokens
          return counted.count
        },
        hidden: lens.hidden,
      }
      const { words, media } = countItem(item, context)
      const result = { words, media, kind, text: Math.min(text, words.tokens) }
      // What is hidden may be learned later, and by one session only.
      if (item.sealed !== true) seen.set(item, result)
      return result
    },
  }
}

/** Longer texts are counted in pieces, so that nobody has to count all of one at a time. */
export const LONG_TEXT = 256 * 1024
const LONGEST_BETWEEN = 4_096

/** The pieces of a long text, cut in front of a line break or blank where there is one near; a shorter text is one piece. */
export function* textPieces(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const to = endOfPiece(text, from)
    yield text.slice(from, to)
    from = to
  }
}

function endOfPiece(text: string, from: number): number {
  const end = from + LONG_TEXT
  if (end >= text.length) return text.length
  for (let at = end; at > end - LONGEST_BETWEEN; at--) if (text.charCodeAt(at) <= 32) return at
  // Not between the halves of a character.
  return isLowSurrogate(text.charCodeAt(end)) ? end + 1 : end
}

const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff
