import type { Link } from '../../core/chain.ts'
import { RECORD_VERSION, type FirstSendEdit } from '../../core/records.ts'
import { storeTexts } from '../session/archive.ts'
import { squeeze } from '../epoch/cascade/squeeze.ts'
import type { PrepareContext, View, NewEdit, Standing } from '../prepare/context.ts'
import { isOver } from '../prepare/limits.ts'
import { viewOf } from '../prepare/view.ts'
import { ownTexts } from '../epoch/declare-epoch.ts'
import { countItems, draftOf } from '../epoch/draft-of.ts'
import { placedKeyOf } from '../prepare/standing.ts'
import { wasSent } from '../session/branch.ts'
import { yieldNow } from '../../util/yield-now.ts'

/** No new item is shown with fewer tokens. */
const FLOOR_TOKENS = 40
/** The plan adds up upper bounds; each try asks for a little more. */
const TRIES = [1, 1.5, 3]
/** Room for what is counted by the request and not by the item. */
const SLACK_TOKENS = 32

/**
 * The last way before an error: where another rewrite of sent bytes would be one too many in a row, what is new is shown as preview
 * or line + handle before its first send; what intake has just made a preview of, as a shorter one. Undefined when that is not enough.
 */
export async function squeezeNew(
  context: PrepareContext,
  standing: Standing,
  before: View,
  intake: readonly NewEdit[],
): Promise<{ readonly edits: readonly NewEdit[]; readonly standing: Standing; readonly view: View } | undefined> {
  const { deps, branch, limit, links } = context
  const fresh = await neverSent(context, standing, new Set(intake.map(({ index }) => index)))
  if (fresh.size === 0) return undefined
  const draft = draftOf(context, standing)
  const pause = yieldNow()
  await countItems(draft, pause)
  const sparing = { gone: (index: number): boolean => !fresh.has(index), shown: new Map<number, string>() }
  const excess = Math.max(0, before.load.count.high - limit.tokens) + SLACK_TOKENS
  for (const times of TRIES) {
    await pause()
    const options = { floorTokens: FLOOR_TOKENS }
    const proposal = await squeeze(draft, excess * times, sparing, options)
    const made = proposal.edits.flatMap((edit): NewEdit[] => {
      if (edit.op !== 'replace' || edit.handle === undefined) return []
      const link = links[edit.at]!
      const { text, reason, handle } = edit
      return [newEdit(context, link, { text, reason, handle })]
    })
    const firstSend = new Map([...standing.firstSend, ...made.map(({ index, record }) => [index, record] as const)])
    const next: Standing = { ...standing, firstSend }
    const view = viewOf(context, next)
    if (isOver(view.load, limit) && (times !== TRIES.at(-1) || isOver(view.estimate, limit))) continue
    await storeTexts(deps, branch, ownTexts(context, proposal))
    const again = new Set(made.map(({ index }) => index))
    return { edits: [...intake.filter(({ index }) => !again.has(index)), ...made], standing: next, view }
  }
  return undefined
}

/** Indexes of items that no request has shown yet; what left whole once may only be touched by an epoch. */
async function neverSent(
  { deps, branch, links }: PrepareContext,
  { firstSend }: Standing,
  justShown: ReadonlySet<number>,
): Promise<ReadonlySet<number>> {
  const fresh = links.filter(
    ({ chain, index }) => !wasSent(branch, chain) && (justShown.has(index) || !firstSend.has(index)),
  )
  const seen = await deps.sessions.seen(
    branch.tenant,
    fresh.map((link) => link.identity),
    { session: branch.session },
  )
  return new Set(fresh.filter((link) => !seen.has(link.identity)).map((link) => link.index))
}

function newEdit(
  { deps, branch, conversation }: PrepareContext,
  link: Link,
  { text, reason, handle }: Pick<FirstSendEdit, 'text' | 'reason' | 'handle'>,
): NewEdit {
  const item = conversation.items[link.index]!
  const record: FirstSendEdit = {
    v: RECORD_VERSION,
    at: deps.clock.now(),
    agent: branch.agent,
    type: 'edit',
    key: placedKeyOf(conversation.items, link),
    text,
    reason,
    handle,
  }
  return { index: link.index, record, original: item.text }
}
