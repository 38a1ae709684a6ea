import type { Edit } from '../../../core/edits.ts'
import type { Item } from '../../../core/item.ts'
import type { HandedOut, Issuer } from '../../session/branch/branch-log.ts'
import type { PrepareContext, View } from '../context.ts'

/**
 * Takes out sealed thoughts of another provider: a fallback or a model of another family would refuse them. They are in the archive, and
 * go along again when their issuer is asked. What nobody knows the issuer of stays, as the client sent it.
 */
export function dropForeignSeals(context: PrepareContext, view: View): readonly Edit[] {
  const foreign = foreignIds(context)
  if (foreign.size === 0) return []
  return view.conversation.items
    .filter(({ id }) => foreign.has(id))
    .map(({ id }) => ({ op: 'drop', id, reason: 'sealed by another provider' }))
}

function foreignIds({ branch, deps, conversation, links, target }: PrepareContext): ReadonlySet<string> {
  const ids = new Set<string>()
  const { handedOut, issuers } = branch.log
  const isForeign = ({ model, endpoint }: Issuer): boolean =>
    (endpoint !== undefined && target.endpoint !== undefined && endpoint !== target.endpoint) ||
    (model !== target.model && deps.meter.familyOf(model) !== deps.meter.familyOf(target.model))
  // Nearly every session has one: nothing of its history has to be looked at.
  if (!issuers.some(isForeign)) return ids
  const chained = new Map(links.map(({ index, chain }) => [index, chain]))
  let issuer: Issuer | undefined
  for (const [index, item] of conversation.items.entries()) {
    if (item.role !== 'assistant') {
      const chain = chained.get(index)
      if (chain !== undefined) issuer = issuerOf(handedOut.get(chain))
    } else if (isSealedThought(item) && issuer !== undefined && isForeign(issuer)) ids.add(item.id)
  }
  return ids
}

/** Who was asked and did not answer has sealed nothing that we know of. */
const issuerOf = (request: HandedOut | undefined): Issuer | undefined =>
  request?.isAnswered === true ? request : undefined

const isSealedThought = ({ kind, sealed }: Item): boolean => kind === 'reasoning' && sealed === true
