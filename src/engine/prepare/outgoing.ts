import type { Violation } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { PrepareContext, View } from './context.ts'
import type { Fields } from '../../core/values.ts'
import { largestParts } from './largest-parts.ts'
import { fieldsBehind, rememberEditedPrefix } from '../memo/edited-prefix-memo.ts'
import { frameWeight } from '../memo/memo.ts'
import { frameOf, surroundingsOf } from '../memo/surroundings.ts'

/**
 * A rule that the client's own bytes already broke is the provider's to report; one that we broke must not leave. `read` is what the
 * view's text says, where somebody has read it.
 */
export function validate(context: PrepareContext, view: View, read?: Conversation): void {
  const { codec, conversation, deps } = context
  const { frames } = deps.memo
  const frame = read === undefined ? frameAround(context, view) : undefined
  const around = frame === undefined ? undefined : frames?.get(frame)
  // With the client's own messages only what stands beside them can break a rule by our doing.
  if (around !== undefined && view.plan.length === 0 && view.conversation.isRestored !== true) return
  const fields = read === undefined ? fieldsOf(context, view, around) : codec.fields(read)
  const { ours, all } = newlyBroken(context, fields, () => codec.fields(conversation))
  if (ours !== undefined)
    throw ownDefect(`The reduced request breaks ${ours.rule} at ${ours.path}: ${ours.message}`, { violations: all })
  if (frame !== undefined && around === undefined && all.length === 0)
    // A copy: parts of the body would keep the whole of it in memory.
    frames?.set(Buffer.from(frame).toString(), codec.incremental!.withMessages(fields, []), frameWeight(frame))
}

/** What leaves beside the messages, where something of ours is there and nothing of it is in them. */
function frameAround({ branch, codec, text, target }: PrepareContext, view: View): string | undefined {
  const { conversation, outgoing } = view
  if (conversation.changes === undefined || outgoing.text !== view.text) return undefined
  const around = surroundingsOf(codec, conversation)
  // Nobody learns from how long this takes what another tenant declares.
  return around && `${branch.tenant}\n${codec.format}\n${target.model}\n${frameOf(text, around)}`
}

/** The first rule that a body breaks and the one before did not, and all that it breaks. */
export function newlyBroken(
  { deps, codec, target }: PrepareContext,
  fields: Fields,
  before: () => Fields,
): { readonly ours: Violation | undefined; readonly all: readonly Violation[] } {
  const { wellFormed } = deps.memo
  const options = { model: target.model, ...(wellFormed !== undefined && { wellFormed }) }
  const all = codec.check(fields, options)
  if (all.length === 0) return { ours: undefined, all }
  const known = new Set(codec.check(before(), options).map(({ rule }) => rule))
  return { ours: all.find(({ rule }) => !known.has(rule)), all }
}

/**
 * From the bytes themselves, not from what they were made of; what every request since the last change begins with is read once, and so is
 * what stands beside the messages (`known`).
 */
function fieldsOf(context: PrepareContext, view: View, known: Fields | undefined): Fields {
  const { codec, conversation } = context
  const { outgoing } = view
  const prefix = outgoing.text === view.text ? outgoing.editedPrefix : undefined
  const around = view.conversation.changes === undefined ? codec.fields(conversation) : known
  const fields = prefix && around && fieldsBehind(context, prefix, around)
  if (fields !== undefined) return fields
  const read = readAgain(context, view.text)
  // A closing turn is not gone on from.
  if (outgoing.text === view.text) rememberEditedPrefix(context, view, read)
  return codec.fields(read)
}

/** What a text that leaves says, by its own bytes. Where it begins as what came did, that part is compared and not parsed. */
export function readAgain({ deps, codec, conversation }: PrepareContext, outgoing: string): Conversation {
  try {
    return deps.memo.readAgain(codec, outgoing, conversation)
  } catch (cause) {
    throw ownDefect(`The reduced request cannot be read: ${(cause as Error).message}`, {}, cause)
  }
}

const ownDefect = (message: string, fields: Readonly<Record<string, unknown>>, cause?: unknown): PlimsollError =>
  new PlimsollError('invalid-request', message, {
    advice: 'This is a defect of Plimsoll; the original request was not changed.',
    fields,
    ...(cause !== undefined && { cause }),
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
