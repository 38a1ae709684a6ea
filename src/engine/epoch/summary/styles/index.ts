import type { SummaryStyle } from '../../../../core/policy.ts'
import { newestUserIndex } from '../../../../core/turns.ts'
import type { Draft } from '../../cascade/draft.ts'
import { factsOf } from '../../record/facts.ts'
import { handover } from './handover.ts'
import { intent } from './intent.ts'
import { record } from './record.ts'
import { story } from './story.ts'
import type { Style, StyleSource } from './style.ts'

export { account } from './account.ts'
export { WORDS_PER_TOKEN, type Style, type StyleSource } from './style.ts'

export const STYLES: Readonly<Record<SummaryStyle, Style>> = { handover, intent, narrative: story, record }

export function sourceOf(draft: Draft, folded: readonly number[]): StyleSource {
  const items = folded.map((index) => draft.items[index]!)
  const newest = newestUserIndex(draft.items)
  const plan = factsOf(items).find(({ heading }) => heading.startsWith('Plan'))
  return {
    items,
    request: newest < 0 ? '' : draft.items[newest]!.text,
    describeResult: draft.describeResult,
    ...(plan !== undefined && { plan: plan.text }),
  }
}
