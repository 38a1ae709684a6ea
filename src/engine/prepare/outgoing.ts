import type { Violation } from '../../core/codec.ts'
import type { Conversation, NativeManagement } from '../../core/conversation.ts'
import { applyEdits, changeEnvelope, type Plan, type Edit } from '../../core/edits.ts'
import { callBefore } from './cache.ts'
import type { PrepareContext, View } from './context.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Item } from '../../core/item.ts'
import { isRecalled } from './standing.ts'
import type { Issuer } from '../session/branch-log.ts'
import { loweredCap } from './counting.ts'
import { lowWater } from '../epoch/thresholds.ts'
import { isChained } from '../../core/count.ts'

/**
 * The view as it leaves: what is for this one request is put on, written together, and what was written is read again and checked. Where the wire
 * wants a thought that another provider sealed, that provider has to say what it makes of it. A rule that the client's own bytes already broke is the
 * provider's to report; one that we broke must not leave.
 */
export function leavingView(context: PrepareContext, view: View, drops = dropForeignSeals(context, view)): View {
  const written = write(context, view, drops)
  if (drops.length > 0 && written.load.bytes > context.limit.bytes) return leavingView(context, view, [])
  const ours = written.text === context.text ? undefined : brokenByUs(context, written.text)
  if (ours === undefined) return written
  if (drops.length > 0) return leavingView(context, view, [])
  throw ownDefect(`The reduced request breaks ${ours.rule} at ${ours.path}: ${ours.message}`, { violations: [ours] })
}

/** A rule of the wire that a text breaks and the client's own bytes did not. */
export function brokenByUs(context: PrepareContext, outgoing: string): Violation | undefined {
  const { codec, conversation, target } = context
  const { model } = target
  const violations = codec.check(codec.fields(readAgain(context, outgoing)), { model })
  if (violations.length === 0) return undefined
  const known = new Set(codec.check(codec.fields(conversation), { model }).map(({ rule }) => rule))
  return violations.find(({ rule }) => !known.has(rule))
}

/** One encode, whatever there is to put on; none where there is nothing. */
function write(context: PrepareContext, view: View, drops: Plan): View {
  const { codec, deps } = context
  const isManaged = deps.policy.native !== undefined || isChained(context.conversation.settings)
  const native = isManaged ? nativeManagement(context, view) : undefined
  const dropped = applyEdits(view.conversation, drops)
  const maxOutputTokens = loweredCap(context, view)
  const diagnose = deps.cacheDiagnostics === true ? (callBefore(context)?.response ?? null) : undefined
  const isChanged = native !== undefined || maxOutputTokens !== undefined || diagnose !== undefined
  const conversation = isChanged ? changeEnvelope(dropped, { native, maxOutputTokens, diagnose }) : dropped
  const encoded = conversation === view.conversation ? view.text : codec.encode(conversation).text
  const text = deps.cacheMarks === true ? withCacheMarks(context, conversation, encoded) : encoded
  const headers = { ...view.headers }
  if (native !== undefined) {
    // Also where the client manages its context itself: the header is for what the body says, of either of us. Lists of one header become one list.
    const needed = codec.nativeHeaders?.(codec.fields(readAgain(context, text))) ?? {}
    for (const [name, value] of Object.entries(needed))
      headers[name] = headers[name] === undefined ? value : `${headers[name]},${value}`
  }
  if (text === view.text) return { ...view, headers }
  const load = { ...view.load, bytes: Buffer.byteLength(text) }
  return { ...view, conversation, text, headers, load }
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

/**
 * Takes out sealed thoughts of another provider: a fallback or a model of another family would refuse them. They are in the archive, and
 * go along again when their issuer is asked. A thought whose issuer is unknown stays, as the client sent it.
 */
function dropForeignSeals(context: PrepareContext, view: View): readonly Edit[] {
  const { branch, links, conversation } = context
  const { handedOut, issuers } = branch.log
  // Nearly every session has one: nothing of its history has to be looked at.
  if (!issuers.some((one) => isForeign(one, context))) return []
  const chains = new Map(links.map(({ index, chain }) => [index, chain]))
  const foreign = new Set<string>()
  let issuer: Issuer | undefined
  for (const [index, item] of conversation.items.entries()) {
    if (item.role !== 'assistant') {
      const chain = chains.get(index)
      const asked = chain === undefined ? undefined : handedOut.get(chain)
      // A provider that was asked and did not answer has sealed nothing that we know of.
      if (chain !== undefined) issuer = asked?.isAnswered === true ? asked : undefined
    } else if (item.kind === 'reasoning' && item.sealed === true && issuer !== undefined && isForeign(issuer, context))
      foreign.add(item.id)
  }
  return view.conversation.items
    .filter(({ id }) => foreign.has(id))
    .map(({ id }) => ({ op: 'drop', id, reason: 'sealed by another provider' }))
}

/** Whether what one provider sealed is nothing to the other. */
const isForeign = ({ model, endpoint }: Issuer, { deps, target }: PrepareContext): boolean =>
  (endpoint !== undefined && target.endpoint !== undefined && endpoint !== target.endpoint) ||
  (model !== target.model && deps.meter.familyOf(model) !== deps.meter.familyOf(target.model))

/** What the provider clears at a time is at least this share of the limit: each time costs the cache behind it. */
const CLEAR_AT_LEAST = 0.1

/**
 * The provider's own context management: where the policy asks for it and the wire knows it, with numbers that follow from model and
 * policy alone, so that every request of a session says the same; and where the provider holds a history that has grown large. Only the provider
 * can make that one smaller. It is asked in time, from the load on at which the policy warns: a history that no longer fits gets a closing turn.
 */
function nativeManagement(context: PrepareContext, { load }: View): NativeManagement | undefined {
  const { deps, codec, target, limit } = context
  const { native, water } = deps.policy
  if (native === undefined) {
    // The provider holds the history.
    const compacts =
      codec.traits.compactsHistory(target.endpoint) && load.count.high >= (water.warn ?? water.high) * limit.tokens
    return compacts ? { compactAtTokens: Math.floor(lowWater(deps.policy, limit)) } : undefined
  }
  const { compactAt, clearToolUsesAt, keepToolUses = 3, keepThinkingTurns } = native
  const share = (value: number): number => Math.floor(value * limit.tokens)
  return {
    compactAtTokens: compactAt === undefined ? undefined : share(compactAt),
    clearToolUses:
      clearToolUsesAt === undefined
        ? undefined
        : { atTokens: share(clearToolUsesAt), keep: keepToolUses, atLeastTokens: share(CLEAR_AT_LEAST) },
    clearThinking: keepThinkingTurns === undefined ? undefined : { keepTurns: keepThinkingTurns },
  }
}

/**
 * The text with cache marks, where the client set none and the wire has them. They are placed anew on every request, after an epoch
 * too; the provider does not count them as a change of the prefix. A single question without tools gets none: writing to the cache
 * costs more than plain input, and it would not be read again.
 */
function withCacheMarks({ codec, limit, conversation }: PrepareContext, sent: Conversation, text: string): string {
  const { items, tools } = conversation
  const willContinue = tools.length > 0 || items.some((item) => item.role === 'assistant')
  if (codec.placeCacheMarks === undefined || !willContinue) return text
  const marked = codec.placeCacheMarks(text, { summaryMessage: summaryMessage(sent) })
  return marked === undefined || Buffer.byteLength(marked) > limit.bytes ? text : marked
}

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
    if (item.message < 0 && !isRecalled(item)) found = index
    previous = item
  }
  return found
}
