import type { Link } from '../core/chain.ts'
import type { Item } from '../core/item.ts'
import { RECORD_VERSION, type FirstSendEdit } from '../core/records.ts'
import { textTokensOf, tokensOf, type PrepareContext } from './context.ts'
import { keyOf, type Standing } from './standing.ts'

export interface NewEdit {
  readonly index: number
  readonly record: FirstSendEdit
  readonly original: string
}

/** Results too large for the window are shown as preview + handle before they are sent for the first time. */
export async function newFirstSendEdits(context: PrepareContext, standing: Standing): Promise<NewEdit[]> {
  const { deps, branch, conversation, links, limit } = context
  const maxTokens = deps.policy.intake.maxShare * limit.tokens
  const count = tokensOf(context)
  // Only results large enough to matter need the question whether they were sent before.
  const large = links.filter((link) => {
    const item = conversation.items[link.index]!
    if (!mayShorten(item) || standing.firstSend.has(link.index) || branch.sent.has(link.chain)) return false
    return count(item) > maxTokens
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
  const text = deps.present(deps.redact?.(item.text) ?? item.text, {
    budgetTokens: Math.floor(deps.policy.intake.previewShare * limit.tokens),
    countTokens,
    handle,
    ...(item.toolName !== undefined && { tool: item.toolName }),
    readers: context.readers,
  })
  if (countTokens(text) >= tokens) return []
  const record: FirstSendEdit = {
    v: RECORD_VERSION,
    at: deps.clock.now(),
    type: 'edit',
    key: keyOf(conversation.items, link),
    text,
    reason: `${Math.ceil(tokens)} tokens are more than the ${Math.floor(maxTokens)} that one result may take`,
    handle,
  }
  return [{ index: link.index, record, original: item.text }]
}
