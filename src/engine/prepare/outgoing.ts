import type { Conversation, NativeManagement } from '../../core/conversation.ts'
import { applyEdits, changeEnvelope, type Plan, type Edit } from '../../core/edits.ts'
import type { PrepareContext, View } from './context.ts'
import type { Violation } from '../../core/codec.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Item } from '../../core/item.ts'
import type { HandedOut, Issuer } from '../session/branch-log.ts'
import { highWater, lowWater } from '../epoch/thresholds.ts'
import { turnsUntil } from '../session/status.ts'
import { textTokensOf } from './counting.ts'
import { isChained } from '../../core/count.ts'

/** What gives way where the rules of the wire do not take it. */
interface Optional {
  readonly drops: Plan
  readonly notice?: Notice
}

const NONE: Optional = { drops: [] }

/**
 * The view as it leaves: what is for this one request is put on, written together, and what was written is read again and checked. Where the wire
 * wants a thought that another provider sealed, that provider has to say what it makes of it; and a notice is not worth a broken rule. A rule
 * that the client's own bytes already broke is the provider's to report; one that we broke must not leave.
 */
export function leavingView(context: PrepareContext, view: View): View {
  for (const optional of optionsOf(dropForeignSeals(context, view), contextNotice(context, view))) {
    const written = write(context, view, optional)
    if (optional !== NONE && written.load.bytes > context.limit.bytes) continue
    if (written.text === context.text) return written
    const { ours, all } = newlyBroken(context, written.text)
    if (ours === undefined) return written
    if (optional === NONE)
      throw ownDefect(`The reduced request breaks ${ours.rule} at ${ours.path}: ${ours.message}`, { violations: all })
  }
  throw new Error('unreachable: nothing to put on is always the last of the options')
}

/** From all of it to none of it. */
function optionsOf(drops: Plan, notice: Notice | undefined): Optional[] {
  if (notice === undefined) return drops.length === 0 ? [NONE] : [{ drops }, NONE]
  return drops.length === 0 ? [{ drops, notice }, NONE] : [{ drops, notice }, { drops }, { drops: [], notice }, NONE]
}

/** One encode, whatever there is to put on; none where there is nothing. */
function write(context: PrepareContext, view: View, { drops, notice }: Optional): View {
  const { codec } = context
  const native = nativeManagement(context, view)
  const dropped = applyEdits(view.conversation, drops)
  // What stays behind is without the notice: nothing is archived, measured or continued from one.
  const conversation = native === undefined ? dropped : changeEnvelope(dropped, { native })
  const noticed = notice === undefined ? conversation : applyEdits(conversation, [notice.edit])
  const encoded = noticed === view.conversation ? view.text : codec.encode(noticed).text
  const text = withCacheMarks(context, conversation, encoded, notice === undefined ? 0 : 1)
  // Also where the client manages its context itself: the header is for what the body says, whoever wrote that.
  const needed = native === undefined ? undefined : codec.nativeHeaders?.(codec.fields(readAgain(context, text)))
  const headers = joined(view.headers, needed ?? {})
  if (text === view.text) return needed === undefined ? view : { ...view, headers }
  return {
    ...view,
    conversation,
    text,
    splices: undefined,
    headers,
    load: loadWith(view, notice, Buffer.byteLength(text)),
  }
}

function loadWith({ load: { count } }: View, notice: Notice | undefined, bytes: number): View['load'] {
  const tokens = notice?.tokens ?? 0
  return { count: { ...count, tokens: count.tokens + tokens, high: count.high + tokens }, bytes }
}

/** Lists of one header become one list. */
function joined(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): Record<string, string> {
  const headers: Record<string, string> = { ...a }
  for (const [name, value] of Object.entries(b)) headers[name] = a[name] === undefined ? value : `${a[name]},${value}`
  return headers
}

/** The first rule that a text breaks and the client's own does not, and all that it breaks. */
function newlyBroken(
  context: PrepareContext,
  text: string,
): { readonly ours: Violation | undefined; readonly all: readonly Violation[] } {
  const { codec, conversation, target } = context
  const all = codec.check(codec.fields(readAgain(context, text)), { model: target.model })
  if (all.length === 0) return { ours: undefined, all }
  const known = new Set(codec.check(codec.fields(conversation), { model: target.model }).map(({ rule }) => rule))
  return { ours: all.find(({ rule }) => !known.has(rule)), all }
}

/** What a text that leaves says, by its own bytes. Where it begins as one that left before, that part is compared and not parsed. */
function readAgain({ deps, branch, codec }: PrepareContext, outgoing: string): Conversation {
  try {
    return deps.memo.bodies.decode(`${branch.tenant} sent`, codec, outgoing)
  } catch (cause) {
    throw ownDefect(`The reduced request cannot be read: ${(cause as Error).message}`, {}, cause)
  }
}

const ownDefect = (message: string, fields: Readonly<Record<string, unknown>>, cause?: unknown): PlimsollError =>
  new PlimsollError('invalid-request', message, {
    advice: 'This is a defect of Plimsoll; the original request was not changed.',
    fields,
    cause,
  })

/** Names the largest parts, so that somebody can do something about one of them. */
export function tooLarge({ deps, gauge, limit }: PrepareContext, { conversation, load }: View): PlimsollError {
  const parts = largestParts(conversation, (item) => deps.meter.countItem(gauge, item).tokens)
  const named = parts.map((part) => `${part.what} (${part.tokens.toLocaleString('en')})`).join(', ')
  const needed = Math.ceil(load.count.high)
  return new PlimsollError(
    'fixed-overhead',
    `The context needs ${needed.toLocaleString('en')} tokens and ${limit.tokens.toLocaleString('en')} fit, although everything ` +
      `that may be reduced was. Largest parts: ${named}.`,
    {
      advice:
        'Shorten the instructions or tools, unpin items, lower the output reserve, or choose a model with a larger window.',
      fields: {
        needed,
        least: Math.floor(load.count.low),
        limit: limit.tokens,
        window: limit.window,
        bytes: load.bytes,
        parts,
      },
    },
  )
}

/**
 * Takes out sealed thoughts of another provider: a fallback or a model of another family would refuse them. They are in the archive, and
 * go along again when their issuer is asked. What nobody knows the issuer of stays, as the client sent it.
 */
function dropForeignSeals(context: PrepareContext, view: View): readonly Edit[] {
  const foreign = foreignIds(context)
  if (foreign.size === 0) return []
  return view.conversation.items
    .filter(({ id }) => foreign.has(id))
    .map(({ id }) => ({ op: 'drop', id, reason: 'sealed by another provider' }))
}

function foreignIds({ branch, deps, conversation, links, target }: PrepareContext): ReadonlySet<string> {
  const ids = new Set<string>()
  const { handedOut, issuers } = branch.log
  const isForeign = ({ model, endpoint }: Issuer): boolean =>
    (endpoint !== undefined && target.endpoint !== undefined && endpoint !== target.endpoint) ||
    (model !== target.model && deps.meter.familyOf(model) !== deps.meter.familyOf(target.model))
  // Nearly every session has one: nothing of its history has to be looked at.
  if (!issuers.some(isForeign)) return ids
  const chained = new Map(links.map(({ index, chain }) => [index, chain]))
  let issuer: Issuer | undefined
  for (const [index, item] of conversation.items.entries()) {
    if (item.role !== 'assistant') {
      const chain = chained.get(index)
      if (chain !== undefined) issuer = issuerOf(handedOut.get(chain))
    } else if (isSealedThought(item) && issuer !== undefined && isForeign(issuer)) ids.add(item.id)
  }
  return ids
}

/** Who was asked and did not answer has sealed nothing that we know of. */
const issuerOf = (request: HandedOut | undefined): Issuer | undefined =>
  request?.isAnswered === true ? request : undefined

const isSealedThought = ({ kind, sealed }: Item): boolean => kind === 'reasoning' && sealed === true

/** What a message of its own costs beside its text, at most. */
const FRAME_TOKENS = 16

/** A last message of ours, and the tokens that it adds. */
interface Notice {
  readonly edit: Edit
  readonly tokens: number
}

/**
 * Tells the model how full its window is, in a last message of ours. It stands behind everything that will be sent again, so the
 * cached prefix stays as it is, and the next request carries a new one instead. Left out where it would do harm: where it does not
 * fit, where the wire wants something else at this place, where the provider would keep it (a chained response), and on models that
 * bind their thinking to what stood before it.
 */
function contextNotice(context: PrepareContext, view: View): Notice | undefined {
  const { deps, target, limit, conversation } = context
  if (deps.contextNotice !== true || view.conversation.items.at(-1)?.role === 'assistant') return undefined
  const { previousResponseId, conversationId } = conversation.settings
  if (previousResponseId !== undefined || conversationId !== undefined) return undefined
  if (deps.catalogue.resolve(target.model).info.bindsThinking) return undefined
  const text = noticeText(context, view)
  const tokens = Math.ceil(textTokensOf(context)(text)) + FRAME_TOKENS
  if (view.load.count.high + tokens > limit.tokens) return undefined
  return { edit: { op: 'insert', id: 'context-notice', role: 'user', text, reason: 'context notice' }, tokens }
}

function noticeText({ deps, branch, limit }: PrepareContext, { load }: View): string {
  const used = Math.ceil(load.count.high)
  const percent = Math.min(100, Math.round((100 * used) / limit.tokens))
  const left = turnsUntil(highWater(deps.policy, limit, branch.log.cacheIsWarm) - used, branch.requests.growth)
  const turns = left === undefined ? '' : ` At this pace about ${left} more calls fit before older parts are compacted.`
  return `[Context: ${percent} % full, ${used.toLocaleString('en')} of ${limit.tokens.toLocaleString('en')} tokens.${turns} This is a notice, not a request.]`
}

/** What the provider clears at a time is at least this share of the limit: each time costs the cache behind it. */
const CLEAR_AT_LEAST = 0.1

/**
 * The provider's own context management: where the policy asks for it and the wire knows it, with numbers that follow from model and
 * policy alone, so that every request of a session says the same; and where the provider holds a history that has grown large.
 */
function nativeManagement(context: PrepareContext, view: Pick<View, 'load'>): NativeManagement | undefined {
  const { deps, limit } = context
  const { native } = deps.policy
  if (native === undefined)
    return compactsChain(context, view) ? { compactAtTokens: Math.floor(lowWater(deps.policy, limit)) } : undefined
  const { compactAt, clearToolUsesAt, keepToolUses = 3, keepThinkingTurns } = native
  const share = (value: number): number => Math.floor(value * limit.tokens)
  return {
    ...(compactAt !== undefined && { compactAtTokens: share(compactAt) }),
    ...(clearToolUsesAt !== undefined && {
      clearToolUses: { atTokens: share(clearToolUsesAt), keep: keepToolUses, atLeastTokens: share(CLEAR_AT_LEAST) },
    }),
    ...(keepThinkingTurns !== undefined && { clearThinking: { keepTurns: keepThinkingTurns } }),
  }
}

/** Only the provider can make a history smaller that it holds. It is asked in time, from the load on at which the policy warns: a history that no longer fits gets a closing turn. */
function compactsChain(
  { deps, codec, conversation, target, limit }: PrepareContext,
  { load }: Pick<View, 'load'>,
): boolean {
  const { warn, high } = deps.policy.water
  return (
    isChained(conversation.settings) &&
    codec.traits.compactsHistory(target.endpoint) &&
    load.count.high >= (warn ?? high) * limit.tokens
  )
}

/**
 * The text with cache marks, where the client set none and the wire has them. They are placed anew on every request, after an epoch
 * too; the provider does not count them as a change of the prefix. A single question without tools gets none: writing to the cache
 * costs more than plain input, and nobody would read it again. `suffixMessages`: those at the end that the next request will not have.
 */
function withCacheMarks(
  { deps, codec, limit, conversation }: PrepareContext,
  sent: Conversation,
  text: string,
  suffixMessages: number,
): string {
  if (deps.cacheMarks !== true || codec.placeCacheMarks === undefined || !willContinue(conversation)) return text
  const summary = summaryMessage(sent)
  const marked = codec.placeCacheMarks(text, {
    suffixMessages,
    ...(summary !== undefined && { summaryMessage: summary }),
  })
  return marked === undefined || Buffer.byteLength(marked) > limit.bytes ? text : marked
}

const willContinue = ({ items, tools }: Conversation): boolean =>
  tools.length > 0 || items.some((item) => item.role === 'assistant')

/** What we insert joins a neighbour of its role. */
const isOneMessage = (a: Item, b: Item): boolean =>
  a.message < 0 || b.message < 0 ? a.role === b.role : a.message === b.message

/** Index of the last message that we inserted: what an epoch made of the history stands up to there. */
function summaryMessage({ items }: Conversation): number | undefined {
  let index = -1
  let previous: Item | undefined
  let found: number | undefined
  for (const item of items) {
    if (previous === undefined || !isOneMessage(previous, item)) index++
    if (item.message < 0) found = index
    previous = item
  }
  return found
}

interface Part {
  readonly what: string
  readonly tokens: number
}

/** The heaviest parts of a request, in words that a person can act on. */
function largestParts(view: Conversation, tokensOf: (item: Item) => number, count = 4): Part[] {
  const parts: Part[] = []
  const instructions = sum(view.head, tokensOf)
  if (instructions > 0) parts.push({ what: 'instructions', tokens: instructions })
  const tools = sum(
    view.tools.map((tool): Item => ({ id: '', kind: 'opaque', role: 'system', text: tool.text, message: -1 })),
    tokensOf,
  )
  if (tools > 0) parts.push({ what: `${view.tools.length} tool declarations`, tokens: tools })
  for (const item of view.items) parts.push({ what: nameOf(item), tokens: Math.round(tokensOf(item)) })
  return parts.sort((a, b) => b.tokens - a.tokens).slice(0, count)
}

const sum = (items: readonly Item[], tokensOf: (item: Item) => number): number =>
  Math.round(items.reduce((total, item) => total + tokensOf(item), 0))

function nameOf(item: Item): string {
  const tool = item.toolName === undefined ? '' : ` of ${item.toolName}`
  return `${item.kind}${tool} ${item.id}`
}
