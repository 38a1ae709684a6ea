import type { SessionPage } from '../../../../src/dashboard/page-types.ts'
import { dollars, percent, tokens } from '../../format.ts'
import { Figure, LoadBar, Saved } from '../../parts/basics.tsx'

/** How the session stands, in a row of figures. */
export function Headline({ page }: { page: SessionPage }) {
  const { usage } = page
  const last = page.callList.findLast(({ purpose }) => purpose === 'turn')
  const next = last === undefined ? 0 : last.prompt + (last.usage?.output ?? 0)
  return (
    <dl class="figures">
      <Figure
        name="next request, at least"
        value={<LoadBar load={next} limit={page.limit} window={page.window} />}
        hint="Last prompt and its answer; what the client adds comes on top"
      />
      <Figure
        name="limit"
        value={page.limit === 0 ? 'unknown' : `${tokens(page.limit)} of ${tokens(page.window)}`}
        hint="What fits beside the answer, of the model's window"
      />
      <Figure name="calls" value={tokens(page.calls)} />
      <Figure name="compactions" value={page.compactions} />
      <Figure
        name="overflows avoided"
        value={tokens(page.overflowsAvoided)}
        hint="Calls that would not have fitted without compaction"
      />
      <Figure
        name="from the cache"
        value={usage.input === 0 ? '–' : percent(usage.cacheRead / usage.input)}
        hint="Share of all prompt tokens"
      />
      <Figure name="cost" value={dollars(page.costUsd)} hint={`Exactly $${page.costUsd}`} />
      <Figure
        name="saved, net"
        value={<Saved usd={page.savedUsd} />}
        hint="What sending everything would have cost, less what was paid, summaries included"
      />
      <Figure name="model" value={page.models.join(', ') || '–'} />
    </dl>
  )
}
