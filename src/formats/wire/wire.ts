import type { Codec } from '../../core/codec.ts'
import type { NewTool } from '../../core/conversation.ts'
import type { Fields } from '../../core/values.ts'
import type { Framing } from '../framing/framing.ts'
import type { Answers } from './answer.ts'
import type { ChatWire } from './chat.ts'
import type { Endpoint } from './endpoint.ts'
import type { Routes } from './routes.ts'
import type { HiddenWire } from './steps.ts'
import type { UsageShape } from './usage.ts'

/** Everything that is particular to one API format. Leaving a part out does not compile. */
export interface Wire {
  readonly id: string
  /** Reads and writes requests, reads answers, checks the rules; its `traits` are what engine and meter know of the wire. */
  readonly codec: Codec
  /** How a stream is cut into events. */
  readonly framing: Framing
  /** Answers and errors of ours in this wire's shape, and what its events say. */
  readonly answers: Answers
  /** How steps that the client never sees are put in and taken out. */
  readonly steps: HiddenWire
  /** A tool as an element of the request's list of tools. */
  readonly declare: (tool: NewTool) => object
  /** How a chat of our own is written. */
  readonly chat: ChatWire
  /** Which paths ask for what. */
  readonly routes: Routes
  /** Token counts in the vendor's words. */
  readonly usage: UsageShape
  /** Where its vendor is. */
  readonly endpoint: Endpoint
  /** Others that speak this wire and that `plimsoll chat` knows by name. */
  readonly servers: readonly Endpoint[]
  /** How sure it is that a request body speaks this wire: 2 has what only this wire has, 1 may be, 0 is another. */
  resembles(body: Fields): 0 | 1 | 2
}
