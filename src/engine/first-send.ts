import type { Link } from '../core/chain.ts'
import type { Item } from '../core/item.ts'
import { RECORD_VERSION, type FirstSendEdit } from '../core/records.ts'
import { textTokensOf, tokensOf, type PrepareContext } from './context.ts'
import { guardedText, isLarge } from './intake-guard.ts'
import { keyOf, type Standing } from './standing.ts'

export interface NewEdit {
  readonly index: number
  readonly record: FirstSendEdit
  readonly original: string
}

/** Results too large for the window are shown as preview + handle before they are sent for the first time. */
export async function newFirstSendEdits(context: PrepareContext, standing: Standing): Promise<NewEdit[]> {
  const { deps, branch, conversation, links, known, limit } = context
  const maxTokens = deps.policy.intake.maxShare * limit.tokens
  const count = tokensOf(context)
  const readers = new Set(context.readers.values())
  // Only results large enough to matter need the question whether they were sent before.
  const large = links.slice(known.links).filter((link) => {
    const item = conversation.items[link.index]!
    if (!mayShorten(item) || standing.firstSend.has(link.index) || branch.sent.has(link.chain)) return false
    // What a reader tool brought back is not stored a second time by a design's guard.
    const isReadBack = item.toolName !== undefined && readers.has(item.toolName)
    return (!isReadBack && isLarge(deps.policy.intake.guard, item.text)) || count(item) > maxTokens
  })
  if (large.length === 0) return []
  // What left whole once may only be touched by an epoch.
  const sent = await deps.sessions.seen(
    branch.tenant,
    large.map((link) => link.identity),
  )
  return large.filter((link) => !sent.has(link.identity)).flatMap((link) => shorten(context, link, maxTokens))
}

const mayShorten = (item: Item): boolean => item.kind === 'result' && item.sealed !== true

function shorten(context: PrepareContext, link: Link, maxTokens: number): NewEdit[] {
  const { deps, branch, conversation, limit } = context
  const item = conversation.items[link.index]!
  const tokens = tokensOf(context)(item)
  const countTokens = textTokensOf(context)
  const handle = deps.addressOf(branch.tenant, Buffer.from(item.text))
  const clean = deps.redact?.(item.text) ?? item.text
  const { guard, previewShare } = deps.policy.intake
  const options = {
    budgetTokens: Math.floor(previewShare * limit.tokens),
    countTokens,
    handle,
    ...(item.toolName !== undefined && { tool: item.toolName }),
    readers: context.readers,
  }
  const guarded = guard === undefined ? undefined : guardedText(guard, clean, options)
  // A guard's own view is good as long as it fits; beyond that the presenter knows the budget.
  const text = guarded !== undefined && countTokens(guarded) <= maxTokens ? guarded : deps.present(clean, options)
  if (countTokens(text) >= tokens) return []
  const record: FirstSendEdit = {
    v: RECORD_VERSION,
    at: deps.clock.now(),
    type: 'edit',
    key: keyOf(conversation.items, link),
    text,
    reason:
      tokens > maxTokens
        ? `${Math.ceil(tokens)} tokens are more than the ${Math.floor(maxTokens)} that one result may take`
        : `larger than the guard of ${guard?.design ?? 'the policy'} lets through`,
    handle,
  }
  return [{ index: link.index, record, original: item.text }]
}
