import type { Splice } from '../../core/codec.ts'
import type { Conversation, Loss } from '../../core/conversation.ts'

export interface Written {
  readonly text: string
  /** Its length in UTF-8, where that is known without counting. */
  readonly bytes?: number
  readonly losses: readonly Loss[]
  /** What the conversation's own text was changed by, in order; absent where the text was written anew. */
  readonly splices?: readonly Splice[]
}

/** Writes a conversation of another wire, then lets this wire's own encoder apply the changes to the envelope. */
export function writeForeign(
  conversation: Conversation,
  write: (conversation: Conversation) => Written,
  codec: { decode(text: string): Conversation; encode(conversation: Conversation): Written },
): Written {
  const written = write(conversation)
  if (conversation.changes === undefined) return written
  // Tools of ours are among those that were written.
  const { addTools: _, ...changes } = conversation.changes
  const changed = { ...codec.decode(written.text), changes }
  return { text: codec.encode(changed).text, losses: written.losses }
}
