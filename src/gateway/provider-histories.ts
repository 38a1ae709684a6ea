import type { Codec, ModelResponse } from '../core/codec.ts'
import type { Conversation } from '../core/conversation.ts'
import { BoundedMap } from '../util/bounded-map.ts'
import type { SessionStore } from '../ports/session-store.ts'

interface Owner {
  readonly tenant: string
  readonly session: string
}

/** One request of a chain and its answer: their items as the wire writes them, and the response that the request continued. */
interface HeldStep {
  readonly before?: string
  readonly items: readonly string[]
}

/** A request that may begin a chain. */
interface FirstStep {
  /** Read only when another request continues it: most clients resend their history, and each of their requests is a first one. */
  readonly items: () => readonly string[] | undefined
  readonly bytes: number
}

export type ProviderHistories = ReturnType<typeof providerHistories>

/** First requests stay in memory, and are stored when another request continues them. */
const FIRST_BYTES = 16 * 1024 * 1024
/** No agent makes a longer chain. */
const MOST_STEPS = 10_000

/** The histories that providers store for chained conversations, as far as they passed through this gateway. */
export function providerHistories(store: Pick<SessionStore, 'getValue' | 'setValue'>) {
  const firsts = new BoundedMap<string, FirstStep>(FIRST_BYTES)
  const keyOf = (response: string): string => `response-held:${response.slice(0, 200)}`
  const nameOf = (tenant: string, response: string): string => `${tenant}\n${response}`

  async function find(tenant: string, response: string): Promise<HeldStep | undefined> {
    const items = firsts.get(nameOf(tenant, response))?.items()
    if (items !== undefined) return { items }
    const stored = await store.getValue(tenant, keyOf(response))
    return stored === undefined ? undefined : (JSON.parse(stored) as HeldStep)
  }

  return {
    begin({ tenant }: Owner, response: string, step: FirstStep): void {
      if (step.bytes <= FIRST_BYTES / 4) firsts.set(nameOf(tenant, response), step, step.bytes)
    },
    async goOn({ tenant, session }: Owner, response: string, step: Required<HeldStep>): Promise<void> {
      const write = (id: string, one: HeldStep): Promise<string> =>
        store.setValue(tenant, keyOf(id), JSON.stringify(one), false, { durable: 'soon', session })
      const first = nameOf(tenant, step.before)
      const items = firsts.get(first)?.items()
      if (items !== undefined) await write(step.before, { items })
      firsts.delete(first)
      await write(response, step)
    },
    /** All items up to the end of a response; undefined if an ancestor did not pass through here, or cannot be repeated. */
    async upTo(tenant: string, response: string): Promise<readonly string[] | undefined> {
      const steps: HeldStep[] = []
      for (let id: string | undefined = response; id !== undefined;) {
        const step: HeldStep | undefined = await find(tenant, id)
        if (step === undefined || steps.length === MOST_STEPS) return undefined
        steps.push(step)
        id = step.before
      }
      return steps.reverse().flatMap(({ items }) => items)
    },
  }
}

/** A request of a history that the provider stores, or may store from now on. */
export interface ProviderHistory {
  /** The request with its whole history; undefined if not all of it passed through here. */
  writeOut(): Promise<string | undefined>
  answered(response: string, answer: ModelResponse): Promise<void>
}

interface RequestToChain {
  readonly codec: Codec
  readonly text: string
  readonly conversation: Conversation
  readonly owner: Owner
}

/** Undefined if the provider stores nothing that a request could repeat. */
export function providerHistoryOf(
  histories: ProviderHistories,
  { codec, text, conversation, owner }: RequestToChain,
): ProviderHistory | undefined {
  const { previousResponseId: before, conversationId } = conversation.settings
  const { providerHistory } = codec
  if (providerHistory === undefined || conversationId !== undefined) return undefined
  let answers = 0
  return {
    async writeOut() {
      const earlier = before === undefined ? undefined : await histories.upTo(owner.tenant, before)
      return earlier === undefined ? undefined : providerHistory.writeOut(conversation, earlier)
    },
    async answered(response, { repeatable }) {
      // After a hidden step, the provider stores items that are not in the client's request.
      if (++answers > 1 || repeatable === undefined || !providerHistory.isKept(conversation)) return
      const withAnswer = (items: readonly string[] | undefined): readonly string[] | undefined =>
        items === undefined ? undefined : [...items, ...repeatable]
      if (before === undefined) {
        const items = (): readonly string[] | undefined => withAnswer(providerHistory.itemsOf(codec.decode(text)))
        return histories.begin(owner, response, { items, bytes: text.length })
      }
      const items = withAnswer(providerHistory.itemsOf(conversation))
      if (items !== undefined) await histories.goOn(owner, response, { before, items })
    },
  }
}
