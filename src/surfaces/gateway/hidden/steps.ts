import { firstSendKey, type Link } from '../../../core/chain.ts'
import type { Item } from '../../../core/item.ts'
import { sha256Text } from '../../../drivers/crypto/sha256.ts'
import type { SessionStore } from '../../../ports/session-store.ts'
import type { HiddenStep } from '../../../formats/wire/steps.ts'

/** Whose steps: tools and hidden steps belong to one agent of one session. */
export interface StepOwner {
  readonly tenant: string
  readonly session: string
  readonly agent: string
}

/** Decided on the first request and then frozen: tools are part of the cached prefix. */
interface Decision {
  /** Names of the tools that were injected; empty when none were. */
  readonly tools: readonly string[]
  /** Chain hashes of the visible requests in whose answers steps are hidden. */
  readonly chains: readonly string[]
}

/** What was hidden in one answer, and how the visible part of that answer begins. */
export interface HiddenAnswer {
  readonly steps: readonly HiddenStep[]
  /** Tells this answer from another one to the same request. */
  readonly sign: string
}

export interface HiddenSteps {
  decide(owner: StepOwner, tools: () => readonly string[]): Promise<Decision>
  /** What was decided; no tools where nothing was. */
  decided(owner: StepOwner): Promise<Decision>
  answer(owner: StepOwner, chain: string): Promise<HiddenAnswer | undefined>
  /** Durable when it resolves, since the client may come back at once. */
  remember(owner: StepOwner, chain: string, answer: HiddenAnswer): Promise<void>
}

const MAX_KNOWN = 2_000
const NO_TOOLS: Decision = { tools: [], chains: [] }

/** Hidden steps in the store's values: another process, or this one after a restart, puts the same bytes back. */
export function hiddenSteps(store: Pick<SessionStore, 'getValue' | 'setValue'>): HiddenSteps {
  const known = new Map<string, HiddenAnswer>()
  const off = new Set<string>()
  const stateKey = ({ session, agent }: StepOwner): string => `hidden:${JSON.stringify([session, agent])}`
  const answerKey = (owner: StepOwner, chain: string): string => `${stateKey(owner)}:${chain}`
  const keep = (tenant: string, key: string, answer: HiddenAnswer): void => {
    known.set(`${tenant}\n${key}`, answer)
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!)
  }
  return {
    async decide(owner, tools) {
      // A session without tools stays without; one with tools may have got steps in another process.
      const key = `${owner.tenant}\n${stateKey(owner)}`
      if (off.has(key)) return NO_TOOLS
      const stored = await store.getValue(owner.tenant, stateKey(owner))
      if (stored !== undefined) return JSON.parse(stored) as Decision
      const decision: Decision = { tools: tools(), chains: [] }
      // Two requests at once agree on what the first of them decided. Whoever loses it to a power cut decides the same again.
      const agreed = JSON.parse(
        await store.setValue(owner.tenant, stateKey(owner), JSON.stringify(decision), true, { durable: 'soon' }),
      ) as Decision
      if (agreed.tools.length === 0) off.add(key)
      if (off.size > MAX_KNOWN) off.delete(off.values().next().value!)
      return agreed
    },
    async decided(owner) {
      const stored = await store.getValue(owner.tenant, stateKey(owner))
      return stored === undefined ? NO_TOOLS : (JSON.parse(stored) as Decision)
    },
    async answer(owner, chain) {
      const key = answerKey(owner, chain)
      const found = known.get(`${owner.tenant}\n${key}`)
      if (found !== undefined) return found
      const text = await store.getValue(owner.tenant, key)
      if (text === undefined) return undefined
      const answer = JSON.parse(text) as HiddenAnswer
      keep(owner.tenant, key, answer)
      return answer
    },
    async remember(owner, chain, answer) {
      const key = answerKey(owner, chain)
      // What the store holds is what every later request gets, in this process too: it may have taken secrets out.
      const stored = await store.setValue(owner.tenant, key, JSON.stringify(answer))
      keep(owner.tenant, key, JSON.parse(stored) as HiddenAnswer)
      const { tools, chains } = await this.decide(owner, () => [])
      const next: Decision = { tools, chains: [...new Set([...chains, chain])] }
      await store.setValue(owner.tenant, stateKey(owner), JSON.stringify(next))
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
