import type { Conversation } from '../../../core/conversation.ts'
import { applyEdits, changeEnvelope, type Plan } from '../../../core/edits.ts'
import type { PrepareContext, View } from '../context.ts'
import { newlyBroken, readAgain } from '../outgoing.ts'
import { withCacheMarks } from './cache-marks.ts'
import { contextNotice, type Notice } from './context-notice.ts'
import { dropForeignSeals } from './foreign-seals.ts'
import { nativeManagement } from './native.ts'

/** A view as it leaves. */
export interface Decorated {
  readonly view: View
  /** What its text says, where something was put on. */
  readonly read: Conversation | undefined
}

/** What gives way where the rules of the wire do not take it. */
interface Optional {
  readonly drops: Plan
  readonly notice?: Notice
}

const NONE: Optional = { drops: [] }

/**
 * Puts on the view what is for this one request, written together. Where the wire wants a thought that another provider sealed, that
 * provider has to say what it makes of it; and a notice is not worth a broken rule.
 */
export function decorate(context: PrepareContext, view: View): Decorated {
  for (const optional of optionsOf(dropForeignSeals(context, view), contextNotice(context, view))) {
    const decorated = write(context, view, optional)
    if (isTaken(context, view, decorated)) return decorated
  }
  return write(context, view, NONE)
}

/** From all of it to some of it. */
function optionsOf(drops: Plan, notice: Notice | undefined): Optional[] {
  if (notice === undefined) return drops.length === 0 ? [] : [{ drops }]
  return drops.length === 0 ? [{ drops, notice }] : [{ drops, notice }, { drops }, { drops: [], notice }]
}

function isTaken(context: PrepareContext, view: View, { view: { load }, read }: Decorated): boolean {
  if (load.bytes > context.limit.bytes) return false
  if (read === undefined) return true
  const { codec } = context
  return newlyBroken(context, codec.fields(read), () => codec.fields(readAgain(context, view.text))).ours === undefined
}

/** One encode, whatever there is to put on; none where there is nothing. */
function write(context: PrepareContext, view: View, { drops, notice }: Optional): Decorated {
  const { codec } = context
  const native = nativeManagement(context, view)
  const dropped = applyEdits(view.conversation, drops)
  // What stays behind is without the notice: nothing is archived, measured or continued from one.
  const conversation = native === undefined ? dropped : changeEnvelope(dropped, { native })
  const noticed = notice === undefined ? conversation : applyEdits(conversation, [notice.edit])
  const encoded = noticed === view.conversation ? view.text : codec.encode(noticed).text
  const text = withCacheMarks(context, conversation, encoded, notice === undefined ? 0 : 1)
  const read = text === view.text ? undefined : readAgain(context, text)
  const needed = native === undefined ? {} : (codec.nativeHeaders?.(codec.fields(read ?? conversation)) ?? {})
  const bytes = read === undefined ? view.load.bytes : (read.bytes ?? Buffer.byteLength(text))
  const { plan, outgoing, measurement, estimate } = view
  const headers = joined(view.headers, needed)
  const load = loadWith(view, notice, bytes)
  return { view: { plan, conversation, text, outgoing, headers, measurement, estimate, load }, read }
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
