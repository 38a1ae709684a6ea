import type { Handle } from '../../../core/handles.ts'
import type { Link } from '../../../core/chain.ts'
import type { Item } from '../../../core/item.ts'
import type { Branch } from '../../session/branch/branch.ts'
import type { EngineDeps } from '../../deps.ts'
import { derivedFrom } from '../../tool-results/derived.ts'
import { answerRecall, recall, type RecallAnswer } from './recall.ts'
import { yieldNow } from '../../../util/yield-now.ts'

/** What the model may look up while one request is answered: the history that the request itself brings along. */
export interface HistoryScope {
  /** Answers a call of `recall`. */
  recall(input: unknown): Promise<RecallAnswer>
  /** Whether an artifact holds content of this history, or a view in it was made from the artifact. */
  mayOpen(handle: Handle): Promise<boolean>
}

interface Stored {
  readonly text: string
  readonly toolName?: string
  readonly callId?: string
}

type ScopeDeps = Pick<EngineDeps, 'addressOf' | 'artifacts' | 'provenance' | 'hash' | 'redact'>

export interface ScopedHistory {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
}

/**
 * A handle is a keyed hash of what it opens, so whether a history holds that is a matter of hashing its own texts and files. A handle
 * that a message only mentions opens nothing: anybody can write one.
 */
export function historyScope(
  deps: ScopeDeps,
  branch: Pick<Branch, 'tenant' | 'log'>,
  { items, links }: ScopedHistory,
): HistoryScope {
  const known = new Set<Handle>()
  let next = items.length - 1
  const pause = yieldNow()
  return {
    recall: (input) => {
      const store = async ({ text, toolName: tool, callId }: Stored): Promise<Handle> => {
        const about = { ...(tool !== undefined && { tool }), ...(callId !== undefined && { callId }) }
        return (await deps.artifacts.put(branch.tenant, Buffer.from(text), about)).handle
      }
      const history = { items, links, store, ...(deps.redact && { redact: deps.redact }) }
      return answerRecall((query, options) => recall(history, query, options), input)
    },
    async mayOpen(handle) {
      for (; next >= 0 && !known.has(handle); next--) {
        for (const held of handlesOf(deps, branch, items[next]!)) known.add(held)
        await pause()
      }
      return known.has(handle)
    },
  }
}

function handlesOf(deps: ScopeDeps, branch: Pick<Branch, 'tenant' | 'log'>, { text, media = [] }: Item): Handle[] {
  const { tenant } = branch
  return [
    // As it came, and as it is shown where secrets are taken out.
    ...(text === ''
      ? []
      : [...new Set([text, deps.redact?.(text) ?? text])].map((each) => deps.addressOf(tenant, Buffer.from(each)))),
    ...media.flatMap(({ data }) => (data === undefined ? [] : [deps.addressOf(tenant, Buffer.from(data, 'base64'))])),
    ...(derivedFrom(deps, branch, text)?.handles ?? []),
  ]
}
