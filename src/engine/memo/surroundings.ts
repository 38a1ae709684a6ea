import type { Codec, Splice } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { applySplices, splicesFrom } from '../../core/splices.ts'

/** What is changed in a request beside its messages: before their list, and behind it. */
export interface Surroundings {
  readonly list: { readonly start: number; readonly end: number }
  readonly before: readonly Splice[]
  readonly behind: readonly Splice[]
}

/** Undefined where a change of the envelope reaches into the messages. */
export function surroundingsOf({ incremental }: Codec, conversation: Conversation): Surroundings | undefined {
  const list = incremental?.listIn(conversation)
  const splices = incremental?.envelope(conversation)
  if (list === undefined || splices === undefined) return undefined
  const before = splices.filter(({ end }) => end <= list.start)
  const behind = splices.filter(({ start }) => start >= list.end)
  return before.length + behind.length === splices.length ? { list, before, behind } : undefined
}

/** The text of a request without its messages. It is the same in every request of a client. */
export function frameOf(source: string, { list, before, behind }: Surroundings): string {
  const head = applySplices(source.slice(0, list.start), before)
  const tail = applySplices(source.slice(list.end), splicesFrom(list.end, behind))
  return `${head}\n${tail}`
}
