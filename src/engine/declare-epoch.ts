import type { Link } from '../core/chain.ts'
import type { Conversation } from '../core/conversation.ts'
import { RECORD_VERSION, type Epoch } from '../core/records.ts'
import type { Limit, Target } from '../core/target.ts'
import { turnsOf } from '../core/turns.ts'
import { storeTexts } from './archive.ts'
import type { Branch } from './branch.ts'
import type { Draft } from './cascade/draft.ts'
import { coverage, planEpoch } from './cascade/plan-epoch.ts'
import type { EngineDeps } from './deps.ts'
import { protectedItems } from './protected.ts'
import type { Standing } from './standing.ts'

export interface EpochInput {
  readonly target: Target
  readonly limit: Limit
  readonly conversation: Conversation
  readonly links: readonly Link[]
  readonly standing: Standing
  readonly forced: boolean
  readonly loadBefore: number
}

/** Plans a reduction and makes it an epoch; undefined when there is nothing to gain. */
export async function declareEpoch(deps: EngineDeps, branch: Branch, input: EpochInput): Promise<Epoch | undefined> {
  const draft = draftOf(deps, branch, input)
  const proposal = planEpoch(draft, deps.policy.cascade)
  if (proposal.edits.length === 0) return undefined
  await storeTexts(deps, branch, proposal.stored.values())
  const { chain } = input.links.at(-1)!
  const epoch: Epoch = {
    v: RECORD_VERSION,
    at: deps.clock.now(),
    agent: branch.agent,
    type: 'epoch',
    id: `ep_${deps.hash(`${chain}:${deps.policy.name}:${input.standing.epoch?.id ?? ''}`).slice(0, 16)}`,
    cover: chain,
    count: input.links.length,
    cut: coverage(proposal.edits),
    identities: input.links.map((link) => link.identity),
    edits: proposal.edits,
    forced: input.forced,
    reason: input.forced ? 'the load is above the limit' : 'the load is above high water',
    policy: deps.policy.name,
    before: input.loadBefore,
    after: 0,
  }
  return (await deps.sessions.claimEpoch(branch.tenant, branch.session, epoch)).epoch
}

function draftOf(deps: EngineDeps, branch: Branch, input: EpochInput): Draft {
  const { target, limit, conversation, links, standing } = input
  const countText = (text: string): number => deps.meter.countText(target.model, text).high
  // First-send edits stay: the draft sees those items as the model did.
  const items = conversation.items.map((item, index) => {
    const edit = standing.firstSend.get(index)
    return edit === undefined ? item : { ...item, text: edit.text, edited: true as const }
  })
  const turns = turnsOf(items)
  const { keep, openFrom } = protectedItems(items, links, turns, branch.pins)
  const empty: Conversation = { ...conversation, items: [] }
  return {
    items,
    links,
    turns,
    keep,
    openFrom,
    tokensOf: (item) => deps.meter.countItem(target.model, item).high,
    countText,
    fixedTokens: deps.meter.measure(target.model, empty, 0).count.high,
    limitTokens: limit.tokens,
    lowTokens: deps.policy.water.low * limit.tokens,
    handleOf: (text) => deps.addressOf(branch.tenant, Buffer.from(text)),
    present: deps.present,
    readers: [],
  }
}
