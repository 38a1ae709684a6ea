import { RECORD_VERSION, type Epoch } from '../core/records.ts'
import { turnsOf } from '../core/turns.ts'
import { storeTexts } from './archive.ts'
import type { Draft } from './cascade/draft.ts'
import { coverage, planEpoch } from './cascade/plan-epoch.ts'
import { textTokensOf, tokensOf, type PrepareContext } from './context.ts'
import { protectedItems } from './protected.ts'
import type { Standing } from './standing.ts'

/** Plans a reduction and makes it an epoch; undefined when there is nothing to gain. */
export async function declareEpoch(
  context: PrepareContext,
  standing: Standing,
  cause: { readonly forced: boolean; readonly loadBefore: number },
): Promise<Epoch | undefined> {
  const { deps, branch, links } = context
  const proposal = planEpoch(draftOf(context, standing), deps.policy.cascade)
  if (proposal.edits.length === 0) return undefined
  await storeTexts(deps, branch, proposal.stored.values())
  const { chain } = links.at(-1)!
  const epoch: Epoch = {
    v: RECORD_VERSION,
    at: deps.clock.now(),
    agent: branch.agent,
    type: 'epoch',
    id: `ep_${deps.hash(`${chain}:${deps.policy.name}:${standing.epoch?.id ?? ''}`).slice(0, 16)}`,
    cover: chain,
    count: links.length,
    cut: coverage(proposal.edits),
    identities: links.map((link) => link.identity),
    edits: proposal.edits,
    forced: cause.forced,
    reason: cause.forced ? 'the load is above the limit' : 'the load is above high water',
    policy: deps.policy.name,
    before: cause.loadBefore,
    after: 0,
  }
  return (await deps.sessions.claimEpoch(branch.tenant, branch.session, epoch)).epoch
}

function draftOf(context: PrepareContext, standing: Standing): Draft {
  const { deps, branch, conversation, links, limit, target } = context
  // First-send edits stay: the draft sees those items as the model did.
  const items = conversation.items.map((item, index) => {
    const edit = standing.firstSend.get(index)
    return edit === undefined ? item : { ...item, text: edit.text, edited: true as const }
  })
  const turns = turnsOf(items)
  const { keep, openFrom } = protectedItems(items, links, turns, branch.pins)
  return {
    items,
    links,
    turns,
    keep,
    openFrom,
    tokensOf: tokensOf(context),
    countText: textTokensOf(context),
    fixedTokens: deps.meter.measure(target.model, { ...conversation, items: [] }, 0).count.high,
    limitTokens: limit.tokens,
    lowTokens: deps.policy.water.low * limit.tokens,
    handleOf: (text) => deps.addressOf(branch.tenant, Buffer.from(text)),
    present: deps.present,
    readers: [],
  }
}
