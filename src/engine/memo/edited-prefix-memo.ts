import type { Splice } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Plan } from '../../core/edits.ts'
import type { Item } from '../../core/item.ts'
import { applySplices, grownBy, splicesFrom } from '../../core/splices.ts'
import type { Fields } from '../../core/values.ts'
import type { PrepareContext, View } from '../prepare/context.ts'
import type { EditedPrefix, Outgoing } from './branch-memo.ts'
import { surroundingsOf, type Surroundings } from './surroundings.ts'

/** The text of an edited conversation. */
export function outgoingOf(context: PrepareContext, conversation: Conversation, plan: Plan): Outgoing {
  const { branch, codec, text: source, bytes } = context
  if (plan.length === 0 && conversation.changes === undefined && conversation.isRestored !== true)
    return { text: source, bytes, editedPrefix: undefined, splices: undefined }
  const { editedPrefix } = branch.memo
  const around = editedPrefix && surroundingsOf(codec, conversation)
  if (
    editedPrefix !== undefined &&
    around !== undefined &&
    continues(context, editedPrefix, conversation, plan, around)
  ) {
    const { from, sourceBytes } = editedPrefix
    const rest = applySplices(source.slice(from), splicesFrom(from, around.behind))
    return {
      text: editedPrefix.text + rest,
      bytes: editedPrefix.bytes + bytes - sourceBytes + grownBy(source, around.behind),
      editedPrefix,
      splices: undefined,
    }
  }
  const { text, bytes: written = Buffer.byteLength(text), splices } = codec.encode(conversation)
  return { text, bytes: written, editedPrefix: undefined, splices }
}

/** Items are the same objects only where the body has the same bytes up to them. */
function continues(
  { deps }: PrepareContext,
  { items, edits, changed, message, before }: EditedPrefix,
  conversation: Conversation,
  plan: Plan,
  around: Surroundings,
): boolean {
  if (plan.length !== edits || !areSame(before, around.before)) return false
  if (deps.memo.prefixes.shared(items, conversation.items) < items.length) return false
  // Edits are counted by the plan; what was put back into the client's history is not among them.
  if (conversation.isRestored === true && changedIn(conversation.items) !== changed) return false
  const behind = conversation.items[items.length]
  return behind === undefined || behind.message > message
}

/** Where two bodies are the same, so are places in them. */
const areSame = (a: readonly Splice[], b: readonly Splice[]): boolean =>
  a.length === b.length && a.every(({ start, end, text }, i) => isAt(b[i]!, start, end) && b[i]!.text === text)
const isAt = (splice: Splice, start: number, end: number): boolean => splice.start === start && splice.end === end

const changedIn = (items: readonly Item[]): number =>
  items.reduce((count, { edited, message }) => count + (edited === true || message < 0 ? 1 : 0), 0)

/** Remembers the beginning of a view that is about to leave as it is; `read` is what its text says. */
export function rememberEditedPrefix(
  context: PrepareContext,
  { conversation: sent, text, plan }: View,
  read: Conversation,
): void {
  const { branch, conversation, text: source } = context
  const { incremental } = context.codec
  // How a client writes lists is seen between two messages.
  if (incremental === undefined || incremental.messages(conversation).length < 2) return
  const around = surroundingsOf(context.codec, sent)
  if (around === undefined) return
  const { items } = sent
  const written = items.findLastIndex(({ edited, message }) => edited === true || message < 0)
  // Steps may have been taken out behind what was written, up to the newest ones.
  const changed = Math.max(written, items.length - alikeAtEnd(items, conversation.items) - 1)
  // What was inserted stands in front of a message of the client's; that one ends the beginning.
  const message = items[changed + 1]?.message
  if (changed < 0 || message === undefined) return
  const from = incremental.endOf(conversation, message)
  const rest = applySplices(source.slice(from), splicesFrom(from, around.behind))
  if (!text.endsWith(rest)) return
  const own = incremental.messages(read)
  const behind = incremental.messages(conversation).length - message - 1
  // A copy: a slice would keep the whole body in memory.
  const beginning = Buffer.from(text.slice(0, text.length - rest.length))
  branch.memo.keepEditedPrefix({
    text: beginning.toString(),
    bytes: beginning.length,
    messages: own.slice(0, own.length - behind),
    items: items.slice(0, items.findLastIndex((item) => item.message === message) + 1),
    edits: plan.length,
    changed: changedIn(items),
    message,
    before: around.before,
    from,
    sourceBytes: Buffer.byteLength(source.slice(0, from)),
  })
}

/** How many items two lists share at their ends, as the very same objects. */
function alikeAtEnd(a: readonly Item[], b: readonly Item[]): number {
  let count = 0
  while (count < a.length && count < b.length && a[a.length - 1 - count] === b[b.length - 1 - count]) count++
  return count
}

/** The members of a request that begins with a known edited prefix, without reading that again; `around` are those beside its messages. */
export function fieldsBehind(
  { codec: { incremental }, conversation }: PrepareContext,
  { messages, message }: EditedPrefix,
  around: Fields,
): Fields | undefined {
  const behind = incremental?.messages(conversation).slice(message + 1) ?? []
  return incremental?.withMessages(around, [...messages, ...behind])
}
