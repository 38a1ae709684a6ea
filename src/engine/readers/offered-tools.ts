import type { Conversation, NewTool } from '../../core/conversation.ts'
import { declaration, declareTools } from '../../core/edits.ts'
import type { ToolDeclaration } from '../../core/item.ts'
import type { Target } from '../../core/target.ts'
import type { TargetRef } from '../../meter/index.ts'
import type { EngineDeps } from '../deps.ts'
import type { BranchLog } from '../session/branch-log.ts'
import { namedFor, readersIn, type Readers } from './reader-tools.ts'

/**
 * Readers that the caller can answer and that this request may declare. Declarations are part of the cached and bound prefix, so they
 * come where that is cheap: see `docs/decisions/2026-11-tools-of-ours.md`.
 */
export interface ToolOffer {
  /** All that may be declared once something was taken out of view; the first is compact. */
  readonly tools: readonly NewTool[]
  /** What this history was sent with before; undefined at its first request. */
  readonly declared?: readonly string[]
  /** The same of a history that nothing was taken out of: it leaves with the same tools whenever it is sent again. @default `declared` */
  readonly declaredFirst?: readonly string[]
  /** They came with an epoch: thinking from before it is bound to a prefix without them. */
  readonly withEpoch?: boolean
  /** Only what was declared before: the request leaves no choice of tools. */
  readonly isClosed?: boolean
  /** This once the model has to answer without them. */
  readonly withheld?: boolean
}

/** An offer after a look at the request: what is declared in which kind of view. */
export interface OpenOffer {
  /** While everything is in view. */
  readonly always: readonly NewTool[]
  /** Behind a result that was shortened before its first send. */
  readonly withEdits: readonly NewTool[]
  /** Behind an epoch, which changes the prefix anyway. */
  readonly withEpoch: readonly NewTool[]
  /** Thinking issued before the epoch is bound to a prefix without the tools that came with it. */
  readonly unbinds: boolean
  /** Thinking is bound to the declarations, so they stay where the model has to answer without them: no tool may be called this once. */
  readonly forbids: boolean
}

/** What tools have to make do with. */
export interface ToolRoom {
  /** Tokens that fit. */
  readonly limit: number
  /** What was sent of this conversation may stand in the provider's prompt cache. */
  readonly isCached: boolean
  /** A reader that the policy's views name, by its design's name: declared from the first request on. */
  readonly ownReader?: string
}

const NOTHING: OpenOffer = { always: [], withEdits: [], withEpoch: [], unbinds: false, forbids: false }

/**
 * A compact tool from the first request on where it adds at most this share: every later request is larger, so the session costs at
 * most as much more. Less than the 2 % that a session may cost, since both counts are estimates.
 */
const SHARE_FROM_THE_START = 1 / 60

/** Declarations never take more than this share of what fits: a small window is there for the conversation. */
const MOST_SHARE = 1 / 10

export function openOffer(
  { meter, catalogue }: Pick<EngineDeps, 'meter' | 'catalogue'>,
  gauge: Exclude<TargetRef, string>,
  conversation: Conversation,
  { limit, isCached, ownReader }: ToolRoom,
  offer: ToolOffer | undefined,
): OpenOffer {
  if (offer === undefined) return NOTHING
  const { declared: before, isClosed = false, withheld = false } = offer
  const tools = namedFor(offer.tools, ownReader)
  const isBound =
    catalogue.resolve(gauge.model).info.bindsThinking && conversation.items.some(({ kind }) => kind === 'reasoning')
  const standing = tools.filter(({ name }) => before?.includes(name) === true)
  const { declaredFirst: first } = offer
  const untouched = first === undefined ? standing : tools.filter(({ name }) => first.includes(name))
  const edited = offer.withEpoch === true ? untouched : standing
  if (withheld && !isBound) return NOTHING
  if (withheld || isClosed)
    return {
      ...NOTHING,
      always: untouched,
      withEdits: edited,
      withEpoch: standing,
      unbinds: offer.withEpoch === true,
      forbids: withheld,
    }
  // All of them, the compact one alone, or none: what there is room for.
  const head = { ...conversation, items: [] }
  const added = (to: Conversation, some: readonly NewTool[]): number =>
    meter.measure(gauge, declared(to, some), 0).count.tokens - meter.measure(gauge, to, 0).count.tokens
  const fits = (some: readonly NewTool[]): boolean => added(head, some) <= MOST_SHARE * limit
  const compact = tools.filter(({ name }, place) => place === 0 || name === ownReader)
  const fitting = standing.length > 1 ? standing : ([tools, compact].find(fits) ?? [])
  const isCheap = (): boolean =>
    tools.some(({ name }) => name === ownReader) ||
    added(conversation, compact) <= SHARE_FROM_THE_START * meter.measure(gauge, conversation, 0).count.tokens
  const always = before !== undefined || isBound ? untouched : fitting.length > 0 && isCheap() ? compact : []
  // What came with an epoch or an edit stays as it was, whatever is installed later.
  const withEpoch = fitting.length > standing.length ? fitting : standing
  return {
    always,
    // In front of a cached prompt they wait for an epoch, which changes it anyway.
    withEdits:
      (before === undefined || !isCached) && always.length === 0 && !isBound
        ? fitting
        : before === undefined
          ? always
          : edited,
    withEpoch,
    unbinds: offer.withEpoch === true || (isBound && always.length < withEpoch.length),
    forbids: false,
  }
}

/** One object for each tool, by which the meter knows its count again: every request asks for the same few. */
const declarations = new WeakMap<NewTool, ToolDeclaration>()

/** The conversation with tools of ours behind its own. */
export const declared = (conversation: Conversation, tools: readonly NewTool[]): Conversation =>
  declareTools(conversation, tools, (tool) => {
    const known = declarations.get(tool) ?? declaration(tool)
    declarations.set(tool, known)
    return known
  })

/** The tools of a view by what it leaves out. */
export const toolsFor = (offer: OpenOffer, hasEpoch: boolean, hasEdits: boolean): readonly NewTool[] =>
  hasEpoch ? offer.withEpoch : hasEdits ? offer.withEdits : offer.always

/** Readers that a text may name, which will stand in such a view. */
export const readersFor = (conversation: Conversation, tools: readonly NewTool[]): Readers =>
  readersIn(declared(conversation, tools).tools)

/** What providers ask for at least where the catalogue has no number. */
const LEAST_CACHED_TOKENS = 1_024

/**
 * Whether a provider may hold the last request of this branch in its prompt cache, so that a change in front of it would be paid for: not
 * where the prompt was too short for it, or the model has no cache. How long a cache lives is the client's choice with some, so age is no
 * evidence.
 */
export function mayBeCached(
  { catalogue }: Pick<EngineDeps, 'catalogue'>,
  { measured, cacheIsWarm }: Pick<BranchLog, 'measured' | 'cacheIsWarm'>,
  { model }: Target,
): boolean {
  if (cacheIsWarm) return true
  const { price } = catalogue.resolve(model).info
  if (price?.cacheRead === undefined || price.caching === 'none') return false
  return measured === undefined || measured.prompt >= (price.cacheMinimum ?? LEAST_CACHED_TOKENS)
}
