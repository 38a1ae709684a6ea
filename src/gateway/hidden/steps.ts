import { firstSendKey, type Link } from '../../core/chain.ts'
import type { Item } from '../../core/item.ts'
import { sha256Text } from '../../drivers/crypto/sha256.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import type { HiddenStep } from '../../formats/wire/steps.ts'

/** Whose steps: tools and hidden steps belong to one agent of one session. */
export interface StepOwner {
  readonly tenant: string
  readonly session: string
  readonly agent: string
}

/**
 * Tools of ours that requests with one list of the client's tools were sent with. They are part of the cached prefix; a client that changes
 * its own list has changed that already, and is decided about anew.
 */
export interface Declared {
  /** Empty when it was decided to wait until something is taken out. */
  readonly tools: readonly string[]
  /** They came with an epoch. */
  readonly withEpoch?: boolean
}

/** What was hidden in one answer, and how the visible part of that answer begins. */
export interface HiddenAnswer {
  readonly steps: readonly HiddenStep[]
  /** Tells this answer from another one to the same request. */
  readonly sign: string
}

export interface HiddenSteps {
  /** Undefined where nothing was decided yet. `tools` names the client's list. */
  declared(owner: StepOwner, tools: string): Promise<Declared | undefined>
  declare(owner: StepOwner, tools: string, declared: Declared): Promise<void>
  /** Chain hashes of the visible requests in whose answers steps are hidden. */
  chains(owner: StepOwner): Promise<readonly string[]>
  answer(owner: StepOwner, chain: string): Promise<HiddenAnswer | undefined>
  /** Durable when it resolves, since the client may come back at once. */
  remember(owner: StepOwner, chain: string, answer: HiddenAnswer): Promise<void>
}

const MAX_KNOWN = 2_000

/**
 * Hidden steps in the store's values: another process, or this one after a restart, puts the same bytes back. `isShared`: other processes serve
 * the same sessions at the same time.
 */
export function hiddenSteps(store: Pick<SessionStore, 'getValue' | 'setValue'>, isShared: boolean): HiddenSteps {
  /** Declarations on their way into the store. */
  const declaring = new Map<string, Promise<unknown>>()
  const known = new BoundedMap<string, HiddenAnswer>(MAX_KNOWN)
  const nameOf = ({ session, agent }: StepOwner): string => JSON.stringify([session, agent])
  const toolsKey = (owner: StepOwner, tools: string): string => `hidden-tools:${nameOf(owner)}:${tools}`
  const chainsKey = (owner: StepOwner): string => `hidden:${nameOf(owner)}`
  const answerKey = (owner: StepOwner, chain: string): string => `${chainsKey(owner)}:${chain}`
  const inMemory = ({ tenant }: StepOwner, key: string): string => `${tenant}\n${key}`
  return {
    async declared(owner, tools) {
      const key = toolsKey(owner, tools)
      await declaring.get(inMemory(owner, key))
      const stored = await store.getValue(owner.tenant, key)
      return stored === undefined ? undefined : (JSON.parse(stored) as Declared)
    },
    async declare(owner, tools, declared) {
      const { tenant, session } = owner
      const key = toolsKey(owner, tools)
      const writing = store.setValue(tenant, key, JSON.stringify(declared), false, { durable: 'soon', session })
      // The next request may come to another process; and what came with an epoch is decided in another way without it.
      if (isShared || declared.withEpoch === true) return void (await writing)
      // Whoever loses it, to a kill or a store that is away (which the record of the answer tells), decides the same again.
      const name = inMemory(owner, key)
      const done = writing
        .catch(() => undefined)
        .finally(() => {
          if (declaring.get(name) === done) declaring.delete(name)
        })
      declaring.set(name, done)
    },
    async chains(owner) {
      const stored = await store.getValue(owner.tenant, chainsKey(owner))
      return stored === undefined ? [] : (JSON.parse(stored) as { readonly chains: readonly string[] }).chains
    },
    async answer(owner, chain) {
      const key = answerKey(owner, chain)
      const found = known.get(inMemory(owner, key))
      if (found !== undefined) return found
      const text = await store.getValue(owner.tenant, key)
      if (text === undefined) return undefined
      const answer = JSON.parse(text) as HiddenAnswer
      known.set(inMemory(owner, key), answer)
      return answer
    },
    async remember(owner, chain, answer) {
      const key = answerKey(owner, chain)
      // What the store holds is what every later request gets, in this process too: it may have taken secrets out.
      const { tenant, session } = owner
      const stored = await store.setValue(tenant, key, JSON.stringify(answer), false, { session })
      known.set(inMemory(owner, key), JSON.parse(stored) as HiddenAnswer)
      const chains = [...new Set([...(await this.chains(owner)), chain])]
      await store.setValue(tenant, chainsKey(owner), JSON.stringify({ chains }), false, { session })
    },
  }
}

/** The visible answer by what survives a resend: its calls, or its text where it has none. */
export function signOf(items: readonly Item[]): string {
  const calls = items
    .filter((item) => item.kind === 'call')
    .map((item) => firstSendKey(item.callId, item.toolName ?? ''))
  if (calls.length > 0) return JSON.stringify(calls)
  const text = items.flatMap((item) => (item.kind === 'assistant' ? [item.text] : [])).join('')
  // By its hash: what the model said is kept in the archive, where secrets are taken out, and nowhere else.
  return sha256Text(text.replace(/\s+/g, ''), 'hex')
}

/** Items of the model that follow a link, up to what the client added. */
export function answerAfter(items: readonly Item[], { index }: Link): readonly Item[] {
  const answer: Item[] = []
  for (let i = index + 1; i < items.length && items[i]!.role === 'assistant'; i++) answer.push(items[i]!)
  return answer
}
