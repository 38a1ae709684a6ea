import { insertedTexts } from '../../core/epochs.ts'
import { dollars, grouped, plural } from '../inspect/figures.ts'
import { plainText } from '../inspect/width.ts'
import { figures, pageOf, part, table } from '../page/frame.ts'
import { escapeHtml } from '../page/html-text.ts'
import { compositionChart } from '../page/composition-chart.ts'
import { loadChart } from '../page/load-chart.ts'
import type { LivedSession } from './replay-session.ts'
import { share100 } from './terminal.ts'

/** Replayed sessions as one page: the chart, what each compaction did and put in, and what it cost. */
export function renderReplayHtml(sessions: readonly LivedSession[]): string {
  const title = sessions.length === 1 ? plainText(sessions[0]!.result.file) : plural(sessions.length, 'replay')
  const body = [sessions.length > 1 ? comparison(sessions) : '', ...sessions.map(renderOne)].join('\n')
  return pageOf(`Plimsoll replay: ${title}`, 'What would have been sent', body)
}

function comparison(sessions: readonly LivedSession[]): string {
  const rows = sessions.map(({ result, ...lived }) => [
    result.policy,
    result.window,
    result.epochs,
    largestOf(lived),
    share100(result.recoverableRecall),
    dollars(result.costUsd),
    dollars(result.unmanagedCostUsd),
    plainText(result.file),
  ])
  const heads = [
    'policy',
    'window',
    'compactions',
    'largest prompt, at most',
    'recoverable',
    'input',
    'without',
    'session',
  ]
  return `<section>
<h2>All replays</h2>
${table(heads, rows)}
</section>`
}

function renderOne(lived: LivedSession): string {
  const { result, model } = lived
  const under = [
    result.format,
    ...(model === undefined ? [] : [model]),
    `policy ${result.policy}`,
    `window ${grouped(result.window)}`,
  ]
  return `<section>
<h2>${escapeHtml(plainText(result.file))}</h2>
<p class="dim">${escapeHtml(plainText(under.join(' · ')))}</p>
${headline(lived)}
${part('Tokens per call', chart(lived))}
${part('What the prompts are made of', composition(lived))}
${part('What the next answer needed', needed(lived))}
${part('Compactions', compactions(lived))}
${part('Taken out before the first send', offloads(lived))}
${part('Refused', refusals(lived))}
</section>`
}

/** As the limit is compared with: an upper bound. */
const largestOf = ({ steps }: Pick<LivedSession, 'steps'>): number =>
  steps.reduce((most, { load }) => Math.max(most, load), 0)

function headline(lived: LivedSession): string {
  const { result } = lived
  const { calls, limit, epochs, costUsd, unmanagedCostUsd, cacheHitRate } = result
  return figures([
    ['calls', grouped(calls)],
    ['largest prompt, at most', `${grouped(largestOf(lived))} of ${grouped(limit)}`],
    ['compactions', grouped(epochs)],
    ['from the cache', share100(cacheHitRate)],
    ['price of the input', dollars(costUsd)],
    ['without compaction', dollars(unmanagedCostUsd)],
    ['saved', dollars(unmanagedCostUsd - costUsd)],
    ['overflows, invalid, lost', `${result.overflows}, ${result.invalid}, ${result.lost}`],
  ])
}

function chart(lived: LivedSession): string {
  const { steps, result, epochs } = lived
  // An epoch's `before` was measured with the one before it in place: what they took out adds up.
  let takenOut = 0
  const whole = steps.map(({ load, call }) => {
    for (const epoch of epochs) if (epoch.call === call) takenOut += Math.max(0, epoch.before - epoch.after)
    return load + takenOut
  })
  return loadChart({
    sent: steps.map(({ load }) => load),
    ...(epochs.length > 0 && { whole }),
    line: { name: 'limit', value: result.limit },
    thresholds: steps.map(({ thresholds }) => thresholds),
    marks: epochs.map(({ call }) => call),
    label: `Tokens per call: at most ${grouped(largestOf(lived))} of ${grouped(result.limit)}, ${plural(epochs.length, 'compaction')}`,
  })
}

/** Calls that were refused sent nothing. */
const composition = ({ steps }: LivedSession): string => compositionChart(steps.map(({ parts = {} }) => ({ parts })))

const needed = ({ result }: LivedSession): string =>
  figures([
    ['lines it repeats, in the prompt', share100(result.quoteRecall)],
    ['names it uses, in the prompt', share100(result.nameRecall)],
    ['both, with what a tool can open', share100(result.recoverableRecall)],
  ])

/** Each with the text that the model reads in place of what was taken out. */
function compactions({ epochs, log }: LivedSession): string {
  const records = new Map(log.flatMap((entry) => (entry.type === 'epoch' ? [[entry.id, entry] as const] : [])))
  return epochs
    .map(({ call, epoch, before, after, forced, reason }) => {
      const record = records.get(epoch)
      const texts = record === undefined ? [] : insertedTexts(record)
      const text = texts.length === 0 ? '' : `<pre tabindex="0">${escapeHtml(texts.join('\n\n'))}</pre>`
      return `<details><summary>Before call ${grouped(call + 1)}: ${grouped(before)} → ${grouped(after)} tokens${forced ? ', forced' : ''}</summary><p class="dim">${escapeHtml(reason)}</p>${text}</details>`
    })
    .join('\n')
}

const offloads = ({ offloads: taken }: LivedSession): string =>
  table(
    ['call', 'bytes', 'shown', 'handle'],
    taken.map(({ call, originalBytes, shownBytes, handle }) => [call + 1, originalBytes, shownBytes, handle]),
  )

const refusals = ({ steps }: LivedSession): string =>
  table(
    ['call', 'why'],
    steps.flatMap(({ call, error }) => (error === undefined ? [] : [[call + 1, plainText(error)]])),
  )
