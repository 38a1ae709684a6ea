import type { Codec } from '../core/codec.ts'
import type { Count } from '../core/count.ts'
import type { Conversation, RequestSettings } from '../core/conversation.ts'
import type { EventSink } from '../core/events.ts'
import type { Handle } from '../core/handles.ts'
import type { Hash } from '../core/hash.ts'
import type { Item } from '../core/item.ts'
import type { BufferRule, Policy } from '../core/policy.ts'
import type { Limit, Load, Target } from '../core/target.ts'
import type { ArtifactStore } from '../ports/artifact-store.ts'
import type { Catalogue } from '../ports/catalogue.ts'
import type { Clock } from '../ports/clock.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { Readers } from './reader-tools.ts'

/** Everything the engine is given; `src/index.ts` composes it. */
export interface EngineDeps {
  readonly codecs: ReadonlyMap<string, Codec>
  readonly meter: EngineMeter
  readonly catalogue: Catalogue
  readonly sessions: SessionStore
  readonly artifacts: ArtifactStore
  /** The address that `artifacts.put` will give these bytes. */
  readonly addressOf: (tenant: string, bytes: Uint8Array) => Handle
  readonly present: Presenter
  readonly clock: Clock
  readonly hash: Hash
  readonly emit: EventSink
  readonly policy: Policy
}

export interface EngineMeter {
  countText(model: string, text: string): Count
  countItem(model: string, item: Item): Count
  measure(model: string, conversation: Conversation, bytes: number): Load
  limitOf(target: Target, settings: RequestSettings, buffer: BufferRule): Limit
}

/** Shows a long text under a token budget, with its size, what was left out and the handle. */
export type Presenter = (text: string, options: PresentOptions) => string

export interface PresentOptions {
  readonly budgetTokens: number
  readonly countTokens: (text: string) => number
  readonly handle: Handle
  readonly tool?: string
  /** Tools in the request that can open a handle, by our name for them; empty when there are none. */
  readonly readers: Readers
}
